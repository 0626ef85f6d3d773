"""What changed since a verify task was taken, from git, and whose changes those are.

Only looks. What an executor claims to have changed is compared with this, never used instead of it.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from phase_gate.evidence.context import EvidenceContext
from phase_gate.evidence.git import look_since
from phase_gate.storage.tree.fingerprint import Tree, compile_globs, list_matcher
from phase_gate.storage.tree.git import read_blobs, try_git
from phase_gate.tasks.judging import TaskChanges
from phase_gate.tasks.model import Status, Verification
from phase_gate.tasks.overview import Overview
from phase_gate.values import Value
from phase_gate.visible import count, cut

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
    changed = sorted({*(net - _theirs_alone(context, own, head)), *own.files})
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
        foreign_commits=own.foreign,
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


def _theirs_alone(context: EvidenceContext, own: OwnCommits, head: str) -> frozenset[str]:
    """Return the files that others committed meanwhile, and that are as in HEAD: no work of the executor's."""
    if not own.foreign_files:
        return frozenset()
    said = try_git(context.root, "diff", "--name-only", "--no-renames", "--relative", "-z", head, "--")
    touched = set(os.fsdecode(said or b"").split("\0"))
    return frozenset() if said is None else own.foreign_files - touched


def _owners(overview: Overview, task: str) -> Callable[[str], str | None]:
    """Return which other task that has begun lists a path; an empty name for an attachment of any, None for neither."""
    rows = [row for row in overview.rows if row.task != task]
    attachments = {attachment for row in rows for attachment in row.attachments}
    begun = [(row.task, list_matcher(row.spec.files)) for row in rows if row.status is not Status.PENDING]

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
_MOST_COMMITS = 200


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
    #: Commits that came from elsewhere: a remote branch has them; and what they alone touched.
    foreign: tuple[str, ...] = ()
    foreign_files: frozenset[str] = frozenset()


def find_own_commits(
    root: Path, base: str, head: str, *, gate: Collection[str], is_ours: Callable[[str], bool]
) -> OwnCommits:
    """Return the commits since `base` that touch a file of the task.

    :param gate: commits that the gate itself made, of whichever task.
    :param is_ours: tells whether a file is this task's, or at least no other one's.
    """
    if base == head or not head:
        return OwnCommits()
    made = everything = _list_commits(root, base, head)
    goes_on = not base or try_git(root, "merge-base", "--is-ancestor", base, head) is not None
    if not goes_on:
        # Amended or rebased: a commit has files that were committed before. Those that differ are new in it.
        differs = _differing(root, base, head)
        made = [Commit(id=each.id, parent=base, files=tuple(differs & set(each.files))) for each in made]
        everything = made
    # A merge of what the gate committed is the gate's, too.
    made = [each for each in made if each.id not in gate and not set(gate).intersection(each.merged)]
    foreign = _find_foreign(root, base, head, made)
    here = [each for each in made if each not in foreign]
    own = [each for each in here if any(map(is_ours, each.files))]
    return OwnCommits(
        ids=tuple(each.id for each in own),
        undo=_undo(own, everything) if own else "",
        files=frozenset(path for each in own for path in each.files),
        foreign=tuple(each.id for each in foreign),
        foreign_files=frozenset(path for each in foreign for path in each.files)
        - {path for each in here for path in each.files},
    )


def _find_foreign(root: Path, base: str, head: str, made: Sequence[Commit]) -> list[Commit]:
    """Return the commits that a remote branch has, and merges of nothing but such."""
    said = try_git(root, "rev-list", f"{base}..{head}" if base else head, "--not", "--remotes")
    if said is None:
        return []
    local = set(said.decode("ascii", "replace").split())
    return [each for each in made if each.id not in local or (each.merged and local.isdisjoint(each.merged))]


def _list_commits(root: Path, base: str, head: str) -> list[Commit]:
    """Return the commits, the oldest first; a merge as one, with all that it brought."""
    said = try_git(
        root,
        "log",
        *("--first-parent", "-m", "--no-renames", "--relative", "--name-only", "-z"),
        *(f"--max-count={_MOST_COMMITS}", "--format=%x01%H %P%x02"),
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


# --- The files of a task as they were when it was taken, and as they are: from git, or from what was kept then


#: Bytes of one file that are kept or compared, and of all that are kept: what people write by hand is less.
_ONE = 256 * 1024
_ALL = 2 * 1024 * 1024
#: Files that are compared: each may cost a call of git.
_MOST = 200

_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests)\.py$")


