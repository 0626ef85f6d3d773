"""What changes the fingerprint of the sources, and what does not. With real repositories."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate import bound
from phase_gate.errors import StateError
from phase_gate.storage import fingerprint
from phase_gate.storage import git_command as running_git
from phase_gate.storage import listing as walked_files
from phase_gate.storage.fingerprint import Tree, add_beside, changed_paths, changed_sources, take_tree
from tests.storage.repositories import commit_all, git, posix_only, write, write_project

pytestmark = pytest.mark.processes

Edit = Callable[[Path], object]


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """The same project without git."""
    return write_project(tmp_path / "plain")


def edit_unnoticed(path: Path) -> None:
    """Change the content, but neither size nor mtime."""
    before = path.stat()
    write(path, path.read_bytes().swapcase())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def all_of(*edits: Edit) -> Edit:
    def edit(root: Path) -> None:
        for one in edits:
            one(root)

    return edit


def writes(name: str, content: str | bytes) -> Edit:
    return lambda root: write(root / name, content)


def runs_git(*arguments: str) -> Edit:
    return lambda root: git(root, *arguments)


def commits(root: Path) -> None:
    commit_all(root)


# --- with git


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("edit", "changes"),
    [
        pytest.param(writes("src/app.py", "def add(a, b): ...\n"), True, id="source-edited"),
        pytest.param(writes("src/new.py", ""), True, id="untracked-source-added"),
        pytest.param(writes("data.csv", "a"), True, id="untracked-data-added"),
        pytest.param(writes("ignored.py", "a = 1\n"), False, id="ignored-source"),
        pytest.param(writes("README.md", "# Other\n"), False, id="readme-edited"),
        pytest.param(writes("docs/conf.py", "project = 'Other'\n"), False, id="source-in-the-docs-folder"),
        pytest.param(writes(".phase-gate/guard.py", "a = 1\n"), False, id="state-folder"),
        pytest.param(lambda root: edit_unnoticed(root / "src/app.py"), True, id="same-size-and-same-mtime"),
        pytest.param(lambda root: (root / "src/app.py").rename(root / "src/b.py"), True, id="renamed"),
        pytest.param(runs_git("commit", "-qm", "empty", "--allow-empty"), False, id="empty-commit"),
        pytest.param(
            all_of(runs_git("update-index", "--assume-unchanged", "src/app.py"), writes("src/app.py", "a = 1\n")),
            True,
            id="edit-hidden-by-assume-unchanged",
        ),
        pytest.param(
            all_of(runs_git("update-index", "--skip-worktree", "src/app.py"), writes("src/app.py", "a = 1\n")),
            True,
            id="edit-hidden-by-skip-worktree",
        ),
        pytest.param(
            all_of(
                runs_git("config", "filter.old.clean", "git show HEAD:src/app.py"),
                writes(".git/info/attributes", "src/app.py filter=old\n"),
                writes("src/app.py", "a = 1\n"),
                runs_git("add", "src/app.py"),
            ),
            True,
            id="edit-hidden-by-a-filter",
        ),
    ],
)
def test_edits_against_the_commit(repo: Path, edit: Edit, changes: bool) -> None:
    before = take_tree(repo)
    edit(repo)
    after = take_tree(repo)
    assert before.digest.startswith("git:")
    assert after.digest.startswith("git:")
    assert (after.digest != before.digest) is changes


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("prepare", "edit"),
    [
        pytest.param(writes("src/app.py", "a = 1\n"), commits, id="edit-committed"),
        pytest.param(writes("src/new.py", "a = 1\n"), commits, id="new-source-committed"),
        pytest.param(writes("src/data.csv", "1\n"), runs_git("add", "-A"), id="new-data-staged"),
        pytest.param(
            all_of(writes("src/data.csv", "1\n"), writes("src/app.py", "a = 1\n")),
            all_of(runs_git("stash", "-q", "-u"), runs_git("stash", "pop", "-q")),
            id="stashed-and-popped",
        ),
        pytest.param(lambda root: (root / "src/app.py").rename(root / "src/b.py"), commits, id="rename-committed"),
        pytest.param(
            all_of(
                runs_git("config", "filter.plain.clean", "tr a b"),
                writes(".gitattributes", "*.py filter=plain\n"),
                writes("src/new.py", "a = 1\n"),
            ),
            commits,
            id="new-source-through-a-filter",
        ),
    ],
)
def test_git_commands_that_move_no_file(repo: Path, prepare: Edit, edit: Edit) -> None:
    clean = take_tree(repo)
    prepare(repo)
    before = take_tree(repo)
    edit(repo)
    assert take_tree(repo) == before
    assert before.digest != clean.digest


def test_docs_count_where_they_are_asked_for(repo: Path) -> None:
    always = ("README.md", "./docs/conf.py", "notes.txt", "ignored.py", "missing.py", "src")
    before = take_tree(repo, always=always)
    write(repo / "notes.txt", "a")
    write(repo / "ignored.py", "a")
    write(repo / "README.md", "# Other\n")
    after = take_tree(repo, always=always)
    assert changed_paths(before.files, after.files) == ("README.md", "ignored.py", "notes.txt")
    assert "docs/conf.py" in before.files
    git(repo, "add", "README.md")
    assert take_tree(repo, always=always).files["README.md"] == git(repo, "rev-parse", ":README.md").strip()


def test_docs_are_globs(tmp_path: Path) -> None:
    names = {"README.md", "a/x.py", "a/b/c.md", "a/b/y.py"}
    for name in names:
        write(tmp_path / name, "")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    expected: dict[str, set[str]] = {
        "*.md": {"README.md", "a/b/c.md"},  # no slash means any folder
        "/*.md": {"README.md"},  # leading slash means the root
        "a/*": {"a/x.py"},  # a star stays in its folder
        "a/**": {"a/x.py", "a/b/c.md", "a/b/y.py"},  # two stars do not
        "a/": {"a/x.py", "a/b/c.md", "a/b/y.py"},  # a folder
        "**/?.py": {"a/x.py", "a/b/y.py"},  # two stars in front
        "a/**/c.md": {"a/b/c.md"},  # two stars in the middle
        "*.m.": set(),  # a dot is a dot
    }
    for glob, left_out in expected.items():
        assert names - take_tree(tmp_path, docs=(glob,)).files.keys() == left_out, glob


ODD_NAMES = (
    *(b"with space.py", b"new\nline.py", b'"quoted.py', b"-dash.py", b"tab\tand\\slash.py"),
    *("grün-测试.py".encode(), b"latin-\xe9.py"),
)


def can_be_a_name(name: bytes) -> bool:
    """Say whether the file system takes the name: each knows some that it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            write(Path(folder) / os.fsdecode(name), "")
        except (OSError, UnicodeError):
            return False
        return os.listdir(os.fsencode(folder)) == [name]


