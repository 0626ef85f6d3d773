"""What changed since a verify task was taken, from git, and whose changes those are.

Only looks. What an executor claims to have changed is compared with this, never used instead of it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from phase_gate.evidence.context import EvidenceContext
from phase_gate.evidence.git import look_since
from phase_gate.storage.tree.fingerprint import Tree, compile_globs, list_matcher
from phase_gate.storage.tree.git import try_git
from phase_gate.values import Value
from phase_gate.verification.judging import TaskChanges
from phase_gate.verification.model import Status, Verification
from phase_gate.verification.stats import Overview
from phase_gate.verification.texts import remember_texts

#: What runs leave behind in a project that does not ignore it.
_LEFTOVERS = compile_globs(("**/__pycache__/**", "**/.*/**", "*.pyc", ".coverage*", "node_modules/**"))


def remember_files(context: EvidenceContext, tree: Tree, files: Iterable[str]) -> dict[str, Any]:
    """Return how things are when a task is taken, for `find_changes` and `read_changes`.

    :param files: what the task lists.
    """
    memory: dict[str, Any] = {
        "git": look_since(context, None).now,
        "files": dict(tree.files),
    }
    return {**memory, "texts": remember_texts(context.root, memory, list_matcher(files))}


def find_changes(
    context: EvidenceContext, verification: Verification, tree: Tree, before: Any, *, others: Callable[[], Overview]
) -> TaskChanges:
    """Return what changed since the task was taken.

    :param before: what `remember_files` gave.
    :param others: asked only where something changed that this task does not list, or HEAD moved.
    """
    net, head = _changed(context, tree, before)
    is_listed = list_matcher(verification.spec.files)
    not_work = {*verification.attachments, context.configuration.verification.state_file}
    owner_of = functools.cache(lambda: _owners(others(), verification.spec.slug))
    theirs: dict[str, str] = {}

    def is_foreign(path: str) -> bool:
        """Tell whether no task lists it: neither this task, nor another one, nor is it an attachment of any."""
        if is_listed(path) or path in not_work:
            return False
        owner = owner_of()(path)
        if owner:
            theirs[path] = owner
        return owner is None

    own = _own_commits(
        context, verification, before, head, others=others, is_ours=lambda path: is_listed(path) or is_foreign(path)
    )
    # What a commit brought and a later one took back was changed all the same.
    changed = sorted({*net, *own.files})
    foreign = [path for path in changed if is_foreign(path)]
    untracked = _untracked(context, foreign)
    return TaskChanges(
        tree=tree.digest,
        changed=tuple(changed),
        own=tuple(path for path in changed if is_listed(path) or path in foreign),
        unlisted=tuple(path for path in foreign if path not in untracked),
        untracked=tuple(path for path in untracked if not _LEFTOVERS(path)),
        theirs=tuple(sorted(theirs.items())),
        commits=own.ids,
        undo=own.undo,
    )


def _changed(context: EvidenceContext, tree: Tree, before: Any) -> tuple[frozenset[str], str]:
    """Return the files that are not what they were, and the commit that HEAD is now."""
    head = ""
    if before["git"] is not None:
        since = look_since(context, before["git"])
        head = "" if since.now is None else since.now["head"] or ""
        if since.files is not None:
            return since.files, head
    # No git, or not the one that was there: the sources themselves are compared.
    was = before["files"]
    return frozenset(path for path in {*was, *tree.files} if was.get(path) != tree.files.get(path)), head


def _own_commits(
    context: EvidenceContext,
    verification: Verification,
    before: Any,
    head: str,
    *,
    others: Callable[[], Overview],
    is_ours: Callable[[str], bool],
) -> OwnCommits:
    base = verification.head or (before["git"] or {}).get("head") or ""
    if head in ("", base):
        return OwnCommits()
    gate = {row.commit for row in others().rows if row.commit}
    return find_own_commits(context.root, base, head, gate=gate, is_ours=is_ours)


def _owners(overview: Overview, task: str) -> Callable[[str], str | None]:
    """Return which other task that has begun lists a path; an empty name for an attachment of any, None for neither."""
    rows = [row for row in overview.rows if row.task != task]
    attachments = {attachment for row in rows for attachment in row.attachments}
    begun = [(row.task, list_matcher(row.files)) for row in rows if row.status is not Status.PENDING]

    def owner(path: str) -> str | None:
        found = next((name for name, is_listed in begun if is_listed(path)), None)
        return "" if found is None and path in attachments else found

    return owner


def _untracked(context: EvidenceContext, paths: list[str]) -> dict[str, None]:
    """Return the new files that are no sources: git does not track them, and they are no Python files."""
    candidates = [path for path in paths if not path.endswith(".py") and os.path.lexists(context.root / path)]
    if not candidates:
        return {}
    listed = try_git(context.root, "ls-files", "-z", "--", *candidates)
    if listed is None:
        return {}
    tracked = set(os.fsdecode(listed).split("\0"))
    return {path: None for path in candidates if path not in tracked}


# --- commits that were made while a task was being worked on. A person who commits by habit is told how to go on


#: Commits that are looked at: more in one attempt are no work on a task, but a pull.
_MOST = 200


class Commit(Value):
    id: str
    #: The first one; empty for a root commit.
    parent: str
    #: Files below the project's root.
    files: tuple[str, ...] = ()
    #: What a merge brought.
    merged: tuple[str, ...] = ()


class OwnCommits(Value):
    """Commits of the work on one task that are none of the gate's."""

    ids: tuple[str, ...] = ()
    #: What takes them back and keeps the files; empty where others were made in between.
    undo: str = ""
    #: All that they touched, also what was reverted later.
    files: frozenset[str] = frozenset()


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
    own = [
        each
        for each in made
        # A merge of what the gate committed is the gate's, too.
        if each.id not in gate and not set(gate).intersection(each.merged) and any(map(is_ours, each.files))
    ]
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
        found.append(Commit(id=commit, parent=parents[0] if parents else "", files=files, merged=tuple(parents[1:])))
    return found[::-1]


def _differing(root: Path, base: str, head: str) -> set[str]:
    said = try_git(root, "diff", "--name-only", "--no-renames", "--relative", "-z", base, head)
    return {name for name in os.fsdecode(said or b"").split("\0") if name}


def _undo(own: Sequence[Commit], made: Sequence[Commit]) -> str:
    first = own[0]
    if len(own) < len(made[made.index(first) :]):
        return ""
    return f"git reset --soft {first.parent[:10]}" if first.parent else "git update-ref -d HEAD"
