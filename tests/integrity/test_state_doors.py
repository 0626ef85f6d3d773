"""Rows 27, 31 and 37: the state folder is edited, exchanged, shared or thrown away.

Each single edit of the state and of the ledger is in `tests/storage` and `tests/plugin/test_bad_input.py`, runs that
overlap or are nested in `tests/plugin/test_kinds.py`; here is what takes more than one checkout or command.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.doors import CLOSED, UNTRUSTED, Door
from tests.integrity.rows import BAD, GOOD


@pytest.fixture
def green(bench: Workbench, tmp_path: Path) -> Door:
    door = Door.open(bench, tmp_path / "green", green_runs=2)
    assert door.check()[0] == 0
    return door


def _claim_a_streak(folder: Path) -> None:
    path = folder / "state.json"
    state = json.loads(path.read_text(encoding="utf-8"))
    assert not state.get("streak")
    path.write_text(json.dumps({**state, "streak": 2}), encoding="utf-8")


def _append_a_line(folder: Path) -> None:
    path = folder / "ledger.jsonl"
    last = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    with path.open("a", encoding="utf-8") as file:
        print(json.dumps({**last, "seq": last["seq"] + 1, "prev": last["hash"]}), file=file)


def _remove_the_failing_run(folder: Path) -> None:
    path = folder / "ledger.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["kind"] not in ("run-ended", "evaluated")]
    assert len(kept) < len(lines)
    path.write_text("".join(kept), encoding="utf-8")


@pytest.mark.cheats(27)
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(_claim_a_streak, id="a-streak-is-written-in"),
        pytest.param(_append_a_line, id="a-line-is-appended"),
        pytest.param(_remove_the_failing_run, id="the-failing-run-is-removed"),
    ],
)
def test_a_state_edited_after_a_failing_run(bench: Workbench, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    door = Door.open(bench, tmp_path / "bad", code=BAD, green_runs=1)
    damage(door.folder)
    code, said = door.check()
    assert (code, "state-tampered" in said) == (UNTRUSTED, True), said
    code, said = door.pytest("--phase=green")
    assert (code, "state-tampered" in said) == (1, True), said


@pytest.mark.cheats(27)
def test_the_folder_of_another_checkout(bench: Workbench, green: Door, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "bad", code=BAD, green_runs=1)
    shutil.rmtree(door.folder)
    shutil.copytree(green.folder, door.folder)
    code, said = door.check()
    # Both began as copies of one folder, and this one was seen to go on otherwise.
    assert (code, "not the one that was seen before" in said) == (UNTRUSTED, True), said
    code, said = door.gate("signal", "--reason", "it was green over there")
    assert code == UNTRUSTED, said


def test_the_folder_of_another_checkout_where_none_was(bench: Workbench, green: Door, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "bad", code=BAD)
    shutil.rmtree(door.folder)
    shutil.copytree(green.folder, door.folder)
    code, said = door.check()
    assert (code, "files have changed" in said) == (CLOSED, True), said
    code, said = door.gate("signal", "--reason", "it was green over there")
    assert (code, "stale-signal" in said) == (13, True), said


@pytest.mark.cheats(51)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("source", ["task", "clone"])
def test_an_easier_ledger_in_the_place_of_this_one(bench: Workbench, tmp_path: Path, source: str) -> None:
    door = Door.open(bench, tmp_path / "bad", code=BAD, green_runs=1)
    if source == "task":
        for _ in range(2):
            door.pytest("--phase=green", "--phase-task=t2", "-k", "not nothing")
        easier = door.folder / "tasks" / "t2"
    else:
        other = Door.open(bench, tmp_path / "clone", code=BAD)
        shutil.rmtree(other.folder)
        for _ in range(2):
            other.pytest("--phase=green", "-k", "not nothing")
        easier = other.folder
    shutil.copytree(easier, door.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.lock"))
    for said in (door.check(), door.gate("audit"), door.gate("signal", "--reason", "it is green")):
        assert (said[0], "[state-foreign]" in said[1]) == (UNTRUSTED, True), said
    code, text = door.pytest("--phase=green")
    assert (code, "nothing recorded" in text, "state-foreign" in text) == (1, True, True), text


def test_twin_the_whole_project_is_moved(green: Door, tmp_path: Path) -> None:
    moved = Door(green.bench, green.root.rename(tmp_path / "elsewhere"))
    code, said = moved.check()
    assert (code, "Warning" in said) == (0, False), said


@pytest.mark.cheats(31)
def test_another_checkout_writes_here(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "bad", code=BAD, green_runs=1)
    other = Door.open(bench, tmp_path / "good")
    for _ in range(2):
        other.pytest("--phase=green", PHASE_GATE_DIR=str(door.folder))
    code, said = door.check()
    assert (code, "files have changed" in said) == (CLOSED, True), said


def test_twin_a_state_folder_elsewhere(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "good")
    folder = tmp_path / "state"
    door.folder.rename(folder)
    for _ in range(2):
        door.pytest("--phase=green", f"--phase-dir={folder}")
    code, said = door.check("--dir", str(folder))
    assert (code, "Warning" in said) == (0, False), said


@pytest.mark.cheats(37)
def test_a_narrow_green_after_the_folder_is_gone(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "bad", code=BAD, green_runs=1)
    shutil.rmtree(door.folder)
    for _ in range(2):
        code, said = door.pytest("--phase=green", "-k", "not nothing")
        assert code == CLOSED, said
    assert "vanished in the middle of a cycle" in said
    code, said = door.check()
    assert (code, "red-was-seen" in said) == (CLOSED, True), said


@pytest.mark.cheats(49)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", [("--phase-task=easy",), ("--phase-dir=.other",)], ids=["task", "folder"])
def test_an_easier_record_elsewhere_says_nothing_here(bench: Workbench, tmp_path: Path, words: tuple[str, ...]) -> None:
    door = Door.open(bench, tmp_path / "bad", code=BAD, green_runs=1)
    for _ in range(2):
        door.pytest("--phase=green", "-k", "not nothing", *words)
    code, said = door.check()
    assert (code, "1 of 5 tests fails" in said) == (CLOSED, True), said


def test_twin_a_fresh_clone(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "clone", code=GOOD)
    shutil.rmtree(door.folder)
    fresh = Door(bench, door.root.rename(tmp_path / "fresh"))
    for _ in range(2):
        code, said = fresh.pytest("--phase=green")
    assert (code, "Warning" in said) == (0, False), said
    assert fresh.check()[0] == 0
