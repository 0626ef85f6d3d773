"""Commit what was approved of a verify task, and nothing else."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from phase_gate.errors import NotAllowedError, StaleSignalError
from phase_gate.gate.state import Event
from phase_gate.storage.store import Transaction
from phase_gate.storage.tree.fingerprint import list_matcher
from phase_gate.storage.tree.git import NoGitError, act_with_git, head_of, try_git
from phase_gate.stores.shared import again_if_moved
from phase_gate.tasks.board import TaskBoard, TaskSession, TaskStatus, require_verification
from phase_gate.tasks.judging import TaskChanges, advise_task, holds_back, waived_files
from phase_gate.tasks.model import Status, Verification
from phase_gate.tasks.rules import refuse_escalated
from phase_gate.values import Value
from phase_gate.visible import show_rows

#: In the commit's message.
TRAILER = "Phase-Gate"
#: Seconds: hooks of a commit may run a whole suite.
_LIMIT = 300.0


class Committed(Value):
    status: TaskStatus
    commit: str
    files: tuple[str, ...]


@again_if_moved
def commit_task(session: TaskSession, *, message: str | None = None) -> Committed:
    """Commit the files of an approved task.

    :param message: the first line of the commit's message; the task's name if there is none.
    """
    with session.transaction() as change:
        current = require_verification(change.state, session.task)
        _refuse(session, current)
        session.refuse_halted(current)
        root = session.project.root
        commit = _find_made(session, change, current)
        if not commit:
            _refuse_held_back(session, current)
            commit = _commit(session, change, current, message)
        change.record(Event(kind="committed", data={"commit": commit}))
    return Committed(status=session.end_step(change), commit=commit, files=tuple(_files_of(root, commit)))


def find_committable(board: TaskBoard) -> str:
    """Return the one task that waits for its commit."""
    found = [row.task for row in board.overview.rows if row.status is Status.APPROVED and not row.commit]
    return found[0] if len(found) == 1 else board.waiting((Status.APPROVED,), "its commit")


def _refuse(session: TaskSession, current: Verification) -> None:
    if current.voided:
        refuse_escalated(current)
    if current.status is Status.SKIPPED:
        raise NotAllowedError(
            f"{session.task} is {current.word}: only what was approved is committed",
            remedy="commit it yourself, if you answer for it",
        )
    if current.status is not Status.APPROVED:
        advice = advise_task(current)
        raise NotAllowedError(f"{session.task} is {current.status}: only APPROVED commits", remedy=advice.next_step)
    if current.commit:
        raise NotAllowedError(
            f"{session.task} was committed as {current.commit[:10]} already", remedy="phase-gate verify status"
        )


def _refuse_held_back(session: TaskSession, current: Verification) -> None:
    why = holds_back(current)
    if why:
        raise NotAllowedError(
            f"{session.task} is approved, but {why}: manual review",
            remedy=f"look at it, commit it yourself, then phase-gate verify commit --task {session.task}",
        )


def _find_made(session: TaskSession, change: Transaction, current: Verification) -> str:
    """Return the commit that has the files as approved already: a person's, or ours whose record was lost; or empty."""
    root, tree = session.project.root, session.tree(current.spec)
    if not head_of(root) or tree.digest != current.verified_tree:
        return ""
    changes = session.changes(change.state, current, tree)
    work = _work(change, current, changes)
    own = [path for path in changes.changed or () if work(path)]
    if not own or _changed(root, work):
        return ""
    found = try_git(root, "rev-list", "-n", "1", "HEAD", "--", *own)
    return "" if found is None else found.decode("ascii", "replace").strip()


def _work(change: Transaction, current: Verification, changes: TaskChanges) -> Callable[[str], bool]:
    """Return what tells the files of the task: those that it lists, and those that a person let pass."""
    is_listed, waived = list_matcher(current.spec.files), waived_files(change.state, changes, at=change.at)
    return lambda path: is_listed(path) or path in waived


