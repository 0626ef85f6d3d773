"""The changes since a verify task was taken, from git; and the commit of the approved ones.

The changes that an executor reports are compared with these, and never replace them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.evidence.context import EvidenceContext
from phase_gate.evidence.git import changes_since
from phase_gate.storage.fingerprint import Tree, list_matcher
from phase_gate.storage.git_command import try_git
from phase_gate.tasks.work import Status, Verification
from phase_gate.values import Value
from phase_gate.visible import count, cut, name_first


class TaskChanges(Value):
    """The changes in the project since a task was taken, at one moment."""

    tree: str
    #: Files that changed since the task was taken, according to git.
    changed: tuple[str, ...] = ()
    #: Those that are not listed by another task that has begun.
    own: tuple[str, ...] = ()
    #: Those of them that this task does not list either.
    unlisted: tuple[str, ...] = ()
    #: Commits of this task's files that were not made by the gate.
    commits: tuple[str, ...] = ()
    #: Commits that were pulled meanwhile: their changes are not part of this task.
    foreign_commits: tuple[str, ...] = ()

    @property
    def weak_because(self) -> tuple[str, ...]:
        """Why a pass would be weak at this moment."""
        return (f"committed before it was approved: {self.commits_shown}",) if self.commits else ()

    @property
    def commits_shown(self) -> str:
        return name_first(commit[:10] for commit in self.commits)


def remember_files(context: EvidenceContext, tree: Tree) -> dict[str, Any]:
    """Return the commit and the files when a task is taken, for `find_changes` and `read_diff`."""
    return {"git": changes_since(context, None).now, "files": dict(tree.files)}


def find_changes(
    context: EvidenceContext, verification: Verification, tree: Tree, before: Any, rows: Iterable[Verification]
) -> TaskChanges:
    """Return the changes since the task was taken.

    :param before: the result of `remember_files`.
    :param rows: all tasks.
    """
    net, head = _changed(context, tree, before)
    others = [row for row in rows if row.task != verification.task]
    is_listed = list_matcher(verification.spec.files)
    of_others = [list_matcher(row.spec.files) for row in others if row.status is not Status.PENDING]

    def is_foreign(path: str) -> bool:
        """Return whether no task lists the path."""
        return not (is_listed(path) or any(matches(path) for matches in of_others))

    base = verification.base or (before["git"] or {}).get("head") or ""
    here: list[_Commit] = []
    elsewhere: list[_Commit] = []
    if head not in ("", base):
        here, elsewhere = _find_commits(context.root, base, head, {row.commit for row in (verification, *others)})
    if base and here and try_git(context.root, "merge-base", "--is-ancestor", base, head) is None:
        # Amended or rebased: a commit contains older changes as well.
        here = [_Commit(row.id, row.files & net) for row in here]
    own = [row for row in here if any(is_listed(path) or is_foreign(path) for path in row.files)]
    pulled = _as_committed(context.root, _files(elsewhere) - _files(here), head)
    # A file that one commit changed and a later one restored counts as changed.
    changed = sorted({*(net - pulled), *_files(own)})
    foreign = _without_outputs(context.root, [path for path in changed if is_foreign(path)])
    return TaskChanges(
        tree=tree.digest,
        changed=tuple(changed),
        own=tuple(path for path in changed if is_listed(path) or path in foreign),
        unlisted=tuple(foreign),
        commits=tuple(row.id for row in own),
        foreign_commits=tuple(row.id for row in elsewhere),
    )


def _changed(context: EvidenceContext, tree: Tree, before: Any) -> tuple[frozenset[str], str]:
    """Return the files that changed, and the current commit of HEAD."""
    head = ""
    if before["git"] is not None:
        since = changes_since(context, before["git"])
        head = "" if since.now is None else since.now["head"] or ""
        if since.files is not None:
            return since.files, head
    # No git, or another repository than before: compare the sources themselves.
    was = before["files"]
    return frozenset(path for path in {*was, *tree.files} if was.get(path) != tree.files.get(path)), head


def _without_outputs(root: Path, paths: list[str]) -> list[str]:
    """Return the paths without new files that git does not track, except for Python: most of them are outputs."""
    candidates = {path for path in paths if not path.endswith(".py") and os.path.lexists(root / path)}
    output = try_git(root, "ls-files", "-z", "--", *candidates) if candidates else None
    tracked = candidates if output is None else set(os.fsdecode(output).split("\0"))
    return [path for path in paths if path not in candidates or path in tracked]


class _Commit(Value, kw_only=False):
    id: str
    #: Relative to the project's root.
    files: frozenset[str]


def _find_commits(root: Path, base: str, head: str, gate: set[str]) -> tuple[list[_Commit], list[_Commit]]:
    """Return the commits since the base that were made here, and those of remote branches.

    :param gate: the commits that the gate made.
    """
    span = f"{base}..{head}" if base else head
    options = ("--no-merges", "--no-renames", "--relative", "--name-only", "-z", "--format=%x01%H")
    rows = []
    for record in reversed(os.fsdecode(try_git(root, "log", *options, span) or b"").split("\x01")[1:]):
        commit, *names = record.replace("\n", "\0").split("\0")
        rows.append(_Commit(commit, frozenset(filter(None, names))))
    local = try_git(root, "rev-list", span, "--not", "--remotes")
    here = {row.id for row in rows} if local is None else set(local.decode("ascii", "replace").split())
    return [row for row in rows if row.id in here - gate], [row for row in rows if row.id not in here]


def _files(commits: Iterable[_Commit]) -> frozenset[str]:
    return frozenset(path for commit in commits for path in commit.files)


def _as_committed(root: Path, paths: frozenset[str], head: str) -> frozenset[str]:
    """Return the files that are the same as in HEAD."""
    output = try_git(root, "diff", "--name-only", "--no-renames", "--relative", "-z", head, "--") if paths else None
    return frozenset() if output is None else paths - set(os.fsdecode(output).split("\0"))


#: Lines of a diff, and characters of a line: reviewers would not read more.
_LINES, _WIDTH = 2000, 300


def read_diff(root: Path, memory: Mapping[str, Any], paths: Iterable[str]) -> str:
    """Return the diff of these files against the commit that the task was taken on; of new files, their text."""
    base, names = (memory["git"] or {}).get("head"), sorted(paths)
    options = ("--no-ext-diff", "--no-textconv", "--relative")
    output = try_git(root, "diff", *options, base, "--", *names) if base and names else None
    rows = (output or b"").decode("utf-8", "replace").splitlines()
    rows = [row for row in rows if not row.startswith(("diff --git", "index "))]
    listed = try_git(root, "ls-files", "-z", "--others", "--", *names) if output is not None else None
    for path in names if output is None else filter(None, os.fsdecode(listed or b"").split("\0")):
        with contextlib.suppress(OSError):
            text = (root / path).read_text(encoding="utf-8", errors="replace")
            rows += ["--- /dev/null", f"+++ b/{path}", *(f"+{row}" for row in text.splitlines())]
    if len(rows) > _LINES:
        rows[_LINES:] = [f"({count(len(rows) - _LINES, 'more line')})"]
    return "\n".join(cut(row, _WIDTH) for row in rows)
