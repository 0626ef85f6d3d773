"""The changes since a verify task was taken, from git, and the tasks that they belong to.

Read-only. The changes that an executor reports are compared with these, and never replace them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.evidence.context import EvidenceContext
from phase_gate.evidence.git import changes_since
from phase_gate.storage.tree.fingerprint import Tree, compile_globs, list_matcher
from phase_gate.storage.tree.git_command import try_git
from phase_gate.tasks.work import Status, Verification
from phase_gate.values import Value
from phase_gate.visible import count, cut, name_first

#: Files that runs create in a project that does not ignore them.
_LEFTOVERS = compile_globs(("**/__pycache__/**", "**/.*/**", "*.pyc", ".coverage*", "node_modules/**"))


class TaskChanges(Value):
    """The changes in the project since a task was taken, at one moment."""

    tree: str
    #: Files that changed since the task was taken, according to git; None if that is unknown.
    changed: tuple[str, ...] | None = None
    #: Those that belong to this task or to no task.
    own: tuple[str, ...] = ()
    #: Those that are listed neither by this task nor by another task in progress.
    unlisted: tuple[str, ...] | None = None
    #: New files that no task lists and git does not track, mostly outputs. Shown to the reviewer.
    untracked: tuple[str, ...] = ()
    #: Changed files of other tasks, with the task.
    theirs: tuple[tuple[str, str], ...] = ()
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
    context: EvidenceContext,
    verification: Verification,
    tree: Tree,
    before: Any,
    *,
    others: Callable[[], Iterable[Verification]],
) -> TaskChanges:
    """Return the changes since the task was taken.

    :param before: the result of `remember_files`.
    :param others: return all tasks. Called only if a file changed that this task does not list, or if HEAD moved.
    """
    net, head = _changed(context, tree, before)
    is_listed = list_matcher(verification.spec.files)
    not_work = set(verification.attachments)
    owner_of = functools.cache(lambda: _owners(others(), verification.spec.slug))
    theirs: dict[str, str] = {}

    def is_foreign(path: str) -> bool:
        """Return whether the path is neither listed by a task nor an attachment of one."""
        if is_listed(path) or path in not_work:
            return False
        owner = owner_of()(path)
        if owner:
            theirs[path] = owner
        return owner is None

    base = verification.base or (before["git"] or {}).get("head") or ""
    here, elsewhere = _find_commits(context.root, base, head, others) if head not in ("", base) else ([], [])
    if base and here and try_git(context.root, "merge-base", "--is-ancestor", base, head) is None:
        # Amended or rebased: a commit contains older changes as well.
        here = [_Commit(row.id, row.files & net) for row in here]
    own = [row for row in here if any(is_listed(path) or is_foreign(path) for path in row.files)]
    # A file that one commit changed and a later one restored counts as changed.
    changed = sorted({*(net - _as_committed(context.root, _files(elsewhere) - _files(here), head)), *_files(own)})
    foreign = [path for path in changed if is_foreign(path)]
    untracked = _untracked(context, foreign)
    return TaskChanges(
        tree=tree.digest,
        changed=tuple(changed),
        own=tuple(path for path in changed if is_listed(path) or path in foreign),
        unlisted=tuple(path for path in foreign if path not in untracked),
        untracked=tuple(path for path in untracked if not _LEFTOVERS(path)),
        theirs=tuple(sorted(theirs.items())),
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


def _owners(rows: Iterable[Verification], task: str) -> Callable[[str], str | None]:
    """Return a function that finds the other started task that lists a path.

    It returns an empty name for an attachment of any task, and None for neither.
    """
    rows = [row for row in rows if row.task != task]
    attachments = {attachment for row in rows for attachment in row.attachments}
    begun = [(row.task, list_matcher(row.spec.files)) for row in rows if row.status is not Status.PENDING]

    def owner(path: str) -> str | None:
        found = next((name for name, is_listed in begun if is_listed(path)), None)
        return "" if found is None and path in attachments else found

    return owner


def _untracked(context: EvidenceContext, paths: list[str]) -> dict[str, None]:
    """Return the new files that are not sources: git does not track them, and they are not Python files."""
    candidates = [path for path in paths if not path.endswith(".py") and os.path.lexists(context.root / path)]
    listed = try_git(context.root, "ls-files", "-z", "--", *candidates) if candidates else None
    tracked = set(os.fsdecode(listed or b"").split("\0"))
    return {} if listed is None else {path: None for path in candidates if path not in tracked}


# --- commits that were made while a task was in progress


class _Commit(Value, kw_only=False):
    id: str
    #: Relative to the project's root.
    files: frozenset[str]


def _find_commits(
    root: Path, base: str, head: str, others: Callable[[], Iterable[Verification]]
) -> tuple[list[_Commit], list[_Commit]]:
    """Return the commits since the base that were made here, but not by the gate, and those of remote branches."""
    span, gate = f"{base}..{head}" if base else head, {row.commit for row in others()}
    said = try_git(
        root, "log", "--no-merges", "--no-renames", "--relative", "--name-only", "-z", "--format=%x01%H", span
    )
    rows = []
    for record in reversed(os.fsdecode(said or b"").split("\x01")[1:]):
        commit, *names = record.replace("\n", "\0").split("\0")
        rows.append(_Commit(commit, frozenset(filter(None, names))))
    local = try_git(root, "rev-list", span, "--not", "--remotes")
    here = {row.id for row in rows} if local is None else set(local.decode("ascii", "replace").split())
    return [row for row in rows if row.id in here - gate], [row for row in rows if row.id not in here]


def _files(commits: Iterable[_Commit]) -> frozenset[str]:
    return frozenset(path for commit in commits for path in commit.files)


def _as_committed(root: Path, paths: frozenset[str], head: str) -> frozenset[str]:
    """Return the files that are the same as in HEAD."""
    said = try_git(root, "diff", "--name-only", "--no-renames", "--relative", "-z", head, "--") if paths else None
    return frozenset() if said is None else paths - set(os.fsdecode(said).split("\0"))


# --- the diff of a task, of a limited size. Omitted parts are listed with their size


#: Lines of one file, lines of all files, and characters of a line.
FILE_LINES, ALL_LINES, WIDTH = 400, 2000, 300
#: Bytes of a file that are read: files written by hand are smaller.
_LARGEST = 256 * 1024


class Diff(Value):
    lines: tuple[str, ...] = ()
    #: The omitted parts, and why.
    left_out: tuple[str, ...] = ()


def read_diff(root: Path, memory: Mapping[str, Any], paths: Iterable[str]) -> Diff:
    """Return the diff of these files against the commit that the task was taken on."""
    base = (memory["git"] or {}).get("head") or ""
    lines: list[str] = []
    left_out: list[str] = []
    for path in sorted(paths):
        rows, room = _diff_file(root, base, path), min(FILE_LINES, ALL_LINES - len(lines))
        lines += [cut(row, WIDTH) for row in rows[:room]]
        if len(rows) > room:
            left_out.append(f"{path}: {count(len(rows) - room, 'more line')}")
        elif not rows:
            left_out.append(f"{path}: git has no other version to compare with")
    return Diff(lines=tuple(lines), left_out=tuple(left_out))


def _diff_file(root: Path, base: str, path: str) -> list[str]:
    said = try_git(root, "diff", "--no-ext-diff", "--no-textconv", "--relative", base, "--", path) if base else None
    if said:
        return [
            row for row in said.decode("utf-8", "replace").splitlines() if not row.startswith(("diff --git", "index "))
        ]
    # New, and not added yet: git shows no diff.
    text = read_text(root / path)
    return [] if text is None else ["--- /dev/null", f"+++ b/{path}", *(f"+{row}" for row in text.splitlines())]


def read_text(path: Path) -> str | None:
    """Return a file's text; None if there is no file, or if it is binary or too large."""
    try:
        if path.is_symlink() or not path.is_file():
            return None
        data = path.read_bytes()[: _LARGEST + 1]
    except OSError:
        return None
    return None if len(data) > _LARGEST or b"\0" in data else data.decode("utf-8", "replace")
