"""Commits that were made while a task was being worked on, from git.

Only looks. Nothing is to be committed before it was approved; a person who commits by habit is told how to go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from phase_gate.storage.tree.git import try_git
from phase_gate.values import Value

#: Commits that are looked at: more in one attempt are no work on a task, but a pull.
_MOST = 200


class Commit(Value):
    id: str
    #: The first one; empty for a root commit.
    parent: str
    #: Files below the project's root.
    files: tuple[str, ...] = ()


class OwnCommits(Value):
    """Commits of the work on one task that are none of the gate's."""

    ids: tuple[str, ...] = ()
    #: What takes them back and keeps the files; empty where others were made in between.
    undo: str = ""
    #: All that they touched, also what was reverted later.
    files: frozenset[str] = frozenset()


def head_of(root: Path) -> str:
    """Return the commit that HEAD is; empty where there is none."""
    found = try_git(root, "rev-parse", "--verify", "-q", "HEAD")
    return "" if found is None else found.decode("ascii").strip()


def find_own_commits(
    root: Path, base: str, head: str, *, gate: Collection[str], is_ours: Callable[[str], bool]
) -> OwnCommits:
    """Return the commits since `base` that touch a file of the task.

    :param gate: commits that the gate itself made, of whichever task.
    :param is_ours: tells whether a file is this task's, or at least no other one's.
    """
    if base == head or not head:
        return OwnCommits()
    made = _list_commits(root, base, head)
    goes_on = not base or try_git(root, "merge-base", "--is-ancestor", base, head) is not None
    if not goes_on:
        # Amended or rebased: a commit has files that were committed before. Those that differ are new in it.
        differs = _differing(root, base, head)
        made = [Commit(id=each.id, parent=base, files=tuple(differs & set(each.files))) for each in made]
    own = [each for each in made if each.id not in gate and any(map(is_ours, each.files))]
    if not own:
        return OwnCommits()
    return OwnCommits(
        ids=tuple(each.id for each in own),
        undo=_undo(own, made),
        files=frozenset(path for each in own for path in each.files),
    )


def _list_commits(root: Path, base: str, head: str) -> list[Commit]:
    """Return the commits, the oldest first; a merge as one, with all that it brought."""
    said = try_git(
        root,
        "log",
        *("--first-parent", "-m", "--no-renames", "--relative", "--name-only", "-z"),
        *(f"--max-count={_MOST}", "--format=%x01%H %P%x02"),
        f"{base}..{head}" if base else head,
    )
    found = []
    for record in os.fsdecode(said or b"").split("\x01")[1:]:
        ids, _, names = record.partition("\x02")
        commit, *parents = ids.split()
        files = tuple(name.lstrip("\n") for name in names.split("\0") if name.strip("\n"))
        found.append(Commit(id=commit, parent=parents[0] if parents else "", files=files))
    return found[::-1]


def _differing(root: Path, base: str, head: str) -> set[str]:
    said = try_git(root, "diff", "--name-only", "--no-renames", "--relative", "-z", base, head)
    return {name for name in os.fsdecode(said or b"").split("\0") if name}


def _undo(own: Sequence[Commit], made: Sequence[Commit]) -> str:
    first = own[0]
    if len(own) < len(made[made.index(first) :]):
        return ""
    return f"git reset --soft {first.parent[:10]}" if first.parent else "git update-ref -d HEAD"
