"""Where git's listing is the known one, the tree is the kept one, and never a stale one. With real repositories."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.storage.tree import git_files, known_tree
from phase_gate.storage.tree.fingerprint import Tree, take_tree
from tests.storage.repositories import commit_all, git, posix_only, write, write_project

pytestmark = pytest.mark.processes

Edit = Callable[[Path], object]


class Looks:
    """A project, and how often its files were looked at one by one."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.count = root, 0
        self.key: bytes | None = None
        taken = git_files.take_git_files

        def count(*arguments: object, **named: object) -> git_files.GitFiles:
            self.count += 1
            return taken(*arguments, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(git_files, "take_git_files", count)

    def take(self, *, cached: bool = True) -> Tree:
        state = self.root / ".phase-gate"
        return take_tree(
            self.root,
            always=("out/wanted.txt",),
            beside=("ignored.py",),
            reports=("report.xml",),
            state_folder=state,
            cache_file=state / "cache" / "tree.json" if cached else None,
            key=self.key,
        )


@pytest.fixture
def looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Looks:
    root = write_project(tmp_path / "repo")
    git(root, "init", "-q")
    commit_all(root)
    write(root / ".phase-gate" / ".gitignore", "*\n")
    write(root / "src" / "new.py", "x = 1\n")  # not tracked
    write(root / "src" / "app.py", "def add(a, b):\n    return b + a\n")  # edited
    write(root / "tests" / "assumed.py", "x = 1\n")
    write(root / "tests" / "skipped.py", "x = 1\n")
    git(root, "add", "tests")
    git(root, "commit", "-qm", "more")
    git(root, "update-index", "--assume-unchanged", "tests/assumed.py")
    git(root, "update-index", "--skip-worktree", "tests/skipped.py")
    write(root / "ignored.py", "x = 1\n")  # git ignores it, and runs have imported it
    write(root / "out" / "wanted.txt", "one\n")  # git ignores it, and it is wanted
    os.symlink("src/app.py", root / "link.py")
    _let_time_pass(monkeypatch)
    return Looks(root, monkeypatch)


def _let_time_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written is written long ago; what is written from now on is written later than that."""
    monkeypatch.setattr(known_tree, "now_ns", lambda: time.time_ns() + 2 * known_tree.RACY_NS)


def writes(name: str, content: str) -> Edit:
    return lambda root: write(root / name, content)


def _edits_unnoticed(name: str) -> Edit:
    """Change the content, but neither size nor mtime."""

    def edit(root: Path) -> None:
        path = root / name
        before = path.stat()
        write(path, path.read_bytes().swapcase())
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    return edit


def _retargets(root: Path) -> None:
    (root / "link.py").unlink()
    os.symlink("src/new.py", root / "link.py")


def _adds_filter(root: Path) -> None:
    write(root / ".git" / "info" / "attributes", "*.csv filter=own\n")
    git(root, "config", "filter.own.clean", "tr a-z A-Z")


def _adds_clone(root: Path) -> None:
    write(root / "vendor" / "lib.py", "x = 1\n")
    git(root / "vendor", "init", "-q")
    commit_all(root / "vendor")


def test_known_tree_is_not_looked_at_again(looks: Looks) -> None:
    first = looks.take()
    again = looks.take()
    assert looks.count == 1
    assert again.digest == first.digest == looks.take(cached=False).digest
    assert again.beside == first.beside
    assert again.submodules == ()


def test_files_of_known_tree_are_told_when_asked_for(looks: Looks) -> None:
    first = looks.take()
    assert looks.take().files == first.files
    assert looks.count == 2


def test_commit_of_the_same_contents_keeps_the_digest(looks: Looks) -> None:
    first = looks.take()
    commit_all(looks.root)
    assert looks.take().digest == first.digest


CHANGES: dict[str, Edit] = {
    "tracked": writes("tests/test_app.py", "def test_add():\n    pass\n"),
    "edited-once-more": writes("src/app.py", "def add(a, b):\n    return 0\n"),
    "edited-with-old-size-and-time": _edits_unnoticed("src/app.py"),
    "untracked": writes("src/new.py", "x = 2\n"),
    "untracked-with-old-size-and-time": _edits_unnoticed("src/new.py"),
    "assumed-unchanged": writes("tests/assumed.py", "x = 2\n"),
    "skipped-in-the-worktree": writes("tests/skipped.py", "x = 2\n"),
    "ignored-and-wanted": writes("out/wanted.txt", "two\n"),
    "ignored-and-wanted-is-gone": lambda root: (root / "out" / "wanted.txt").unlink(),
    "ignored-and-imported": writes("ignored.py", "x = 2\n"),
    "ignored-and-imported-with-old-size-and-time": _edits_unnoticed("ignored.py"),
    "new-file": writes("src/more.py", ""),
    "removed": lambda root: (root / "tests" / "table.csv").unlink(),
    "removed-untracked": lambda root: (root / "src" / "new.py").unlink(),
    "link": _retargets,
    "clone-inside": _adds_clone,
}


@pytest.mark.sampled(3)
@posix_only
@pytest.mark.parametrize("name", CHANGES)
def test_change_is_never_missed(looks: Looks, name: str) -> None:
    before = looks.take()
    assert looks.take().digest == before.digest
    assert looks.count == 1
    CHANGES[name](looks.root)
    after = looks.take()
    assert after.digest != before.digest
    assert after.digest == looks.take(cached=False).digest


@posix_only
def test_edit_in_clone_inside_is_never_missed(looks: Looks) -> None:
    _adds_clone(looks.root)
    before = looks.take()
    write(looks.root / "vendor" / "lib.py", "x = 2\n")
    assert looks.take().digest != before.digest


def test_edit_in_submodule_is_never_missed(looks: Looks, tmp_path: Path) -> None:
    library = tmp_path / "library"
    write(library / "lib.py", "x = 1\n")
    git(library, "init", "-q")
    commit_all(library)
    git(looks.root, "submodule", "add", "-q", str(library), "vendor")
    commit_all(looks.root)
    before = looks.take()
    write(looks.root / "vendor" / "lib.py", "x = 2\n")
    assert looks.take().digest != before.digest


def test_filter_of_the_repository_is_never_trusted(looks: Looks) -> None:
    before = looks.take()
    _adds_filter(looks.root)
    assert looks.take().digest == looks.take(cached=False).digest
    write(looks.root / "tests" / "table.csv", "1,1,3\n")
    assert looks.take().digest != before.digest
    assert looks.take().digest == looks.take(cached=False).digest


def test_what_was_written_just_now_is_not_kept(looks: Looks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_tree, "now_ns", time.time_ns)
    write(looks.root / "src" / "new.py", "x = 3\n")
    looks.take()
    looks.take()
    assert looks.count == 2


def test_other_settings_are_another_tree(looks: Looks) -> None:
    first = looks.take()
    state = looks.root / ".phase-gate"
    other = take_tree(
        looks.root, docs=("*.csv",), state_folder=state, cache_file=state / "cache" / "tree.json", key=looks.key
    )
    assert other.digest != first.digest


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda row: row.update(tree="git:0"), id="another-tree"),
        pytest.param(lambda row: row.update(looked_at={}), id="fewer-files"),
        pytest.param(lambda row: row.pop("hidden"), id="less"),
        pytest.param(lambda row: row.clear(), id="nothing"),
    ],
)
def test_damaged_memory_is_no_memory(looks: Looks, spoil: Callable[[dict[str, object]], object]) -> None:
    first = looks.take()
    file = looks.root / ".phase-gate" / "cache" / "known-tree.json"
    row = json.loads(file.read_text(encoding="utf-8"))
    spoil(row)
    file.write_text(json.dumps(row), encoding="utf-8")
    assert looks.take().digest == first.digest
    assert looks.count == 2


def test_with_a_key_nothing_counts_that_it_did_not_sign(looks: Looks) -> None:
    first = looks.take()
    looks.key = b"secret"
    assert looks.take().digest == first.digest
    assert looks.count == 2
    looks.take()
    assert looks.count == 2
