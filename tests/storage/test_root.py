"""Where a project begins, and how its files are named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from phase_gate.storage.root import Climb, find_root, is_name, relative_id
from tests.storage.repositories import git, write

needs_links = pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")


def root_of(start: Path) -> Path:
    return find_root(Climb.begin(start, os.environ))


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    """A project with an empty package deep inside: without a mark of its own, the package belongs to the project."""
    (tmp_path / "outer" / ".git").mkdir(parents=True)
    (tmp_path / "outer" / "package" / "deep").mkdir(parents=True)
    return tmp_path / "outer"


@pytest.mark.parametrize(
    ("name", "content", "is_mark"),
    [
        pytest.param("phase-gate.yaml", "", True, id="our-configuration"),
        pytest.param("pytest.ini", "", True, id="an-empty-pytest-ini-counts"),
        pytest.param("pyproject.toml", "[tool.pytest.ini_options]\n", True, id="ini-options-table"),
        pytest.param("pyproject.toml", "[tool.pytest]\n", True, id="native-table"),
        pytest.param("pyproject.toml", "[tool.phase-gate]\n", True, id="a-table-of-ours"),
        pytest.param("pyproject.toml", "[project]\ndependencies = ['phase-gate']\n", False, id="a-dependency-on-us"),
        pytest.param("pyproject.toml", "[project]\nname = 'a'\n", False, id="pyproject-without-the-table"),
        pytest.param("pyproject.toml", "# [tool.pytest]\n", False, id="table-in-a-comment"),
        pytest.param("pyproject.toml", b"\xff\xfe\n[tool.pytest]\n", False, id="not-utf-8"),
        pytest.param("tox.ini", "[tox]\n[pytest]\n", True, id="tox-ini-with-pytest"),
        pytest.param("setup.cfg", "[metadata]\n[tool:pytest]\n", True, id="setup-cfg-with-pytest"),
        pytest.param("setup.cfg", "[pytest]\n", False, id="setup-cfg-with-the-section-that-pytest-refuses"),
        pytest.param("conftest.py", "", False, id="a-conftest-is-no-root"),
        pytest.param("pyproject.toml/", "", False, id="a-folder-that-cant-be-read-as-a-file"),
        pytest.param(".git/", "", True, id="git-folder"),
    ],
)
def test_a_file_makes_a_root(outer: Path, name: str, content: str | bytes, is_mark: bool) -> None:
    path = outer / "package" / name
    path.mkdir() if name.endswith("/") else write(path, content)
    assert root_of(outer / "package" / "deep") == (outer / "package" if is_mark else outer)


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        pytest.param(["a/.phase-gate/"], "a", id="a-state-folder-where-nothing-else-is"),
        pytest.param(
            ["a/.git/", "a/b/pyproject.toml", "a/b/c/.phase-gate/"], "a", id="git-above-wins-over-all-of-them"
        ),
        pytest.param(["a/pytest.ini", "a/b/setup.py"], "a", id="pytest-settings-above-win-over-a-package"),
        pytest.param(
            ["a/setup.py/", "a/b/.phase-gate"], "a/b/c", id="a-folder-for-a-file-and-a-file-for-a-folder-are-none"
        ),
    ],
)
def test_a_package_or_a_state_folder_is_a_weak_sign(tmp_path: Path, marks: list[str], expected: str) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    for mark in marks:
        (tmp_path / mark).mkdir() if mark.endswith("/") else write(tmp_path / mark, "")
    assert root_of(tmp_path / "a" / "b" / "c") == tmp_path / expected


@pytest.mark.processes
def test_a_worktree_is_a_root_of_its_own(tmp_path: Path) -> None:
    main = tmp_path / "main"
    write(main / "src" / "a.py", "")
    git(main, "init", "-q")
    git(main, "add", "-A")
    git(main, "commit", "-qm", "a")
    git(main, "worktree", "add", "-q", "-b", "beside", "../beside")
    git(main, "worktree", "add", "-q", "-b", "inside", "work/inside")
    assert root_of(tmp_path / "beside" / "src") == tmp_path / "beside"
    assert root_of(main / "work" / "inside" / "src") == main / "work" / "inside"
    assert root_of(main / "work") == main


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("root/tests/test_a.py", "tests/test_a.py", id="below"),
        pytest.param("root", ".", id="the-root-itself"),
        pytest.param("other/test_a.py", "../other/test_a.py", id="outside"),
        pytest.param("root-two/test_a.py", "../root-two/test_a.py", id="a-name-that-begins-alike-is-outside"),
        pytest.param("root/a/../test_b.py", "test_b.py", id="dots-are-folded"),
        pytest.param("root/..data/test_c.py", "..data/test_c.py", id="a-name-with-two-dots-is-below"),
    ],
)
def test_relative_id(tmp_path: Path, path: str, expected: str) -> None:
    assert relative_id(tmp_path / path, tmp_path / "root") == expected


@needs_links
def test_relative_id_through_a_link_to_the_root(tmp_path: Path) -> None:
    test = write(tmp_path / "root" / "tests" / "test_a.py", "")
    (tmp_path / "link").symlink_to(tmp_path / "root")
    assert relative_id(tmp_path / "link" / "tests" / "test_a.py", tmp_path / "root") == "tests/test_a.py"
    assert relative_id(test, tmp_path / "link") == "tests/test_a.py"


@needs_links
def test_relative_id_keeps_a_link_below_the_root(tmp_path: Path) -> None:
    write(tmp_path / "shared" / "test_a.py", "")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "linked").symlink_to(tmp_path / "shared")
    assert relative_id(tmp_path / "root" / "linked" / "test_a.py", tmp_path / "root") == "linked/test_a.py"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("v1.2-a_b", True, id="all-signs"),
        pytest.param("a" * 64, True, id="64"),
        pytest.param("a" * 65, False, id="65"),
        pytest.param("a..b", False, id="git-refuses-two-dots"),
        pytest.param("x.lock", False, id="git-refuses-a-lock"),
        pytest.param("x.", False, id="a-dot-at-the-end"),
        pytest.param("a\n", False, id="a-line-end"),
    ],
)
def test_a_name_fits_into_a_path_and_into_a_ref(name: str, expected: bool) -> None:
    assert is_name(name) is expected
