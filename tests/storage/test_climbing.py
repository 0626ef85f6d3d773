"""Where the climb to a root ends, and whose root is refused: by owners and permissions that are made up."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from phase_gate.errors import PhaseGateError
from phase_gate.storage.root import Climb, find_root
from phase_gate.values import Value

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
