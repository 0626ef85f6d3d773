"""Row 49: another task, to get away from frozen tests.

What one task of a state folder froze holds for the others that have not been through RED themselves, until its cycle
ends. The code is wrong, and one test says so.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import CALC, FAILING_TESTS, Project

OTHER_TASK, OTHER_FOLDER = "--phase-task=easy", "--phase-dir=.other"
BAD = CALC.replace("a - b", "a")
#: Lets the wrong code pass.
WEAKENED = FAILING_TESTS.replace("sub(3, 2) == 1", "sub(3, 2)")
BODY = "test_calc.py::test_sub was changed after RED; frozen by task default"


@pytest.fixture
def bad(red_project: Project) -> Project:
    return red_project.write(calc=BAD)


def go_elsewhere(project: Project, *words: str) -> tuple[bool, str]:
    """Run green in another task or state folder; return whether the frozen tests are kept there, and what was said."""
    ran = project.run("-v", "--phase=green", "--phase-report=verdict.json", *words)
    gate = project.report()["gate_1"]
    assert gate["satisfied"] is False, "one run is never enough"
    guards = {guard["name"]: guard["met"] for guard in gate["guards"]}
    return guards["tests-unchanged"], ran.text


def weaken(project: Project) -> None:
    project.write(test_calc=WEAKENED)


def delete_test(project: Project) -> None:
    project.write(test_calc=FAILING_TESTS.partition("def test_sub")[0])


def add_conftest(project: Project) -> None:
    project.write(conftest="import calc\n\ncalc.sub = lambda a, b: a - b\n")


@pytest.mark.cheats(49)
@pytest.mark.parametrize(
    ("happens", "more", "told_by"),
    [
        pytest.param(weaken, (), f"{BODY}, whose cycle is open", id="a-test-is-weakened"),
        pytest.param(weaken, ("-k", "not sub"), BODY, id="and-it-does-not-even-run"),
        pytest.param(delete_test, (), BODY, id="a-test-is-deleted"),
        pytest.param(add_conftest, (), "is a new conftest.py above frozen tests", id="a-conftest-is-added"),
    ],
)
def test_frozen_tests_are_not_left_behind(
    bad: Project, happens: Callable[[Project], None], more: tuple[str, ...], told_by: str
) -> None:
    happens(bad)
    is_kept, message = go_elsewhere(bad, OTHER_TASK, *more)
    assert (is_kept, told_by in message) == (False, True), message


def test_nor_in_refactor(bad: Project) -> None:
    bad.run("--phase=green", OTHER_TASK, "-k", "not sub", "-v")
    bad.run("--phase=green", OTHER_TASK, "-k", "not sub", "--exit-signal=it is green", "-v")
    weaken(bad)
    ran = bad.run("--phase=refactor", OTHER_TASK, "-v")
    assert (ran.code, BODY in ran.text) == (10, True)


@pytest.mark.parametrize(
    ("is_removed", "told_by"),
    [
        pytest.param(False, "ledger.jsonl:1: ", id="its-ledger-is-damaged"),
        pytest.param(True, "its files are gone, and its cycle was open", id="its-files-are-removed"),
    ],
)
def test_what_can_not_be_compared_is_in_doubt(bad: Project, is_removed: bool, told_by: str) -> None:
    bad.run("--phase=green")  # which is remembered
    weaken(bad)
    (bad.state / "ledger.jsonl").write_text("{}\n", encoding="utf-8")
    if is_removed:
        bad.remove(".phase-gate/ledger.jsonl", ".phase-gate/state.json")
    is_kept, message = go_elsewhere(bad, OTHER_TASK)
    assert not is_kept, message
    assert f"the frozen tests of task default can't be compared: {told_by}" in message


# --- twins


def test_twin_another_task_on_the_same_tests(bad: Project) -> None:
    commented = FAILING_TESTS.replace("    assert", "    # why\n    assert")
    bad.write(calc=CALC, test_calc=f"{commented}\n\ndef test_more():\n    pass\n")
    is_kept, message = go_elsewhere(bad, OTHER_TASK)
    assert (is_kept, "Warning" in message) == (True, False), message
    assert bad.run("--phase=green", OTHER_TASK).code == 0


def go_back_to_red(project: Project) -> None:
    project.write(test_calc=FAILING_TESTS.replace("== 1", "== 100"))
    assert project.run("--phase=red").code in (0, 10)


def end_cycle(project: Project) -> None:
    project.write(calc=CALC)
    project.run("--phase=green")
    assert project.run("--phase=green", "--exit-signal=it is done").code == 0


@pytest.mark.parametrize("happens", [go_back_to_red, end_cycle])
def test_twin_a_task_without_an_open_freeze_holds_no_other(bad: Project, happens: Callable[[Project], None]) -> None:
    happens(bad)
    weaken(bad)
    is_kept, message = go_elsewhere(bad, OTHER_TASK)
    assert is_kept, message


def test_twin_another_root_in_the_same_state_folder(bad: Project, tmp_path: Path) -> None:
    folder = Path(shutil.move(bad.state, tmp_path / "shared"))
    bad.run("--phase=green", f"--phase-dir={folder}")
    other = bad.at(tmp_path / "other").write(calc=CALC, test_calc=WEAKENED)
    ran = other.run_process("-v", "--phase=green", f"--phase-dir={folder}", "--phase-task=second")
    assert "frozen by task default" not in ran.text


def test_twin_what_a_person_let_pass_there_is_let_pass_here(project: Project) -> None:
    project.write({"phase-gate.yaml": "overrides: {allow_non_interactive: true}\n"}).red()
    project.write(calc=CALC, test_calc=FAILING_TESTS.replace("== 3", ">= 3"))
    assert "frozen by task default" in project.run("-v", "--phase=green", OTHER_TASK).text
    assert project.run("--phase=green").code == 10
    assert project.gate("waive", "tests-unchanged", "--reason", "agreed upon", "--by", "dev").code == 0
    ran = project.run("-v", "--phase=green", OTHER_TASK)
    assert "frozen by task default" not in ran.text, ran.out
