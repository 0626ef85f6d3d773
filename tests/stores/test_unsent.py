"""What is measured while the store can't be asked waits beside the copy, is offered, and never counts by itself."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from phase_gate.cli import main
from phase_gate.errors import MovedError, NotAllowedError, StoreUnreachableError, TamperedError
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.store import TaskStore
from phase_gate.storage.unsent import push
from tests.storage.stores import begin, declare, fact, facts
from tests.stores.in_memory import InMemoryStore, Server, machine
from tests.stores.kinds import make_bare
from tests.stores.memory_plugin import install
from tests.support import CALC, FAILING_TESTS, OURS, Sample

AWAY = StoreUnreachableError("memory:#shop does not answer", remedy="phase-gate store push")


@pytest.fixture
def server() -> Server:
    return Server()


def declare_one(store: TaskStore) -> None:
    declare(store, "fast")


def waiting(server: Server, folder: Path, *names: str) -> TaskStore:
    """Return a task of which these transactions wait to be sent."""
    store = machine(server, folder)
    store.wait_unsent(AWAY)
    return declare(store, *names)


def test_what_waits_is_known_to_its_run_and_to_no_other(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path))
    away = waiting(server, tmp_path, "first", "second")
    assert facts(away) == ["first", "second"]
    assert facts(machine(server, tmp_path)) == []
    assert len(server.rows["default"]) == 3


def test_it_is_sent_as_it_is(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path))
    away = waiting(server, tmp_path, "first")
    name = away.keep("evidence", {"lines": 3})
    declare(away, "second")
    here = machine(server, tmp_path)
    assert push(here) == 2
    assert facts(here) == ["first", "second"]
    assert not here.unsent_file.exists()
    other = machine(server, tmp_path / "other")
    assert facts(other) == ["first", "second"]
    assert other.objects.load(name) == {"lines": 3}
    with pytest.raises(NotAllowedError, match="nothing waits"):
        push(here)


def test_a_task_that_was_never_begun_can_wait(server: Server, tmp_path: Path) -> None:
    away = machine(server, tmp_path)
    away.wait_unsent(AWAY)
    declare(begin(away), "it")
    assert push(machine(server, tmp_path)) == 2
    assert facts(machine(server, tmp_path / "other")) == ["it"]


def test_it_is_not_sent_where_the_task_has_moved_on(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path))
    waiting(server, tmp_path, "slow")
    declare(machine(server, tmp_path / "other"), "fast")
    here = machine(server, tmp_path)
    with pytest.raises(NotAllowedError, match="has moved on"):
        push(here)
    assert facts(here) == ["fast"]
    # What was measured is kept, and out of the way.
    assert not here.unsent_file.exists()
    assert (tmp_path / "unsent.old-1").exists()


def test_it_moves_on_while_it_is_sent(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path))
    waiting(server, tmp_path, "slow")
    other = machine(server, tmp_path / "other")
    server.before_append = lambda: declare_one(other)
    with pytest.raises(NotAllowedError, match="has moved on"):
        push(machine(server, tmp_path))
    assert facts(machine(server, tmp_path)) == ["fast"]


def test_what_waits_of_a_task_that_moved_on_makes_room(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path))
    waiting(server, tmp_path, "old")
    declare(machine(server, tmp_path), "sent")
    assert facts(waiting(server, tmp_path, "new")) == ["sent", "new"]
    assert (tmp_path / "unsent.old-1").exists()
    assert push(machine(server, tmp_path)) == 1


@pytest.mark.parametrize("sent", [0, 1, 2])
def test_killed_while_it_is_sent(server: Server, tmp_path: Path, sent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(machine(server, tmp_path))
    waiting(server, tmp_path, "first", "second")
    here = machine(server, tmp_path)
    shared = here.shared
    assert isinstance(shared, InMemoryStore)
    append, calls = shared.append, iter(range(9))

    def die(*given: object) -> None:
        if next(calls) == sent:
            raise KeyboardInterrupt
        append(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(shared, "append", die)
    # All of it is sent, and the copy does not know it yet.
    monkeypatch.setattr("phase_gate.storage.unsent.remove_file", die)
    with pytest.raises(KeyboardInterrupt):
        push(here)
    again = machine(server, tmp_path)
    monkeypatch.undo()
    assert push(again) == 2 - sent
    assert facts(again) == facts(machine(server, tmp_path / "other")) == ["first", "second"]


def test_a_store_that_is_still_away_takes_nothing(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path))
    waiting(server, tmp_path, "it")
    server.is_down = True
    with pytest.raises(StoreUnreachableError):
        push(machine(server, tmp_path))
    server.is_down = False
    assert push(machine(server, tmp_path)) == 1


def test_a_row_that_was_not_finished_is_none(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path))
    away = waiting(server, tmp_path, "first")
    with away.unsent_file.open("ab") as stream:
        stream.write(b'{"after": [4, "ab')
    assert facts(away) == ["first"]
    declare(away, "second")
    assert push(machine(server, tmp_path)) == 2


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda row: row.update(rows=row["rows"].replace('"so it is"', '"so it was"')), id="a-reason"),
        pytest.param(lambda row: row.update(rows=""), id="nothing"),
        pytest.param(lambda row: row.pop("last"), id="a-field"),
    ],
)
def test_what_was_changed_meanwhile_is_not_sent(server: Server, tmp_path: Path, change: object) -> None:
    begin(machine(server, tmp_path))
    away = waiting(server, tmp_path, "it")
    row = json.loads(away.unsent_file.read_bytes())
    assert callable(change)
    change(row)
    away.unsent_file.write_text(json.dumps(row) + "\n", encoding="ascii")
    with pytest.raises(TamperedError):
        push(machine(server, tmp_path))
    assert len(server.rows["default"]) == 3


def test_with_a_key_no_one_else_makes_what_waits(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path, key=b"one"))
    away = machine(server, tmp_path, key=b"one")
    away.wait_unsent(AWAY)
    declare(away, "it")
    assert push(machine(server, tmp_path, key=b"one")) == 1
    assert facts(machine(server, tmp_path, key=b"one")) == ["it"]


def test_two_runs_without_a_store_follow_each_other(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path))
    one = machine(server, tmp_path)
    one.wait_unsent(AWAY)
    opened = one.look()
    waiting(server, tmp_path, "first")
    with pytest.raises(MovedError), one.transaction(known=opened) as change:
        change.record(fact("second"))
    with one.transaction(known=opened) as change:
        change.record(fact("second"))
    assert facts(one) == ["first", "second"]


def test_what_a_caller_opened_is_opened_again_where_another_machine_was_first(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phase_gate.storage.again.time.sleep", lambda seconds: None)
    one = begin(machine(server, tmp_path / "a"))
    opened = one.look()
    declare(machine(server, tmp_path / "b"), "faster")

    @again_if_moved
    def write() -> None:
        with one.transaction(known=opened) as change:
            change.record(fact("slower"))

    write()
    assert facts(one) == ["faster", "slower"]


# --- whole runs


@pytest.fixture
def shop(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> tuple[Sample, Server]:
    server = install(monkeypatch)
    sample.write(test_calc=FAILING_TESTS)
    return sample, server


def test_tests_run_where_the_store_is_away_and_what_they_show_can_be_sent(shop: tuple[Sample, Server]) -> None:
    sample, server = shop
    folder = sample.root / ".phase-gate"
    server.is_down = True
    ran = sample.pytest("--phase=red")
    assert ran.code == 11
    assert ran.has("2 failed", "waits here to be sent [store-unreachable]", "phase-gate store push")
    assert (folder / "unsent.jsonl").exists()
    assert not (folder / "ledger.jsonl").exists()
    assert main(["check"]) == 11
    server.is_down = False
    # Nothing counts by itself.
    assert main(["check"]) == 10
    assert not server.rows
    assert main(["store", "push"]) == 0
    assert main(["signal", "--reason", "both fail"]) == 0
    # One green run that the store has, and one that waits: no streak of two.
    sample.write(calc=CALC)
    assert sample.pytest("--phase=green").code == 10
    server.is_down = True
    assert sample.pytest("--phase=green").has("2 passed", "waits here to be sent")
    server.is_down = False
    assert main(["check", "--gate1"]) == 10
    assert main(["store", "push"]) == 0
    assert main(["check", "--gate1"]) == 0


def test_a_baseline_can_not_be_taken_where_the_store_is_away(shop: tuple[Sample, Server]) -> None:
    sample, server = shop
    server.is_down = True
    ran = sample.pytest("--phase-baseline=HEAD")
    assert ran.code == 11
    assert ran.has("[store-unreachable]")


def test_a_run_takes_the_place_of_what_was_not_sent(shop: tuple[Sample, Server]) -> None:
    sample, server = shop
    server.is_down = True
    assert sample.pytest("--phase=red").code == 11
    server.is_down = False
    assert sample.pytest("--phase=red").has("the store was away was not sent")
    assert main(["store", "push"]) == 13
    assert not sample.pytest("--phase=red").out.count("was away was not sent")


def test_a_run_that_begins_once_more_says_all_once(
    shop: tuple[Sample, Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phase_gate.storage.again.time.sleep", lambda seconds: None)
    sample, server = shop
    sample.write({"phase-gate.yaml": "proof: off\n"})
    assert sample.pytest("--phase=red", "--exit-signal=both fail").code == 0
    sample.write(calc=CALC)
    other = machine(server, tmp_path / "other")
    server.before_append = lambda: declare_one(other)
    ran = sample.pytest("--phase=green")
    assert any(b"fast" in row for row in server.rows["default"])
    assert ran.out.count("Note ") == 1, ran.out


def test_two_runs_that_wait_make_one_streak_once_they_are_sent(shop: tuple[Sample, Server]) -> None:
    sample, server = shop
    assert sample.pytest("--phase=red", "--exit-signal=both fail").code == 0
    sample.write(calc=CALC)
    server.is_down = True
    for _ in range(2):
        assert sample.pytest("--phase=green").code == 11
    server.is_down = False
    assert main(["check", "--gate1"]) == 10
    assert main(["store", "push"]) == 0
    assert main(["check", "--gate1"]) == 0


def test_a_store_that_goes_away_between_start_and_end(shop: tuple[Sample, Server]) -> None:
    sample, server = shop
    sample.write(conftest=_SWITCH.format(is_down=True))
    assert sample.pytest("--phase=red").code == 11
    started = len(server.rows["default"])
    server.is_down = False
    assert main(["store", "push"]) == 0
    assert len(server.rows["default"]) > started
    assert main(["check", "--gate1"]) == 0


def test_a_store_that_comes_back_between_start_and_end(shop: tuple[Sample, Server]) -> None:
    sample, server = shop
    server.is_down = True
    sample.write(conftest=_SWITCH.format(is_down=False))
    assert sample.pytest("--phase=red").code == 11
    assert not server.is_down
    assert not server.rows
    assert main(["store", "push"]) == 0
    assert main(["check", "--gate1"]) == 0


def test_tests_run_where_the_user_has_not_agreed_to_the_store(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    server = install(monkeypatch, store=None)
    sample.write({"phase-gate.yaml": "store: memory:#shop\n"}, test_calc=FAILING_TESTS)
    ran = sample.pytest("--phase=red")
    assert (ran.code, ran.has("2 failed", "[store-untrusted]", "phase-gate store trust")) == (11, True)
    assert not server.rows
    assert not (sample.root / ".phase-gate" / "unsent.jsonl").exists()


def test_a_streak_goes_on_from_machine_to_machine(shop: tuple[Sample, Server]) -> None:
    sample, _ = shop
    assert sample.pytest("--phase=red", "--exit-signal=both fail").code == 0
    sample.write(calc=CALC)
    assert sample.pytest("--phase=green").code == 10
    # The second green run comes from another machine, with the same files and no state.
    shutil.rmtree(sample.root / ".phase-gate")
    assert sample.pytest("--phase=green").code == 0


_SWITCH = """\
from tests.stores.memory_plugin import SERVERS


