"""Files beside the tests that nobody tracks: which are data, and which are somebody's output."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_phase_gate.storage.untracked import list_untracked
from tests.support import Sample

#: Data and its neighbours; the second half is what tools leave behind.
DATA = ("tests/data/prices.csv", "tests/new_helper.py", "tests/.env", "tests/größe ü.txt")
OUTPUTS = (
    "tests/__pycache__/test_a.cpython-313.pyc",
    "tests/.pytest_cache/v/cache/lastfailed",
    "tests/.hypothesis/examples/a",
    "tests/data/.mypy_cache/a.json",
    "tests/old.pyc",
    "tests/.test_a.py.swp",
    "tests/test_a.py~",
    "tests/.#test_a.py",
    "tests/#test_a.py#",
    "tests/.DS_Store",
    "tests/.phase-gate/state.json",
)


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x", encoding="utf-8")


@pytest.fixture
def repository(sample: Sample) -> Path:
    write(sample.root, "tests/test_a.py", "tests/table.csv")
    sample.write({".gitignore": "*.log\n"})
    sample.commit_all()
    write(sample.root, *DATA, *OUTPUTS, "tests/run.log", "src/beside.csv")
    return sample.root


def test_in_a_repository(repository: Path) -> None:
    found = list_untracked(repository, ("tests",), state_folder=repository / ".phase-gate")
    assert found == tuple(sorted(DATA)), "neither tracked nor ignored, no output, and below that folder"


def test_in_a_folder_of_a_repository(repository: Path) -> None:
    root = repository / "tests"
    assert list_untracked(root, ("data",), state_folder=root / ".phase-gate") == ("data/prices.csv",)


def test_without_git_it_is_everything(tmp_path: Path) -> None:
    write(tmp_path, "tests/test_a.py", "tests/run.log", *DATA, *OUTPUTS, "src/beside.csv")
    found = list_untracked(tmp_path, ("tests",), state_folder=tmp_path / ".phase-gate")
    assert found == tuple(sorted(("tests/test_a.py", "tests/run.log", *DATA)))


def test_our_own_folder_is_none_of_them(tmp_path: Path) -> None:
    write(tmp_path, "tests/mine/state.json", "tests/mine/objects/a", "tests/data.csv")
    assert list_untracked(tmp_path, ("tests",), state_folder=tmp_path / "tests" / "mine") == ("tests/data.csv",)


def test_several_folders(tmp_path: Path) -> None:
    write(tmp_path, "a/tests/x.csv", "b/test/y.csv")
    found = list_untracked(tmp_path, ("b/test", "a/tests"), state_folder=tmp_path / ".phase-gate")
    assert found == ("a/tests/x.csv", "b/test/y.csv")


@pytest.mark.parametrize("folders", [(), ("nowhere",), ("file",)], ids=["none", "missing", "a-file"])
def test_no_folder_no_file(tmp_path: Path, folders: tuple[str, ...]) -> None:
    write(tmp_path, "file", "tests/data.csv")
    assert list_untracked(tmp_path, folders, state_folder=tmp_path / ".phase-gate") == ()


def test_a_folder_that_looks_like_an_option(tmp_path: Path) -> None:
    write(tmp_path, "-o/data.csv")
    assert list_untracked(tmp_path, ("-o",), state_folder=tmp_path / ".phase-gate") == ("-o/data.csv",)
