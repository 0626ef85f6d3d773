"""Files and names that are not what they should be, through real runs and commands.

Configuration that can't be used ends a run with 4 before a test runs. State that can't be used never stands in the way
of the tests: they run, their output is complete, the run ends with 11, and no byte of what was there is changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.recording import session  # noqa: F401  (imported once, not once an inner session)
from phase_gate.storage.files import FileSystem
from tests.storage.stores import contents
from tests.support import CALC, FAILING_TESTS, Project, Result

#: Says whether a test ran at all.
WITNESS = f"{FAILING_TESTS}\n\nopen('ran.txt', 'w').close()\n"


def place(path: Path, content: str | bytes | None) -> None:
    """Put content there; None is a folder."""
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def assert_refused_before_tests(project: Project, ran: Result, *message: str) -> None:
    assert ran.code == 4
    assert ran.has(*message, "\n  try: ")
    assert not (project.root / "ran.txt").exists(), "no test module was imported"
    assert not (project.root / ".phase-gate").exists(), "nothing was recorded"
    assert "INTERNALERROR" not in ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err


# --- settings, workflows and names

BAD: dict[str, tuple[str, str | None, tuple[str, ...], tuple[str, ...]]] = {
    "settings": ("phase-gate.yaml", "workflow: [tdd\n", (), ("phase-gate.yaml:1:", "[bad-yaml]")),
    "settings-that-are-a-folder": (
        "phase-gate.yaml",
        None,
        (),
        ("phase-gate.yaml: this is a folder, not a file", "[bad-configuration]"),
    ),
    "another-suffix": ("phase-gate.yml", "workflow: tdd\n", (), ("a file of this name is not read", "rename it")),
    "workflow": (
        "flow.yaml",
        "workflow: mine\n",
        ("--phase-workflow=flow.yaml",),
        ("flow.yaml:1:1: the key 'phases' is missing", "[bad-workflow]"),
    ),
    "phase": ("x", "", ("--phase=../x",), ("unknown phase ", "in workflow tdd", "try: use one of: red, green, ")),
    "long-phase": ("x", "", (f"--phase={'x' * 300}",), ("unknown phase ", "[bad-usage]")),
    "task": ("x", "", ("--phase-task=grün\u2028",), ("[bad-task-name]",)),
}


@pytest.mark.parametrize(("name", "content", "arguments", "message"), BAD.values(), ids=BAD)
def test_what_can_not_be_used_is_refused_before_any_test(
    project: Project, name: str, content: str | None, arguments: tuple[str, ...], message: tuple[str, ...]
) -> None:
    project.write(test_calc=WITNESS)
    place(project.root / name, content)
    before = contents(project.root)
    ran = project.run("--phase=red", *arguments)
    assert_refused_before_tests(project, ran, *message)
    assert max(len(line) for line in ran.err.splitlines()) < 120
    assert contents(project.root) == before
    if name.startswith("phase-gate."):
        assert project.run("-p", "no:randomly", "--co").code == 0, "without the option it is nobody's business"
        output = project.call("status")
        assert (output.code, output.out) == (2, "")
        assert output.has(*message, "\n  try: ")


@pytest.fixture
def red(project: Project) -> Project:
    """A project whose RED has run once; its two tests fail."""
    project.write(test_calc=FAILING_TESTS)
    assert project.run("--phase=red").code == 0
    return project


def assert_output_is_complete(ran: Result) -> None:
    """pytest's own report of the two failing tests is all there."""
    assert ran.has("= FAILURES =", "_ test_add _", "_ test_sub _", "ModuleNotFoundError: No module named 'calc'")
    assert ran.has("= short test summary info =", "FAILED test_calc.py::test_add", "FAILED test_calc.py::test_sub")
    assert ran.has("= 2 failed in ")
    assert "INTERNALERROR" not in ran.out
    assert "Traceback" not in ran.out + ran.err


# --- ledger.jsonl


def test_a_damaged_record_does_not_stand_in_the_way_of_the_tests(red: Project) -> None:
    assert red.call("signal", "--reason", "both fail").code == 0
    path = red.state / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"tests_failing":2', b'"tests_failing":0', 1))
    before = contents(red.state)
    closed = "nothing recorded, the gate is closed: ledger.jsonl:5: its hash is wrong"
    failed = red.run("--phase=green", "--phase-report=verdict.json")
    assert_output_is_complete(failed)
    assert (failed.code, failed.has(closed, "[state-tampered]")) == (1, True), "pytest's own failure is not hidden"
    assert not (red.root / "verdict.json").exists(), "no report of a run that was not recorded"
    red.write(calc=CALC)
    ran = red.run("--phase=green")
    assert (ran.code, ran.has("= 2 passed in ", closed)) == (11, True)
    observed = red.run("--phase=green", "--phase-exit=tests")
    assert (observed.code, observed.has(closed)) == (0, True), "who only observes gets pytest's own code"
    assert contents(red.state) == before, "nothing lost, nothing overwritten"


# --- nowhere to write


FILLS_THE_DISK = """\
import errno
import os

from phase_gate.storage.files import FileSystem


def pytest_collection_finish():
    def fail(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    FileSystem.write = fail
"""


def test_the_disk_is_full_at_the_end_of_the_run(red: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    # The start is recorded, the end can't be: the next run has to say that one was lost.
    red.write(conftest=FILLS_THE_DISK)
    with monkeypatch.context() as patch:
        patch.setattr(FileSystem, "write", FileSystem.write)  # so that it is put back
        ran = red.run("--phase=red")
    assert ran.code == 11
    assert_output_is_complete(ran)
    assert ran.has("nothing recorded, the gate is closed: ", "[state-storage]", "No space left on device")
    red.remove("conftest.py")
    again = red.run("--phase=red")
    assert again.code == 0
    assert "was lost: it never ended, so the streak starts over" in again.text
    kinds = [run["kind"] for run in red.call("history", "--json").document["runs"]]
    assert kinds == ["complete", "lost", "complete"]
