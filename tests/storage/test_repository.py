"""Which repository a folder belongs to, found without git; compared with what git itself finds."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import phase_gate
from phase_gate.storage.tree import repository
from phase_gate.storage.tree.git import NoGitError, find_hooks, find_program, is_top, read_blobs, run_git
from phase_gate.storage.tree.repository import find_repository
from tests.storage.repositories import commit_all, git, posix_only, write, write_project

pytestmark = pytest.mark.processes


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = write_project(tmp_path / "repo")
    git(folder, "init", "-q")
    commit_all(folder)
    return folder


def below(repo: Path) -> Path:
    return repo / "src"


def worktree(repo: Path) -> Path:
    git(repo, "worktree", "add", "-q", "-b", "other", "../beside")
    return repo.parent / "beside"


def submodule(repo: Path) -> Path:
    git(repo, "submodule", "--quiet", "add", str(repo), "lib")
    return repo / "lib" / "src"


def moved_aside(repo: Path) -> Path:
    git(repo, "init", "-q", "--separate-git-dir", "../elsewhere")
    return repo


def linked(repo: Path) -> Path:
    (repo / ".git").rename(repo / "settings")
    (repo / ".git").symlink_to("settings")
    return repo


def through_a_link(repo: Path) -> Path:
    (repo.parent / "link").symlink_to(repo / "src")
    return repo.parent / "link"


def below_an_empty_one(repo: Path) -> Path:
    (repo / "src" / ".git").mkdir()
    return repo / "src"


@posix_only
@pytest.mark.parametrize(
    "place",
    [
        pytest.param(lambda repo: repo, id="the-top"),
        *(
            pytest.param(place, id=place.__name__.replace("_", "-"))
            for place in (below, worktree, submodule, moved_aside, linked, through_a_link, below_an_empty_one)
        ),
    ],
)
def test_it_is_the_one_that_git_finds(repo: Path, place: Callable[[Path], Path]) -> None:
    folder = place(repo)
    found = find_repository(str(folder))
    assert found is not None
    said = git(folder, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir")
    ours = (found.top, found.folder, found.common)
    assert [os.path.realpath(path) for path in ours] == [os.path.realpath(path) for path in said.splitlines()]
    assert run_git(str(folder), "rev-parse", "--show-toplevel") == os.fsencode(f"{said.splitlines()[0]}\n")


def test_outside_of_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "isfile", lambda path: False)  # wherever the temporary folder may lie
    monkeypatch.setattr(os.path, "lexists", lambda path: False)
    assert find_repository(str(tmp_path)) is None


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
    assert find_repository(str(folder)) is None
    with pytest.raises(NoGitError):
        run_git(str(folder), "rev-parse", "--git-dir")


def test_git_is_told_of_bare_ones_too(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should it find one that we do not."""
    folder = bare(repo)
    found = repository.Repository(top=str(folder), folder=str(folder), common=str(folder))
    monkeypatch.setattr("phase_gate.storage.tree.git.find_repository", lambda folder: found)
    with pytest.raises(NoGitError):
        run_git(str(folder), "rev-parse", "--git-dir")


def test_git_finds_no_other_one_than_we_do(repo: Path) -> None:
    """Ours looks like one and is none for git, which would go on to the next above."""
    inner = repo / "inner"
    write(inner / ".git" / "HEAD", "ref: refs/heads/main\n")
    assert git(inner, "rev-parse", "--show-toplevel") == f"{repo}\n"
    with pytest.raises(NoGitError):
        run_git(str(inner), "rev-parse", "--show-toplevel")


def file_without_a_path(folder: Path) -> None:
    write(folder / ".git", "nothing\n")


def file_with_a_nul(folder: Path) -> None:
    write(folder / ".git", b"gitdir: elsewhere\0\n")


def common_folder_with_a_nul(folder: Path) -> None:
    write(folder / ".git" / "HEAD", "ref: refs/heads/main\n")
    write(folder / ".git" / "commondir", b"..\0/.git\n")


def pipe_for_settings(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / ".git" / "config").unlink()
    os.mkfifo(folder / ".git" / "config")


def device_for_settings(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / ".git" / "config.worktree").symlink_to("/dev/zero")


def endless_settings(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    with (folder / ".git" / "config").open("r+b") as file:
        file.truncate(repository.MAX_SETTINGS + 1)


@posix_only
@pytest.mark.parametrize(
    "damage",
    [
        file_without_a_path,
        file_with_a_nul,
        common_folder_with_a_nul,
        pipe_for_settings,
        device_for_settings,
        endless_settings,
    ],
    ids=lambda damage: damage.__name__.replace("_", "-"),
)
def test_what_is_damaged_is_not_asked(
    tmp_path: Path, damage: Callable[[Path], None], fake_git: Callable[[str], Path]
) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    damage(folder)
    calls = fake_git('exec "$REAL" "$@"')
    with pytest.raises(NoGitError):
        run_git(str(folder), "rev-parse", "--show-toplevel")
    assert calls.read_text() == ""


@posix_only
def test_signatures_are_not_checked(repo: Path, tmp_path: Path) -> None:
    """By whichever program the repository names for it."""
    text = git(repo, "cat-file", "commit", "HEAD")
    head, _, message = text.partition("\n\n")
    signed = write(tmp_path / "signed", f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n\n{message}")
    git(repo, "update-ref", "HEAD", git(repo, "hash-object", "-t", "commit", "-w", str(signed)).strip())
    canary = tmp_path / "canary"
    program = write(tmp_path / "program", f"#!/bin/sh\ntouch {canary}\n")
    program.chmod(0o755)
    git(repo, "config", "gpg.program", str(program))
    git(repo, "config", "log.showSignature", "true")
    git(repo, "log", "-n", "1", "--format=%H")
    assert canary.exists(), "git itself does"
    canary.unlink()
    run_git(str(repo), "log", "-n", "1", "--format=%H")
    assert not canary.exists()


def test_where_hooks_are(repo: Path, tmp_path: Path) -> None:
    assert find_hooks(repo) == repo / ".git" / "hooks"
    git(repo, "config", "core.hooksPath", "mine")
    assert find_hooks(repo) == repo / "mine"
    (tmp_path / "plain" / ".git").mkdir(parents=True)
    assert find_hooks(bare(repo)) is None


def test_git_is_called_in_one_place() -> None:
    """Whoever calls it elsewhere runs what a repository's settings name."""
    home = Path(phase_gate.__file__).parent
    elsewhere = [path for path in home.rglob("*.py") if re.search(r"""[\[(]\s*["']git["']\s*,""", path.read_text())]
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


# --- what is told without a process of its own


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param(lambda repo: repo, True, id="the-top"),
        pytest.param(below, False, id="a-folder-below"),
        pytest.param(worktree, True, id="another-worktree"),
        pytest.param(through_a_link, False, id="a-link-to-a-folder-below"),
    ],
)
def test_the_top_is_where_git_has_no_prefix(repo: Path, place: Callable[[Path], Path], expected: bool) -> None:
    folder = place(repo)
    assert is_top(str(folder)) is expected
    assert (git(folder, "rev-parse", "--show-prefix") == "\n") is expected


def test_where_a_repository_says_that_its_files_lie_elsewhere_git_is_asked(repo: Path) -> None:
    git(repo, "config", "core.worktree", str(repo.parent))
    assert not is_top(str(repo))


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