@pytest.mark.parametrize("below", ["", "sub/"], ids=["root", "subfolder"])
def test_odd_names(tmp_path: Path, below: str) -> None:
    git(tmp_path, "init", "-q")
    root, names = tmp_path / below, sorted(os.fsdecode(name) for name in ODD_NAMES if can_be_a_name(name))
    for name in names:
        write(root / name, "a = 1\n")
    untracked = take_tree(root)
    git(tmp_path, "add", "-A")
    assert sorted(untracked.files) == names
    assert take_tree(root) == untracked
    for name in names:
        write(root / name, "a = 2\n")
    assert sorted(changed_sources(untracked, take_tree(root))) == names


@posix_only
def test_links_are_not_followed(repo: Path, tmp_path: Path) -> None:
    target = write(tmp_path / "target.py", "a = 1\n")
    (repo / "link.py").symlink_to(target)
    before = take_tree(repo)
    write(target, "a = 2\n")
    assert take_tree(repo) == before
    commit_all(repo)
    assert take_tree(repo) == before
    (repo / "link.py").unlink()
    (repo / "link.py").symlink_to("nowhere")
    changed = take_tree(repo)
    assert changed_sources(before, changed) == ("link.py",)
    (repo / "link.py").unlink()
    write(repo / "link.py", "nowhere")  # a file with the very text of the link is another thing
    assert changed_sources(changed, take_tree(repo)) == ("link.py",)


def test_a_submodule_is_looked_into(repo: Path, tmp_path: Path) -> None:
    library = write_project(tmp_path / "library")
    git(library, "init", "-q")
    commit_all(library)
    git(repo, "submodule", "--quiet", "add", str(library), "lib")
    commit_all(repo)
    before = take_tree(repo)
    assert "lib/src/app.py" in before.files
    write(repo / "lib/src/app.py", "a = 1\n")
    edited = take_tree(repo)
    assert changed_sources(before, edited) == ("lib/src/app.py",)
    commit_all(repo / "lib")
    assert take_tree(repo) == edited
    commit_all(repo)
    assert take_tree(repo) == edited


def test_a_clone_inside_is_part_and_a_worktree_is_not(repo: Path) -> None:
    before = take_tree(repo)
    git(repo, "worktree", "add", "-q", "-b", "other", "work/other")
    write(repo / "work/other/src/app.py", "a = 1\n")
    assert take_tree(repo) == before
    git(repo, "clone", "-q", ".", "vendor")
    assert "vendor/src/app.py" in changed_paths(before.files, take_tree(repo).files)


