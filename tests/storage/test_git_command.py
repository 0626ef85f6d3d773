"""Asking git: which repository it takes, what it never runs, what it is never asked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import phase_gate
from phase_gate.storage.git_command import NoGitError, find_program, read_blobs, run_git
from tests.storage.repositories import commit_all, git, posix_only, write

pytestmark = pytest.mark.processes


def test_outside_of_any_no_process_is_started(tmp_path: Path, fake_git: Callable[[str], Path]) -> None:
    calls = fake_git('exec "$REAL" "$@"')
    with pytest.raises(NoGitError):
        run_git(tmp_path.anchor, "rev-parse", "--show-toplevel")  # temporary files may lie in a repository
    assert calls.read_text() == ""


def bare(repo: Path) -> Path:
    git(repo, "clone", "-q", "--bare", ".", "data/inner")
    return repo / "data" / "inner"


def below_a_bare_one(repo: Path) -> Path:
    return bare(repo) / "objects"


def in_the_folder_of_git(repo: Path) -> Path:
    return repo / ".git"


@pytest.mark.parametrize("place", [bare, below_a_bare_one, in_the_folder_of_git], ids=lambda place: place.__name__)
def test_a_folder_that_is_a_repository_itself_is_none(repo: Path, place: Callable[[Path], Path]) -> None:
    folder = place(repo)
    assert git(folder, "rev-parse", "--git-dir"), "git takes it"
    with pytest.raises(NoGitError):
        run_git(str(folder), "rev-parse", "--git-dir")


def test_git_is_called_in_one_place() -> None:
    """Whoever calls it elsewhere runs what a repository's settings name."""
    home = Path(phase_gate.__file__).parent
    elsewhere = [path for path in home.rglob("*.py") if re.search(r"""\[\s*["']git["']\s*,""", path.read_text("utf-8"))]
    assert elsewhere == []


@posix_only
def test_a_program_is_never_taken_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Windows would do it."""
    write(tmp_path / "git.exe", "")
    write(tmp_path / "bin" / "git.exe", "")
    monkeypatch.chdir(tmp_path)
    path = os.pathsep.join(("", ".", str(tmp_path / "nothing"), str(tmp_path / "bin")))
    assert find_program("git.exe", path) == str(tmp_path / "bin" / "git.exe")
    assert find_program("git.exe", os.pathsep.join(("", "."))) == "git.exe"


@posix_only
def test_contents_of_a_commit_by_their_paths(repo: Path) -> None:
    contents = {
        "a b": b"two words",
        "line\nend": b"1",
        "blob 3": b"",
        "end\r": b"2",
        "binary": b"\0\n\xff",
        "missing": b"3",
    }
    for name, content in contents.items():
        write(repo / "src" / name, content)
    (repo / "src" / "link").symlink_to("a b")
    git(repo, "-c", "advice.addEmbeddedRepo=false", "clone", "-q", ".", "src/inner")
    commit_all(repo)
    head = git(repo, "rev-parse", "HEAD").strip()
    wanted = ["gone", *contents, ".", "inner", "link", "app.py 12 blob"]
    assert read_blobs(repo / "src", head, wanted) == {**contents, "link": b"a b"}
    assert read_blobs(repo, "0" * 40, ["src/a b"]) == read_blobs(repo.parent, head, ["repo/src/a b"]) == {}
