"""Row 49: another task, to get away from frozen tests.

What one task of a state folder froze holds for the others that have not been through RED themselves, until its cycle
ends.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.doors import CLOSED, Door
from tests.integrity.rows import BAD, GOOD, TEST_FILE, TESTS
from tests.support import CALC, FAILING_TESTS, Sample

OTHER_TASK = ("--phase-task=easy",)
OTHER_FOLDER = ("--phase-dir=.other",)
#: Lets the wrong code pass.
WEAKENED = TESTS.replace("total([]) == 0", "total([]) in (0, None)")


@pytest.fixture
def door(bench: Workbench, tmp_path: Path) -> Door:
    """A project that has just left RED: the code is wrong, and one test says so."""
    return Door.open(bench, tmp_path / "project", code=BAD)


def go_elsewhere(door: Door, words: tuple[str, ...], *more: str) -> tuple[bool, str]:
    """Run green in another task or state folder; return whether the frozen tests are kept there, and what was said."""
    _, said = door.pytest("--phase=green", "--phase-report=verdict.json", *words, *more)
    verdict = json.loads((door.root / "verdict.json").read_text(encoding="utf-8"))
    guards = {guard["name"]: guard["met"] for guard in verdict["gate_1"]["guards"]}
    assert verdict["gate_1"]["satisfied"] is False, "one run is never enough"
    return guards["tests-unchanged"], said


def weaken(door: Door) -> None:
    door.write(TEST_FILE, WEAKENED)


def delete_test(door: Door) -> None:
    door.write(TEST_FILE, TESTS.replace("def test_total_of_nothing():\n    assert total([]) == 0\n", ""))


def delete_file(door: Door) -> None:
    (door.root / TEST_FILE).unlink()
    door.write("tests/test_easy.py", "def test_easy():\n    assert True\n")


def add_conftest(door: Door) -> None:
    door.write("tests/conftest.py", "import price\n\nprice.total = lambda prices: sum(prices)\n")


BODY = "tests/test_price.py::test_total_of_nothing its body is not the one that was frozen; frozen by task default"


@pytest.mark.cheats(49)
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("happens", "words", "more", "told_by"),
    [
        pytest.param(weaken, OTHER_TASK, (), f"{BODY}, whose cycle is open", id="a-test-is-weakened-for-another-task"),
        pytest.param(weaken, OTHER_TASK, ("-k", "not nothing"), BODY, id="and-it-does-not-even-run"),
        pytest.param(delete_test, OTHER_TASK, (), BODY, id="a-test-is-deleted"),
        pytest.param(delete_file, OTHER_TASK, (), BODY, id="a-file-of-tests-is-deleted"),
        pytest.param(add_conftest, OTHER_TASK, (), "a new conftest.py above frozen tests", id="a-conftest-is-added"),
    ],
)
def test_frozen_tests_are_not_left_behind(
    door: Door, happens: Callable[[Door], None], words: tuple[str, ...], more: tuple[str, ...], told_by: str
) -> None:
    happens(door)
    is_kept, said = go_elsewhere(door, words, *more)
    assert (is_kept, told_by in said) == (False, True), said


def test_nor_in_refactor(door: Door) -> None:
    door.pytest("--phase=green", *OTHER_TASK, "-k", "not nothing")
    door.pytest("--phase=green", *OTHER_TASK, "-k", "not nothing", "--exit-signal=it is green")
    weaken(door)
    code, said = door.pytest("--phase=refactor", *OTHER_TASK)
    assert (code, BODY in said) == (CLOSED, True), said


def test_is_open_for_another_state_folder(door: Door) -> None:
    """Written down among the limits: nothing is frozen there, and the panel says so."""
    weaken(door)
    is_kept, said = go_elsewhere(door, OTHER_FOLDER)
    assert (is_kept, "RED was never seen" in said) == (True, True), said


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("happens", "told_by"),
    [
        pytest.param(
            lambda folder: (folder / "ledger.jsonl").write_text("{}\n"), "ledger.jsonl:1: ", id="its-ledger-is-damaged"
        ),
        pytest.param(
            lambda folder: [each.unlink() for each in (folder / "ledger.jsonl", folder / "state.json")],
            "its files are gone, and its cycle was open",
            id="its-files-are-removed",
        ),
    ],
)
def test_what_can_not_be_compared_is_in_doubt(door: Door, happens: Callable[[Path], object], told_by: str) -> None:
    door.pytest("--phase=green")  # which is remembered
    weaken(door)
    happens(door.folder)
    is_kept, said = go_elsewhere(door, OTHER_TASK)
    assert not is_kept, said
    assert f"the frozen tests of task default can't be compared: {told_by}" in said


# --- twins


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("words", "tests"),
    [
        pytest.param(OTHER_FOLDER, TESTS, id="nothing-is-altered"),
        pytest.param(OTHER_TASK, TESTS.replace("    assert", "    # why\n    assert"), id="a-comment"),
        pytest.param(OTHER_TASK, f"{TESTS}\n\ndef test_more():\n    assert total([1]) == 1\n", id="a-new-test"),
    ],
)
def test_twin_another_task_on_the_same_tests(door: Door, words: tuple[str, ...], tests: str) -> None:
    door.write("price.py", GOOD)
    door.write(TEST_FILE, tests)
    is_kept, said = go_elsewhere(door, words)
    assert (is_kept, "Warning" in said) == (True, False), said


def test_twin_which_opens(door: Door) -> None:
    door.write("price.py", GOOD)
    for _ in range(2):
        code, said = door.pytest("--phase=green", *OTHER_TASK)
    assert (code, "Warning" in said) == (0, False), said


def correct_in_red(door: Door) -> Door:
    door.write(TEST_FILE, TESTS.replace("total([]) == 0", "total([]) == 100"))
    assert door.pytest("--phase=red")[0] in (0, CLOSED)
    return door


def end_cycle(door: Door) -> Door:
    door.write("price.py", GOOD)
    for _ in range(2):
        door.pytest("--phase=green")
    assert door.gate("signal", "--reason", "it is done")[0] == 0
    return door


def never_had_red(door: Door) -> Door:
    shutil.rmtree(door.folder)
    fresh = Door(door.bench, door.root.rename(door.root.with_name("fresh")))
    fresh.pytest("--phase=green")
    return fresh


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(correct_in_red, id="it-went-back-to-red"),
        pytest.param(end_cycle, id="its-cycle-has-ended"),
        pytest.param(never_had_red, id="it-never-froze-anything"),
    ],
)
def test_twin_a_task_without_an_open_freeze_holds_nobody(door: Door, happens: Callable[[Door], Door]) -> None:
    door = happens(door)
    weaken(door)
    is_kept, said = go_elsewhere(door, OTHER_TASK)
    assert is_kept, said


def test_twin_red_never_asks_and_then_has_a_freeze_of_its_own(door: Door) -> None:
    door.write(TEST_FILE, TESTS.replace("total([]) == 0", "total([]) == 0.0"))
    door.write("price.py", "")
    assert door.pytest("--phase=red", *OTHER_TASK, "--exit-signal=it fails")[0] == 0
    door.write("price.py", GOOD)
    is_kept, said = go_elsewhere(door, OTHER_TASK)
    assert is_kept, said


def test_twin_another_root_in_the_same_state_folder(bench: Workbench, door: Door, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    door.folder.rename(folder)
    door.pytest("--phase=green", f"--phase-dir={folder}")
    other = Door.open(bench, tmp_path / "other", code=GOOD)
    shutil.rmtree(other.folder)
    other.write(TEST_FILE, WEAKENED)
    is_kept, said = go_elsewhere(other, (f"--phase-dir={folder}", "--phase-task=second"))
    assert is_kept, said


def test_twin_what_a_person_let_pass_there_is_let_pass_here(sample: Sample) -> None:
    sample.write({"phase-gate.yaml": "overrides: {allow_non_interactive: true}\n"}).red()
    sample.write(calc=CALC, test_calc=FAILING_TESTS.replace("== 3", ">= 3"))
    assert "frozen by task default" in " ".join(sample.pytest("--phase=green", *OTHER_TASK).out.split())
    assert sample.pytest("--phase=green").code == 10
    assert sample.gate("waive", "tests-unchanged", "--reason", "agreed upon", "--by", "dev").code == 0
    ran = sample.pytest("--phase=green", *OTHER_TASK)
    assert "frozen by task default" not in " ".join(ran.out.split()), ran.out