def remember_texts(root: Path, memory: Mapping[str, Any], is_listed: Callable[[str], bool]) -> dict[str, str]:
    """Return the texts that git does not have, of files that a task lists and of files with tests.

    :param memory: how things are, as `remember_files` has them.
    """
    git = memory["git"]
    paths = memory["files"] if git is None else git["dirty"]
    kept: dict[str, str] = {}
    room = _ALL
    for path in sorted(paths):
        if not is_listed(path) and not _TEST_FILE.search(path):
            continue
        text, _ = _read(root / path)
        if text is not None and len(text) <= room:
            kept[path] = text
            room -= len(text)
    return kept


def read_changes(root: Path, memory: Mapping[str, Any], paths: Iterable[str]) -> list[TextChange]:
    """Return files that changed, then and now. What only git's view of them changed is left out."""
    ordered = sorted(paths)
    committed = _read_committed(root, memory, ordered[:_MOST])
    found = []
    for number, path in enumerate(ordered):
        if number >= _MOST:
            found.append(TextChange(path=path, problem="more files changed than are compared"))
            continue
        before, unknown = _before(memory, path, committed)
        now, problem = _read(root / path)
        if unknown or problem:
            found.append(TextChange(path=path, problem=problem or unknown))
        elif before != now:
            found.append(TextChange(path=path, before=before, now=now))
    return found


def _read_committed(root: Path, memory: Mapping[str, Any], paths: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of the files that were as committed when the task was taken, and were not kept."""
    git, kept = memory["git"], memory.get("texts", {})
    if git is None or not git["head"]:
        return {}
    return read_blobs(root, git["head"], [path for path in paths if path not in kept and path not in git["dirty"]])


def _before(memory: Mapping[str, Any], path: str, committed: Mapping[str, bytes]) -> tuple[str | None, str]:
    """Return a file's text when the task was taken, None if there was none, and why it can't be told."""
    kept = memory.get("texts", {})
    if path in kept:
        return str(kept[path]), ""
    git = memory["git"]
    was_there = path in memory["files"] if git is None else bool(git["dirty"].get(path))
    if was_there:
        return None, "it was not committed when the task was taken, and not kept"
    return _decode(committed[path]) if path in committed else (None, "")


def _read(path: Path) -> tuple[str | None, str]:
    """Return a file's text, None if there is none, and why it can't be shown."""
    try:
        if path.is_symlink():
            return os.readlink(path), ""  # as git has it
        if path.exists() and not path.is_file():
            return None, "it is no file"  # a pipe would not let us go on
        with path.open("rb") as file:
            return _decode(file.read(_ONE + 1))
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, error.strerror or str(error)


def _decode(data: bytes) -> tuple[str | None, str]:
    if len(data) > _ONE:
        return None, f"it has more than {_ONE // 1024} KiB"
    if b"\0" in data:
        return None, "it is no text"
    return data.decode("utf-8", "replace"), ""


# --- what a task changed, as text: a diff of a limited size. What is left out is named, with how much of it there is


#: Lines that one file, and all together, may take; and characters of a line.
FILE_LINES = 400
ALL_LINES = 2000
WIDTH = 300
#: Lines of a file on one side that are compared at all: more take too long, and reviewers do not read them.
_COMPARED = 20_000


class TextChange(Value):
    """A file then and now."""

    path: str
    #: None where it was not there, or is not there any more.
    before: str | None = None
    now: str | None = None
    #: Why there is nothing to show of it: it is no text, too large, or not known as it was.
    problem: str = ""


class Diff(Value):
    lines: tuple[str, ...] = ()
    #: What is not in it, and why.
    left_out: tuple[str, ...] = ()


def render_diff(changes: Sequence[TextChange], first: Collection[str] = ()) -> Diff:
    """Return the unified diff.

    :param first: files that come first, so that no other ones take their place.
    """
    lines: list[str] = []
    left_out: list[str] = []
    for change in sorted(changes, key=lambda each: (each.path not in first, each.path)):
        rows, problem = _unified(change)
        room = min(FILE_LINES, ALL_LINES - len(lines))
        lines += [cut(row, WIDTH) for row in rows[:room]]
        if problem:
            left_out.append(f"{change.path}: {problem}")
        elif len(rows) > room:
            left_out.append(f"{change.path}: {count(len(rows) - room, 'more line')}")
    return Diff(lines=tuple(lines), left_out=tuple(left_out))


def _unified(change: TextChange) -> tuple[list[str], str]:
    if change.problem:
        return [], change.problem
    before, now = (change.before or "").splitlines(), (change.now or "").splitlines()
    if max(len(before), len(now)) > _COMPARED:
        return [], f"{count(len(before), 'line')} before, {len(now)} now"
    then = "/dev/null" if change.before is None else f"a/{change.path}"
    there = "/dev/null" if change.now is None else f"b/{change.path}"
    return list(difflib.unified_diff(before, now, then, there, lineterm="")), ""