def pytest_runtest_setup():
    SERVERS[""].is_down = {is_down}
"""


@pytest.mark.processes
def test_a_run_that_is_killed_while_a_git_store_is_away(sample: Sample, tmp_path: Path) -> None:
    remote = make_bare(tmp_path / "shop.git")
    sample.environment.setenv("PHASE_GATE_STORE", f"git:{remote}#shop")
    away = remote.rename(tmp_path / "away.git")
    sample.write(test_calc=FAILING_TESTS, conftest=_KILL)
    assert sample.pytest_process("--phase=red").code in (-9, 137)
    sample.remove("conftest.py")
    assert sample.pytest_process("--phase=red").has("2 failed", "waits here to be sent")
    assert sample.gate("check").code == 11
    away.rename(remote)
    assert sample.gate("check").code == 10
    assert sample.gate("store", "push").has("sent to git:")
    assert sample.gate("check", "--gate1").code == 0
    # Another machine sees both: the one that was lost, and the one that counts.
    shutil.rmtree(sample.root / ".phase-gate")
    assert [run["kind"] for run in sample.runs()] == ["lost", "complete"]


_KILL = """\
import os
import signal


def pytest_runtest_setup():
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_verify_command_whose_tests_find_the_store_away(sample: Sample, tmp_path: Path) -> None:
    """They run, all of their output is there, and the status says that nothing was recorded."""
    remote = make_bare(tmp_path / "shop.git")
    sample.environment.setenv("PHASE_GATE_STORE", f"git:{remote}#shop")
    sample.write({"check.py": _VERIFY_AWAY.format(remote=str(remote), away=str(tmp_path / "away.git"), ours=OURS)})
    sample.write({"tasks.yaml": _VERIFY_TASK.format(python=sys.executable), "test_calc.py": FAILING_TESTS})
    sample.write({".gitignore": "*.yaml\n__pycache__/\n"})
    sample.commit_all()
    assert sample.gate("verify", "start", "--task-file", "tasks.yaml").code == 0
    sample.write(calc=CALC)
    sample.write({"result.yaml": _VERIFY_RESULT.format(python=sys.executable)})
    assert sample.gate("verify", "executor", "result.yaml").code == 0
    ran = sample.gate("verify", "run")
    assert ran.has("2 passed", "waits here to be sent [store-unreachable]", "ended with 11")
    assert ran.code == 10
    assert sample.gate("store", "status", "--task", "sums").has("not sent")


_VERIFY_AWAY = """\
import os, subprocess, sys

os.rename({remote!r}, {away!r})
done = subprocess.run([sys.executable, "-m", "pytest", *{ours!r}, "test_calc.py"])
print("ended with", done.returncode)
os.rename({away!r}, {remote!r})
raise SystemExit(done.returncode)
"""

_VERIFY_TASK = """\
name: sums
files: [calc.py]
action: Write add(), which adds two numbers.
verify: {python} check.py
done: "add() exists in calc.py, with 2 parameters"
"""

_VERIFY_RESULT = """\
status: success
task_name: sums
files_modified: [calc.py]
verification: {{command: "{python} check.py", exit_code: 0, output_summary: passed}}
done_criteria_met: true
evidence: both tests pass
"""
