"""Files beside the tests: which are data, which are somebody's output, and what stands for their contents."""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.project import Project as Place
from phase_gate.storage.fingerprint import name_blob
from tests.support import Project

pytestmark = pytest.mark.processes

#: Data and its neighbours; the last of them is what tools leave behind.
TRACKED = ("tests/test_a.py", "tests/table.csv", "tests/notes.md")
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
def repository(project: Project) -> Project:
    write(project.root, *TRACKED)
    project.write({".gitignore": "*.log\n"})
    project.commit_all()
    write(project.root, *DATA, *OUTPUTS, "tests/run.log", "src/beside.csv")
    return project


def take(root: Path, *folders: str) -> dict[str, str]:
    return Place.find(root, environment={}).take_data(folders, lambda path: True)


def test_in_a_repository(repository: Project) -> None:
    found = take(repository.root, "tests")
    assert sorted(found) == sorted((*TRACKED, *DATA)), "not ignored, no output, and below that folder"


def test_without_git_it_is_everything(tmp_path: Path) -> None:
    write(tmp_path, "tests/test_a.py", "tests/run.log", *DATA, *OUTPUTS, "src/beside.csv")
    found = take(tmp_path, "tests")
    assert sorted(found) == sorted(("tests/test_a.py", "tests/run.log", *DATA))
    assert set(found.values()) == {name_blob(b"x")}
