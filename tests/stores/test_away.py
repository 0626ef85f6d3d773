"""While the store can't be asked, tests run, nothing is recorded, and nothing counts later."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from phase_gate.cli import main
from phase_gate.storage.store import TaskStore
from phase_gate.stores.shared import again_if_moved
from tests.storage.stores import begin, contents, declare, fact, facts
from tests.stores.in_memory import Server, install, machine
from tests.stores.kinds import make_bare
from tests.support import CALC, FAILING_TESTS, OURS, Sample


@pytest.fixture
def server() -> Server:
    return Server()


def declare_one(store: TaskStore) -> None:
    declare(store, "fast")


def test_what_a_caller_opened_is_opened_again_where_another_machine_was_first(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phase_gate.stores.shared.time.sleep", lambda seconds: None)
    one = begin(machine(server, tmp_path / "a"))
    opened = one.look()
    declare(machine(server, tmp_path / "b"), "faster")

    @again_if_moved
    def write() -> None:
        with one.transaction(known=opened) as change:
            change.record(fact("slower"))

    write()
    assert facts(one) == ["faster", "slower"]


@pytest.fixture
def shop(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> tuple[Sample, Server]:
    server = install(monkeypatch)
    sample.write(test_calc=FAILING_TESTS)
    return sample, server


def test_tests_run_where_the_store_is_away_and_nothing_is_recorded(shop: tuple[Sample, Server]) -> None:
    sample, server = shop
    server.is_down = True
    ran = sample.pytest("--phase=red")
    assert ran.code == 11
    assert ran.has("2 failed", "nothing recorded", "[store-unreachable]", "start it, then run again")
    assert not (sample.root / ".phase-gate" / "ledger.jsonl").exists()
    assert main(["check"]) == 11
    assert main(["signal", "--reason", "both fail"]) == 11
    server.is_down = False
    assert main(["check"]) == 10
    assert not server.rows
    assert sample.pytest("--phase=red", "--exit-signal=both fail").code == 0


def test_a_green_run_while_the_store_is_away_is_no_part_of_a_streak(shop: tuple[Sample, Server]) -> None:
    sample, server = shop
    assert sample.pytest("--phase=red", "--exit-signal=both fail").code == 0
    sample.write(calc=CALC)
    assert sample.pytest("--phase=green").code == 10
    before = contents(sample.root / ".phase-gate")
    server.is_down = True
    assert sample.pytest("--phase=green").has("2 passed", "nothing recorded")
    assert contents(sample.root / ".phase-gate") == before
    server.is_down = False
    assert main(["check", "--gate1"]) == 10
    assert sample.pytest("--phase=green").code == 0


def test_a_store_that_goes_away_between_start_and_end(shop: tuple[Sample, Server]) -> None:
    sample, server = shop
    sample.write(conftest=_SWITCH.format(is_down=True))
    assert sample.pytest("--phase=red").has("2 failed", "nothing recorded", "[store-unreachable]")
    server.is_down = False
    sample.remove("conftest.py")
    assert sample.pytest("--phase=red").code == 0
    assert [kind for row in server.rows["default"] if (kind := json.loads(row)["kind"]).startswith("run-")] == [
        *("run-started", "run-lost", "run-started", "run-ended")
    ]


def test_a_store_that_comes_back_between_start_and_end(shop: tuple[Sample, Server]) -> None:
    sample, server = shop
    server.is_down = True
    sample.write(conftest=_SWITCH.format(is_down=False))
    assert sample.pytest("--phase=red").code == 11
    assert not server.is_down
    assert not server.rows


def test_a_baseline_can_not_be_taken_where_the_store_is_away(shop: tuple[Sample, Server]) -> None:
    sample, server = shop
    server.is_down = True
    ran = sample.pytest("--phase-baseline=HEAD")
    assert ran.code == 11
    assert ran.has("[store-unreachable]")


def test_a_run_that_begins_once_more_says_all_once(
    shop: tuple[Sample, Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phase_gate.stores.shared.time.sleep", lambda seconds: None)
    sample, server = shop
    sample.write({"phase-gate.yaml": "proof: off\n"})
    assert sample.pytest("--phase=red", "--exit-signal=both fail").code == 0
    sample.write(calc=CALC)
    other = machine(server, tmp_path / "other")
    server.before_append = lambda: declare_one(other)
    ran = sample.pytest("--phase=green", "-v")
    assert any(b"fast" in row for row in server.rows["default"])
    assert ran.out.count("\nnote ") == 1, ran.out


def test_tests_run_where_the_user_has_not_agreed_to_the_store(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    server = install(monkeypatch, store=None)
    sample.write({"phase-gate.yaml": "store: git:../memory#shop\n"}, test_calc=FAILING_TESTS)
    ran = sample.pytest("--phase=red")
    assert (ran.code, ran.has("2 failed", "[store-untrusted]", "phase-gate store trust")) == (11, True)
    assert not server.rows


def test_a_streak_goes_on_from_machine_to_machine(shop: tuple[Sample, Server]) -> None:
    sample, _ = shop
    assert sample.pytest("--phase=red", "--exit-signal=both fail").code == 0
    sample.write(calc=CALC)
    assert sample.pytest("--phase=green").code == 10
    # The second green run comes from another machine, with the same files and no state.
    shutil.rmtree(sample.root / ".phase-gate")
    assert sample.pytest("--phase=green").code == 0


_SWITCH = """\
from tests.stores.in_memory import SERVERS


def pytest_runtest_setup():
    SERVERS["../memory"].is_down = {is_down}
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
    assert ran.has("2 passed", "nothing recorded", "[store-unreachable]", "ended with 11")
    assert ran.code == 10


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
