"""Runs whose task is in a shared store: while it is away, on other machines, and beyond their time limit."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from phase_gate.cli import main
from tests.storage.stores import contents
from tests.stores import in_memory
from tests.stores.in_memory import install
from tests.stores.kinds import KINDS, Server
from tests.stores.proofs import gate, start_run
from tests.support import CALC, FAILING_TESTS, Project

# --- while the store can't be asked, tests run, nothing is recorded, and nothing counts later


@pytest.fixture
def shop(project: Project, monkeypatch: pytest.MonkeyPatch) -> tuple[Project, in_memory.Server]:
    server = install(monkeypatch)
    project.write(test_calc=FAILING_TESTS)
    return project, server


def test_tests_run_where_the_store_is_away_and_nothing_is_recorded(shop: tuple[Project, in_memory.Server]) -> None:
    project, server = shop
    server.is_down = True
    ran = project.run("--phase=red")
    assert ran.code == 11
    assert ran.has("2 failed", "nothing recorded", "[store-unreachable]", "start it, then run again")
    assert not (project.root / ".phase-gate" / "ledger.jsonl").exists()
    assert main(["check"]) == 11
    assert main(["signal", "--reason", "both fail"]) == 11
    ran = project.run("--phase-baseline=HEAD")
    assert (ran.code, ran.has("[store-unreachable]")) == (11, True)
    server.is_down = False
    assert main(["check"]) == 10
    assert not server.rows


def test_a_green_run_while_the_store_is_away_is_no_part_of_a_streak(shop: tuple[Project, in_memory.Server]) -> None:
    project, server = shop
    assert project.run("--phase=red", "--exit-signal=both fail").code == 0
    project.write(calc=CALC)
    assert project.run("--phase=green").code == 10
    before = contents(project.root / ".phase-gate")
    server.is_down = True
    assert project.run("--phase=green").has("2 passed", "nothing recorded")
    assert contents(project.root / ".phase-gate") == before
    server.is_down = False
    assert main(["check", "--gate1"]) == 10
    # The second green run comes from another machine, with the same files and no state.
    shutil.rmtree(project.root / ".phase-gate")
    assert project.run("--phase=green").code == 0


_SWITCH = """\
from tests.stores.in_memory import SERVERS


def pytest_runtest_setup():
    SERVERS["../memory"].is_down = {is_down}
"""


@pytest.mark.parametrize("goes", [True, False], ids=["goes-away", "comes-back"])
def test_a_store_that_is_away_at_one_end_of_a_run(shop: tuple[Project, in_memory.Server], goes: bool) -> None:
    project, server = shop
    server.is_down = not goes
    project.write(conftest=_SWITCH.format(is_down=goes))
    assert project.run("--phase=red").has("2 failed", "nothing recorded", "[store-unreachable]")
    server.is_down = False
    project.remove("conftest.py")
    assert project.run("--phase=red").code == 0
    kinds = [kind for row in server.rows["default"] if (kind := json.loads(row)["kind"]).startswith("run-")]
    assert kinds == [*(("run-started", "run-lost") if goes else ()), "run-started", "run-ended"]


# --- beyond its time limit: real processes that are late

#: Seconds that a run of these tests may take; `run_limit` has hours.
LIMIT = 6.0
#: Runs for as long as the file is there.
SLOW = "import pathlib, time\n\n\ndef test_slow():\n    while pathlib.Path({!r}).exists():\n        time.sleep(0.05)\n"


class Shop:
    """The same project on several machines, with a test that ends when it is let go."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self._folder, self._go = server, folder, folder / "go"
        self._go.touch()

    def machine(self, name: str) -> Path:
        root = self._folder / name
        if not root.exists():
            root.mkdir()
            (root / "phase-gate.yaml").write_text(f"run_limit: {LIMIT / 3600}\n", encoding="utf-8")
            (root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
            (root / "test_slow.py").write_text(SLOW.format(str(self._go)), encoding="utf-8")
        return root

    @contextlib.contextmanager
    def running(self, name: str) -> Iterator[subprocess.Popen[str]]:
        """Start a run, and wait until the store has its start."""
        with start_run(self.server, self.machine(name)) as process, contextlib.ExitStack() as stack:
            stack.callback(process.kill)
            stack.callback(self.let_go)
            while not gate(self.server, self.machine("observer"), "status").get("open_runs"):
                assert process.poll() is None, "it was to begin"
            yield process

    def let_go(self) -> None:
        self._go.unlink(missing_ok=True)

    def run(self, name: str) -> int:
        process = start_run(self.server, self.machine(name))
        process.communicate()
        return process.returncode

    def kinds(self, name: str) -> list[str]:
        return sorted(run["kind"] for run in gate(self.server, self.machine(name), "history")["runs"])


@pytest.fixture(params=[kind for kind in ("git-file", "postgresql") if kind in KINDS])
def limited(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    with KINDS[request.param](tmp_path) as server:
        yield Shop(server, tmp_path)


@pytest.mark.processes
@pytest.mark.parametrize("others_go_on", [False, pytest.param(True, marks=pytest.mark.sweep)])
def test_a_late_run_records_nothing_and_says_so(limited: Shop, others_go_on: bool) -> None:
    with limited.running("one") as process:
        time.sleep(LIMIT + 1)
        if others_go_on:
            process.send_signal(19)  # stopped in its tracks: it comes back when others have gone on
        limited.let_go()
        if others_go_on:
            assert limited.run("observer") == 10
            process.send_signal(18)
        said = process.communicate()[0]
        assert process.returncode == 11
        for text in ("1 passed", "nothing recorded", "longer than its limit", "run_limit"):
            assert text in said, said
    assert limited.kinds("observer") == (["complete", "lost"] if others_go_on else ["lost"])
