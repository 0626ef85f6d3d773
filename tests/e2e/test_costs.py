"""What a run costs when nothing changed: counted as work, for seconds are the machine's own business."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from phase_gate import hookspecs, plugin
from phase_gate.storage.opening import TaskReader
from tests.e2e.sessions import last_run, state_of
from tests.support import LOADED, OURS, Project

FILES, TESTS = 20, 5
#: What reads, hashes or parses a source, by the name that modules have it under.
SEAMS = ("parse_source", "parse_file", "_hash_file", "_read", "read_source", "find_tests", "module_code")


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each of the seams was used."""
    counted: Counter[str] = Counter()
    count_calls(monkeypatch, counted, SEAMS)
    return counted


def count_calls(monkeypatch: pytest.MonkeyPatch, counted: Counter[str], names: Iterable[str]) -> None:
    for module in LOADED:
        for name in names:
            if callable(real := vars(module).get(name)):
                monkeypatch.setattr(module, name, counting(counted, name, real))


def counting(counted: Counter[str], name: str, real: Any) -> Any:
    def call(*arguments: Any, **named: Any) -> Any:
        counted[name] += 1
        return real(*arguments, **named)

    return call


@pytest.fixture
def large(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A suite of many files, last touched long ago."""
    text = "import helping\n\n\n" + "\n\n".join(
        f"def test_{number}():\n    assert helping\n" for number in range(TESTS)
    )
    project.write({f"tests/test_{number:02}.py": text for number in range(FILES)})
    project.write({"tests/helping.py": "HELP = 1\n", "tests/conftest.py": "import helping\n\nHELP = helping.HELP\n"})
    # What is hardly older than the stat cache is looked at again, to be safe.
    monkeypatch.setattr("phase_gate.storage.fingerprint.RACY_NS", 0)
    return project


def green(project: Project) -> None:
    assert project.run("--phase=green", "-q").code in (0, 10)
    assert last_run(project)["counts"] == {"passed": FILES * TESTS}


@pytest.mark.parametrize("has_git", [False, True], ids=["without-git", "with-git"])
def test_nothing_is_parsed_or_hashed_when_nothing_changed(large: Project, work: Counter[str], has_git: bool) -> None:
    if has_git:
        large.commit_all()
    green(large)
    assert work["parse_source"] >= FILES, "the first run reads every file"
    work.clear()
    green(large)
    assert work == Counter()
    assert state_of(large).streak == 2


def test_only_what_changed_is_parsed(large: Project, work: Counter[str]) -> None:
    green(large)
    work.clear()
    with (large.root / "tests" / "test_07.py").open("a") as file:
        file.write("\n\n# a remark\n")
    green(large)
    # Once for its tests, and once for the code around them, which is compared with what was frozen.
    assert (work["parse_source"], work["read_source"]) == (2, 1)
    assert work["_hash_file"] <= 2, "before the run and after it"


# --- the state is opened when a run begins, and again only if another process has written since


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counted: Counter[str] = Counter()
    monkeypatch.setattr(TaskReader, "open", counting(counted, "open", TaskReader.open))
    count_calls(monkeypatch, counted, ("decide_entry", "take_tree"))
    return counted


def test_a_run_opens_its_state_once(project: Project, openings: Counter[str]) -> None:
    project.write(test_it="from it import it\n\n\ndef test_it():\n    assert it\n")
    for phase in ("red", "green", "green"):
        openings.clear()
        project.run(f"--phase={phase}", "-q", "--exit-signal=it is so")
        assert openings == Counter(open=1, decide_entry=1, take_tree=2), phase
        project.write(it="it = 1\n")
    assert state_of(project).exited


WRITES = """\
from pathlib import Path

from phase_gate.gate.state import Event
from phase_gate.storage.opening import Place
from phase_gate.storage.store import TaskStore


def test_it():
    with TaskStore(Place(Path(".phase-gate"), "default")).transaction() as change:
        change.record(Event(kind="fact-declared", data={"name": "said", "value": True, "reason": "so", "by": "dev"}))
"""


def test_what_is_written_while_the_tests_run_is_read_before_the_run_is_judged(
    project: Project, openings: Counter[str]
) -> None:
    project.write(test_it=WRITES)
    project.run("--phase=green", "-q")
    assert openings["open"] == 1 + 1 + 1, "when it begins, by the other writer, and again because of that"
    assert [fact.name for fact in state_of(project).facts] == ["said"]


# --- what is imported: a module costs more than to run most of them

SEEN = """\
import sys


def pytest_unconfigure():
    ours = sorted(name for name in sys.modules if name.partition(".")[0] == "phase_gate")
    print("seen:", *ours, *({"yaml", "filelock", "sysconfig", "tomllib"} & sys.modules.keys()))
"""


def seen_by(project: Project, *words: str) -> set[str]:
    ran = project.process(sys.executable, "-m", "pytest", *OURS, "-p", "seen", "-s", *words)
    return set(next(line for line in ran.out.splitlines() if line.startswith("seen:")).split()[1:])


def test_a_green_run_imports_no_parser_and_no_page(project: Project) -> None:
    project.write(test_it="def test_it():\n    pass\n", seen=SEEN)
    project.environment.setenv("PYTHONPATH", str(project.root), prepend=os.pathsep)
    seen_by(project, "--phase=green")
    seen = seen_by(project, "--phase=green")
    assert not seen & {"yaml", "filelock", "tomllib", "phase_gate.config.workflow_files", "phase_gate.report.markdown"}
    assert not {name for name in seen if name.startswith(("phase_gate.report.html", "phase_gate.tasks"))}
    # 56 on a quiet machine; what waits for a lock, or takes long, may load a few more.
    assert len(seen) <= 60, "a module more costs each run about half a million instructions"


TOLD = "def pytest_phase_gate_evaluated(evaluation):\n    print(evaluation['phase'], 'told')\n"


def test_hooks_are_specified_with_their_first_implementation(project: Project) -> None:
    project.write(
        {
            "pytest.ini": "[pytest]\naddopts = --strict-markers --strict-config\n",
            "inner/conftest.py": TOLD,
            "inner/test_it.py": "def test_it():\n    pass\n",
        }
    )
    assert project.run("-q").code == 0, "one that comes with collection is no unknown hook"
    assert "GREEN told" in project.run("--phase=green", "-q", "-s").out


def test_the_entry_module_names_every_hook() -> None:
    assert set(plugin.HOOKS) == {name for name in vars(hookspecs) if name.startswith("pytest_phase_gate_")}


# --- ledger and state stay small

#: Bytes of the ledger that a run of a small suite takes at most, and lines of `state.json`.
_RUN, _LINES = 2048, 60


@pytest.mark.parametrize("tests", ["def test_add():\n    assert 1\n", None])
def test_a_run_adds_little_to_the_ledger(project: Project, tests: str | None) -> None:
    if tests is None:
        project.green()
    else:
        project.write(test_it=tests)
        project.run("--phase=green")
    ledger = project.root / ".phase-gate" / "ledger.jsonl"
    before = ledger.stat().st_size
    project.run("--phase=green")
    project.run("--phase=green")
    assert ledger.stat().st_size - before <= 2 * _RUN
    text = (project.root / ".phase-gate" / "state.json").read_text(encoding="utf-8")
    assert len(text.splitlines()) < _LINES
    assert json.loads(text)["last_run"]["kind"] == "complete"