def _commit(session: TaskSession, change: Transaction, current: Verification, message: str | None) -> str:
    """Commit the task's files that changed, as they were approved. Returns the commit's id."""
    root = session.project.root
    if try_git(root, "rev-parse", "--git-dir") is None:
        following = session.board.overview.next_command or "phase-gate verify status"
        raise NotAllowedError(
            f"{root.name} is no git repository: nothing can be committed", remedy=f"the approval stands: {following}"
        )
    before = head_of(root)
    tree = session.tree(current.spec)
    if tree.digest != current.verified_tree:
        raise StaleSignalError(
            "files were changed after the approval: they are not what was verified",
            remedy=f"take the change back, or have it verified anew: {_abandon(session)}",
        )
    paths = _changed(root, _work(change, current, session.changes(change.state, current, tree)))
    if not paths:
        stands = f"the approval stands: {session.board.overview.next_command or 'phase-gate verify status'}"
        raise NotAllowedError(f"git sees no change in the files of {session.task}", remedy=stands)
    tracked = os.fsdecode(try_git(root, "ls-files", "-z", "--", *paths) or b"").split("\0")
    new = [path for path in paths if path not in tracked]
    try:
        if new:
            _git(root, "add", "--intent-to-add", "--", *new)
        # --only: what else is staged stays staged, and out of it.
        _git(root, "commit", "--quiet", "--only", "-m", _message(session.task, current, message), "--", *paths)
    except NotAllowedError:
        if new:
            with contextlib.suppress(NotAllowedError):
                _git(root, "reset", "--quiet", "--", *new)
        raise
    commit = head_of(root)
    # What a hook of git did: files, or what was committed of them, are not what was approved.
    changed = sorted({*_changed(root, paths.__contains__), *(set(_files_of(root, commit)) - set(paths))})
    if changed or session.tree(current.spec).digest != current.verified_tree:
        _git(root, *(("reset", "--quiet", "--soft", before) if before else ("update-ref", "-d", "HEAD")))
        raise StaleSignalError(
            f"a hook of git changed what was approved ({', '.join(changed) or 'the files themselves'}); the commit was"
            " taken back",
            remedy=f"let the executor run what the hook runs, then: {_abandon(session)}",
        )
    return commit


def _abandon(session: TaskSession) -> str:
    return f'phase-gate verify abandon --task {session.task} --reason "..."'


def _changed(root: Path, is_work: Callable[[str], bool]) -> list[str]:
    """Return the task's files that are not what HEAD has."""
    said = _git(root, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", ".")
    prefix = _git(root, "rev-parse", "--show-prefix").rstrip("\n")
    paths = [record[3:].removeprefix(prefix) for record in said.split("\0") if record]
    return sorted({path for path in paths if is_work(path)})


def _message(task: str, current: Verification, given: str | None) -> str:
    assert current.review is not None
    assert current.check is not None
    title = given or current.spec.name
    rows = [
        f"Verified: {current.spec.verify}",
        f"Reviewed-by: {current.review.by}",
        *(f"Weak: {why}" for why in current.weak_because),
        f"{TRAILER}: {task} {current.check.id}",
    ]
    return f"{title}\n\n{show_rows(rows)}"


def _files_of(root: Path, commit: str) -> list[str]:
    said = _git(root, "diff-tree", "--root", "--no-commit-id", "--name-only", "--relative", "-r", "-z", commit)
    return [path for path in said.split("\0") if path]


def _git(root: Path, *arguments: str) -> str:
    try:
        done = act_with_git(root, *arguments, keep=("GIT_AUTHOR_", "GIT_COMMITTER_"), limit=_LIMIT)
    except NoGitError as error:
        raise NotAllowedError(f"git {arguments[0]}: {error}", remedy="commit it yourself") from None
    if done.returncode != 0:
        said = os.fsdecode(done.stderr).strip().splitlines() or ["git failed"]
        raise NotAllowedError(
            f"git {arguments[0]}: {said[-1]}", remedy="mend what git says, then phase-gate verify commit again"
        )
    return os.fsdecode(done.stdout)
