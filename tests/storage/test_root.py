"""Where a project begins, how far up it is looked for, who may own it, and how its files and tasks are named."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from phase_gate.errors import PhaseGateError
from phase_gate.storage.root import Climb, find_root, is_name, relative_id
from phase_gate.values import Value
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


# --- where the climb to a root ends, and whose root is refused: by owners and permissions that are made up


ME, OTHER, ROOT = 1000, 1001, 0
OPEN, TEMPORARY = 0o777, 0o1777


class FolderTree(Value):
    """A world below one folder: `top/` with what lies in it, and who is where."""

    #: Files, and folders with a slash behind; the start is made, too.
    marks: tuple[str, ...] = ("top/.git/", "top/pytest.ini", "top/phase-gate.yaml", "top/.phase-gate/")
    start: str = "top/a/b"
    #: Owner, or owner and permissions, by path; else the user's own with 0755.
    owners: Mapping[str, int | tuple[int, int]] = {}
    uid: int | None = ME
    home: str = ""
    trusted: str = ""


def climb(folder: Path, tree: FolderTree) -> Climb:
    (folder / tree.start).mkdir(parents=True)
    for mark in tree.marks:
        place = folder / mark
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(exist_ok=True) if mark.endswith("/") else place.touch()
    resolved = folder.resolve()
    return Climb(
        folder / tree.start,
        uid=tree.uid,
        home=str(resolved / tree.home) if tree.home else "",
        trusted=str(resolved / tree.trusted) if tree.trusted else "",
        lstat=looker(resolved, tree),
    )


def looker(folder: Path, tree: FolderTree) -> Callable[[Path], os.stat_result]:
    def look(path: Path) -> os.stat_result:
        os.lstat(path)  # it has to be there
        if not path.is_relative_to(folder) or path == folder:
            raise PermissionError("beyond this world")
        found = tree.owners.get(path.relative_to(folder).as_posix(), tree.uid or ME)
        uid, mode = found if isinstance(found, tuple) else (found, 0o755)
        return os.stat_result((0o040000 | mode, 0, 0, 0, uid, 0, 0, 0, 0, 0))

    return look


#: What lies in a folder without being a project of the user's.
GIT = ("top/.git/",)
BELOW = ("top", "top/a", "top/a/b")


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        # home
        pytest.param(FolderTree(home="top"), "top/a/b", id="strays-in-the-home-folder"),
        pytest.param(FolderTree(marks=GIT, start="top", home="top"), "top", id="the-project-is-the-home-folder"),
        pytest.param(FolderTree(home="top", trusted="top"), "top", id="a-home-that-is-trusted-is-a-root"),
        # folders of another owner
        pytest.param(FolderTree(owners={"top": OTHER}), "top/a/b", id="strays-in-a-folder-of-another-user"),
        pytest.param(
            FolderTree(owners=dict.fromkeys((*BELOW, "top/.git"), OTHER), uid=ROOT),
            "top",
            id="root-in-a-container-with-a-mounted-checkout",
        ),
        pytest.param(FolderTree(owners={"top": OTHER}, trusted="top"), "top", id="another-owner-is-trusted"),
        # folders that everybody may write to
        pytest.param(FolderTree(owners={"top": (ROOT, TEMPORARY)}), "top/a/b", id="tmp"),
        pytest.param(
            FolderTree(owners={"top": (ME, OPEN), "top/.git": OTHER}),
            "top/a/b",
            id="another-user-made-a-repository-in-my-open-folder",
        ),
        pytest.param(
            FolderTree(marks=("top/pytest.ini",), owners=dict.fromkeys(BELOW, (ME, OPEN))),
            "top",
            id="a-0777-mount-without-git",
        ),
        # Windows: no owners, and permissions that say 0777 of every folder
        pytest.param(
            FolderTree(owners=dict.fromkeys(BELOW, (0, OPEN)), uid=None), "top", id="no-rule-about-owners-on-windows"
        ),
    ],
)
def test_where_the_climb_ends(tmp_path: Path, tree: FolderTree, expected: str) -> None:
    way = climb(tmp_path, tree)
    root = find_root(way)
    assert root == tmp_path.resolve() / expected
    way.refuse_foreign(root)  # all of these are the user's


FOREIGN = dict.fromkeys((*BELOW, "top/.git"), OTHER)


@pytest.mark.parametrize(
    ("tree", "refused"),
    [
        pytest.param(FolderTree(marks=GIT, start="top", owners=FOREIGN), "top", id="a-checkout-of-another-user"),
        pytest.param(
            FolderTree(marks=GIT, owners=FOREIGN, trusted="top/a/b/c"), "top", id="what-is-trusted-lies-deeper"
        ),
        pytest.param(
            FolderTree(marks=("top/.git/", "top/a/.git/"), start="top/a", owners={"top/a": OTHER, "top/a/.git": OTHER}),
            "top/a",
            id="another-users-clone-in-my-repository",
        ),
    ],
)
def test_a_root_of_another_owner_is_refused(tmp_path: Path, tree: FolderTree, refused: str) -> None:
    way = climb(tmp_path, tree)
    with pytest.raises(PhaseGateError) as caught:
        way.refuse_foreign(find_root(way))
    assert caught.value.slug == "foreign-root"
    place = tmp_path.resolve() / refused
    assert f"the root {place} belongs to " in caught.value.problem
    assert caught.value.remedy.endswith(f"PHASE_GATE_TRUST_ROOT={place}")
    trusting = Climb(way.start, uid=tree.uid, trusted=str(place), lstat=looker(tmp_path.resolve(), tree))
    assert find_root(trusting) == place
    trusting.refuse_foreign(place)


def test_home_and_trust_are_compared_with_links_resolved(tmp_path: Path) -> None:
    (tmp_path / "home" / "project").mkdir(parents=True)
    (tmp_path / "home" / ".git").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "home")
    name, start = "USERPROFILE" if os.name == "nt" else "HOME", tmp_path / "link" / "project"
    environment = {name: str(tmp_path / "link")}
    assert find_root(Climb.begin(start, environment)) == start.resolve(), "home is no project"
    environment["PHASE_GATE_TRUST_ROOT"] = str(tmp_path / "link")
    assert find_root(Climb.begin(start, environment)) == (tmp_path / "home").resolve()