def test_a_clone_that_git_refuses_is_walked_alone(repo: Path) -> None:
    git(repo, "clone", "-q", ".", "vendor")
    git(repo / "vendor", "config", "core.repositoryFormatVersion", "99")
    before = take_tree(repo)
    assert before.digest.startswith("git:")
    assert {"tests/table.csv", "vendor/src/app.py"} <= before.files.keys()
    write(repo / "vendor/src/app.py", "a = 1\n")
    assert changed_sources(before, take_tree(repo)) == ("vendor/src/app.py",)


@pytest.mark.parametrize("pattern", ["scratch/", "scratch/*", "*"])
def test_a_root_that_git_ignores_is_walked(repo: Path, pattern: str) -> None:
    write(repo / ".gitignore", pattern + "\n")
    root = repo / "scratch" / "project"
    write(root / "test_a.py", "a = 1\n")
    before = take_tree(root)
    write(root / "test_a.py", "a = 2\n")
    assert before.digest.startswith("walk:")
    assert changed_sources(before, take_tree(root)) == ("test_a.py",)


# --- git that fails


@posix_only
def test_a_tree_costs_one_process(repo: Path, fake_git: Callable[[str], Path]) -> None:
    calls = fake_git('exec "$REAL" "$@"')
    take_tree(repo)
    write(repo / "src/app.py", "a = 1\n")
    write(repo / "src/new.py", "a = 1\n")
    take_tree(repo)
    assert len(calls.read_text().splitlines()) == 2


@posix_only
@pytest.mark.parametrize(
    "script",
    [
        pytest.param("echo 'fatal: detected dubious ownership' >&2; exit 128", id="refuses"),
        pytest.param('sleep 3; exec "$REAL" "$@"', id="answers-too-late"),
    ],
)
def test_without_an_answer_the_folder_is_walked(
    repo: Path, fake_git: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(running_git, "GIT_TIMEOUT", 0.2)
    fake_git(script)
    assert take_tree(repo).digest.startswith("walk:")


# --- without git


@pytest.fixture
def no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever repository the temporary folder may lie in."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


@pytest.mark.usefixtures("no_git")
@pytest.mark.parametrize(
    ("edit", "changes"),
    [
        pytest.param(writes("src/app.py", "a = 1\n"), True, id="source-edited"),
        pytest.param(writes("ignored.py", ""), True, id="without-git-nothing-is-ignored"),
        pytest.param(writes("tests/table.csv", "1,1,3\n"), False, id="data-is-not-looked-at"),
        pytest.param(writes("README.md", "# Other\n"), False, id="readme-edited"),
        pytest.param(writes("docs/conf.py", ""), False, id="docs-folder"),
        pytest.param(lambda root: edit_unnoticed(root / "src/app.py"), True, id="same-size-and-same-mtime"),
        pytest.param(lambda root: (root / "src/app.py").rename(root / "src/b.py"), True, id="renamed"),
        pytest.param(lambda root: (root / "src/app.py").unlink(), True, id="deleted"),
        pytest.param(lambda root: (root / "src/app.py").chmod(0o755), False, id="a-mode-is-no-content"),
        pytest.param(writes("env/pyvenv.cfg", ""), False, id="environment"),
        pytest.param(
            all_of(writes("kept/CACHEDIR.TAG", ""), writes("kept/deep/a.py", "")), False, id="marked-as-a-cache"
        ),
        *(
            pytest.param(writes(f"src/{name}/deep/a.py", ""), False, id=f"in-{name}")
            for name in (
                *(".git", ".hg", ".svn", "__pycache__", ".tox", ".nox", ".venv", "venv", "node_modules"),
                *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".eggs", "app.egg-info"),
                *("build", "dist", "site-packages", ".phase-gate"),
            )
        ),
        pytest.param(
            all_of(writes("wt/.git", "gitdir: /main/.git/worktrees/wt\n"), writes("wt/a.py", "")),
            False,
            id="worktree-inside",
        ),
        pytest.param(
            all_of(writes("lib/.git", "gitdir: ../.git/worktrees/main/modules/lib\n"), writes("lib/a.py", "")),
            True,
            id="submodule-inside",
        ),
    ],
)
def test_edits_without_git(plain: Path, tmp_path: Path, edit: Edit, changes: bool) -> None:
    cache = tmp_path / "cache.json"
    before = take_tree(plain, cache_file=cache)
    edit(plain)
    after = take_tree(plain, cache_file=cache)
    assert before.digest.startswith("walk:")
    assert after == take_tree(plain)
    assert (after.digest != before.digest) is changes


