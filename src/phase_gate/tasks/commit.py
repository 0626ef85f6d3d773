"""Commit only the approved files of a verify task."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from phase_gate.errors import NotAllowedError, StaleSignalError
from phase_gate.storage.fingerprint import list_matcher
from phase_gate.storage.git_command import act_with_git, head_of, try_git
from phase_gate.storage.lock import again_if_moved
from phase_gate.tasks.board import Step, TaskSession, TaskStatus
from phase_gate.tasks.rules import refuse_escalated
from phase_gate.tasks.verify_verdict import holds_back, require_status, waived_files
from phase_gate.tasks.work import Status, Verification
from phase_gate.visible import show_rows

#: In the commit's message.
TRAILER = "Phase-Gate"
#: Seconds: hooks of a commit may run a whole suite.
_LIMIT = 300.0


@again_if_moved
def commit_task(session: TaskSession) -> tuple[TaskStatus, tuple[str, ...]]:
    """Commit the files of an approved task; return its status and the committed files."""
    with session.step() as step:
        _refuse(step.current)
        step.refuse_halted()
        commit = _find_made(step)
        if not commit:
            if why := holds_back(step.current):
                raise NotAllowedError(
                    f"{session.task} is approved, but {why}: manual review",
                    remedy=f"look at it, commit it yourself, then phase-gate verify commit --task {session.task}",
                )
            commit = _commit(step)
        step.record("committed", commit=commit)
    return step.status, tuple(_files_of(session.project.root, commit))


def _refuse(current: Verification) -> None:
    if current.voided:
        refuse_escalated(current)
    require_status(current, (Status.APPROVED,), "only an approved task can be committed")
    if current.commit:
        raise NotAllowedError(
            f"{current.task} was committed as {current.commit[:10]} already", remedy="phase-gate verify status"
        )


def _find_made(step: Step) -> str:
    """Return an existing commit of the approved files: a user's, or ours if its record was lost. Empty if none."""
    root = step.session.project.root
    if not head_of(root) or step.tree.digest != step.current.verified_tree:
        return ""
    work = _work(step)
    own = [path for path in step.changes.changed if work(path)]
    if not own or _changed(root, work):
        return ""
    found = try_git(root, "rev-list", "-n", "1", "HEAD", "--", *own)
    return "" if found is None else found.decode("ascii", "replace").strip()


def _work(step: Step) -> Callable[[str], bool]:
    """Return a function that recognizes the files of the task: those that it lists, and waived ones."""
    is_listed = list_matcher(step.current.spec.files)
    waived = waived_files(step.change.state, step.changes, at=step.change.at)
    return lambda path: is_listed(path) or path in waived


def _commit(step: Step) -> str:
    """Commit the changed files of the task, as approved. Returns the commit's id."""
    session, current, root = step.session, step.current, step.session.project.root
    stands = f"the approval is still valid: {session.board.overview.next_command or 'phase-gate verify status'}"
    if try_git(root, "rev-parse", "--git-dir") is None:
        raise NotAllowedError(f"{root.name} is not a git repository", remedy=stands)
    before = head_of(root)
    if step.tree.digest != current.verified_tree:
        raise StaleSignalError(
            "files were changed after the approval: the changes were not verified",
            remedy=f"undo the changes, or have them verified: {_abandon(session)}",
        )
    paths = _changed(root, _work(step))
    if not paths:
        raise NotAllowedError(f"git sees no change in the files of {session.task}", remedy=stands)
    _git(root, "add", "--", *paths)
    try:
        # --only: other staged changes stay staged, and are not committed.
        _git(root, "commit", "--quiet", "--only", "-m", _message(current), "--", *paths)
    except NotAllowedError:
        with contextlib.suppress(NotAllowedError):
            _git(root, "reset", "--quiet", "--", *paths)
        raise
    commit = head_of(root)
    # A git hook may have changed the files, or committed other ones than those that were approved.
    changed = sorted({*_changed(root, paths.__contains__), *(set(_files_of(root, commit)) - set(paths))})
    if changed or session.tree(current.spec).digest != current.verified_tree:
        _git(root, *(("reset", "--quiet", "--soft", before) if before else ("update-ref", "-d", "HEAD")))
        raise StaleSignalError(
            f"a git hook changed approved files ({', '.join(changed) or 'the files themselves'}); the commit was"
            " undone",
            remedy=f"let the executor run what the hook runs, then: {_abandon(session)}",
        )
    return commit


def _abandon(session: TaskSession) -> str:
    return f'phase-gate verify abandon --task {session.task} --reason "..."'


def _changed(root: Path, is_work: Callable[[str], bool]) -> list[str]:
    """Return the task's files that differ from HEAD."""
    output = _git(root, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", ".")
    prefix = _git(root, "rev-parse", "--show-prefix").rstrip("\n")
    paths = [record[3:].removeprefix(prefix) for record in output.split("\0") if record]
    return sorted({path for path in paths if is_work(path)})


def _message(current: Verification) -> str:
    assert current.review is not None
    assert current.check is not None
    rows = [
        f"Verified: {current.spec.verify}",
        f"Reviewed-by: {current.review.by}",
        *(f"Weak: {why}" for why in current.weak_because),
        f"{TRAILER}: {current.task} {current.check.id}",
    ]
    return f"{current.name}\n\n{show_rows(rows)}"


def _files_of(root: Path, commit: str) -> list[str]:
    output = _git(root, "diff-tree", "--root", "--no-commit-id", "--name-only", "--relative", "-r", "-z", commit)
    return [path for path in output.split("\0") if path]


def _git(root: Path, *arguments: str) -> str:
    remedy = "fix the cause, then phase-gate verify commit again"
    return act_with_git(root, *arguments, remedy=remedy, keep=("GIT_AUTHOR_", "GIT_COMMITTER_"), limit=_LIMIT)