@pytest.mark.usefixtures("no_git")
def test_a_walk_has_a_bound(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walked_files, "MAX_VISITED", 30)
    fits = take_tree(plain)
    for number in range(31):
        write(plain / f"data/{number}.csv", "")
    with pytest.raises(StateError) as caught:
        take_tree(plain)
    assert caught.value.problem.startswith(f"{plain} has more than 30 ")
    assert "phase-gate.yaml" in caught.value.remedy
    assert "git init" in caught.value.remedy
    monkeypatch.undo()
    assert take_tree(plain).files.keys() >= fits.files.keys()


class Reads:
    """What was read to be hashed, and a clock that is set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        self.ahead_ns = 0
        self.now_ns: int | None = None
        really_hash, really_now = fingerprint._hash_file, bound.time.time_ns

        def hash_file(path: str) -> str:
            self.paths.append(path)
            return really_hash(path)

        monkeypatch.setattr(fingerprint, "_hash_file", hash_file)
        monkeypatch.setattr(bound.time, "time_ns", lambda: self.now_ns or really_now() + self.ahead_ns)

    def take(self, root: Path, cache: Path) -> tuple[Tree, int]:
        """Return the tree, and how many files were read for it."""
        self.paths.clear()
        return take_tree(root, cache_file=cache), len(self.paths)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, no_git: None) -> Reads:
    return Reads(monkeypatch)


HOUR_NS = 3_600_000_000_000


def test_what_is_old_is_read_once(tmp_path: Path, reads: Reads) -> None:
    for number in range(300):
        write(tmp_path / f"root/package_{number % 30}/module_{number}.py", f"a = {number}\n")
    cache = tmp_path / "cache.json"
    reads.ahead_ns = HOUR_NS
    first, first_reads = reads.take(tmp_path / "root", cache)
    again, second_reads = reads.take(tmp_path / "root", cache)
    assert (first_reads, second_reads) == (300, 0)
    assert again == first
    write(tmp_path / "root/package_0/module_0.py", "a = 1\n")
    edited, third_reads = reads.take(tmp_path / "root", cache)
    assert third_reads == 1
    assert changed_sources(first, edited) == ("package_0/module_0.py",)


@posix_only
def test_an_edit_that_hides_its_mtime_is_read(plain: Path, tmp_path: Path, reads: Reads) -> None:
    cache = tmp_path / "cache.json"
    reads.ahead_ns = HOUR_NS
    before, _ = reads.take(plain, cache)
    edit_unnoticed(plain / "src/app.py")
    after, count = reads.take(plain, cache)
    assert (changed_sources(before, after), count) == (("src/app.py",), 1)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda text: b"", id="empty"),
        pytest.param(lambda text: text.replace(b"app.py", b"xpp.py"), id="edited"),
        pytest.param(lambda text: text[64:], id="unsigned"),
        pytest.param(lambda text: b"[" * 100_000, id="too-deep"),
    ],
)
def test_a_damaged_cache_is_ignored(plain: Path, tmp_path: Path, reads: Reads, spoil: Callable[[bytes], bytes]) -> None:
    cache = tmp_path / "cache.json"
    reads.ahead_ns = HOUR_NS
    reads.take(plain, cache)
    cache.write_bytes(spoil(cache.read_bytes()))
    found, count = reads.take(plain, cache)
    assert (found, count) == (take_tree(plain), 3)
    assert reads.take(plain, cache) == (found, 0)


# --- contents that neither git nor a walk shows, as part of the fingerprint


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "code.py").write_text("1")
    (tmp_path / "outside.py").write_text("2")
    (folder / "link.py").symlink_to("../outside.py")
    return folder


def test_a_link_is_what_it_leads_to(root: Path) -> None:
    before = add_beside(Tree("git:1", {}), root, ["link.py"])
    (root.parent / "outside.py").write_text("3")
    assert add_beside(Tree("git:1", {}), root, ["link.py"]) != before


def test_the_fingerprint_is_another_with_each_content(root: Path) -> None:
    tree = Tree("git:1", {})
    assert add_beside(tree, root, []) is tree
    assert add_beside(tree, root, ["gone.py"]) is tree
    one = add_beside(tree, root, ["code.py"])
    assert one.digest.startswith("git:")
    assert one.digest != tree.digest
    assert one.beside.keys() == {"code.py"}
    (root / "code.py").write_text("2")
    assert add_beside(tree, root, ["code.py"]).digest != one.digest
