"""The reviewer's verdict: refused where it can't be one about the evidence that is there, else recorded."""

from __future__ import annotations

from datetime import UTC, datetime

from phase_gate.errors import MalformedResultError, NotAllowedError, StaleSignalError
from phase_gate.gate.signals import ABSENT, Reading
from phase_gate.gate.state import Event, State
from phase_gate.names import same_name
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.store import Transaction
from phase_gate.storage.tree.fingerprint import Tree
from phase_gate.values import replace
from phase_gate.verification.board import Attachment, TaskBoard, TaskSession, TaskStatus, require_verification
from phase_gate.verification.judging import TaskChanges, judge
from phase_gate.verification.model import FailureType, Status, Verification
from phase_gate.verification.result_files import read_verdict
from phase_gate.verification.rules import late
from phase_gate.verification.spec import Verdict, verdict_to_json


@again_if_moved
def review(board: TaskBoard, attachment: Attachment) -> TaskStatus:
    """Record the reviewer's verdict. One that can't be read is a failed attempt."""
    session, verdict, by = board.open_for(attachment, read_verdict, "a verdict", waits=(Status.REVIEWING,))
    with session.store.transaction() as change:
        session.close_lost(change)
        current = require_verification(change.state, session.task)
        session.refuse_halted(current)
        _refuse_status(session, current)
        # Taken within the lock: what is edited from now on is seen by the commit.
        tree = session.tree(current.spec)
        # The verdict itself is no work of the executor's.
        attachments = (*current.attachments, *((attachment.path,) if attachment.path else ()))
        changes = session.changes(change.state, replace(current, attachments=attachments), tree)
        reading = Reading()
        if isinstance(verdict, MalformedResultError):
            said = f"{verdict.problem}; {verdict.remedy}"
            session.fail(change, FailureType.MALFORMED, step=3, error=said, tree=tree)
        else:
            _refuse_reviewer(current, by)
            own = session.board.clock.on_own(session.task, current)
            _refuse_other_evidence(own, verdict, tree, attachment.written)
            if verdict.is_approved:
                _refuse_open_ends(session, change, verdict, changes)
            flags = changes.weak_because if verdict.is_approved else ()
            reading = _record(session, change, verdict, by=by, tree=tree, attachment=attachment.path, flags=flags)
        evaluation = session.judge(change, changes, reading)
    return session.end_step(change, evaluation)


def _refuse_status(session: TaskSession, current: Verification) -> None:
    if current.status is Status.REVIEWING:
        return
    if current.status is Status.APPROVED:
        assert current.review is not None
        raise NotAllowedError(
            f"{session.task} was approved by {current.review.by} already", remedy="phase-gate verify status"
        )
    missing = {
        Status.PENDING: ("its executor has not reported", "phase-gate verify executor FILE"),
        Status.EXECUTING: ("its executor has not reported", "phase-gate verify executor FILE"),
        Status.VERIFYING: ("its verify command has not passed", "phase-gate verify run"),
        Status.SKIPPED: ("a person took it out of the gate", "phase-gate verify status"),
    }
    why, following = missing.get(current.status, ("this attempt has failed", "phase-gate verify executor FILE"))
    raise NotAllowedError(
        f"{session.task} is {current.status}: there is no evidence to review, {why}",
        remedy=f"{following} --task {session.task}",
    )


def _refuse_reviewer(current: Verification, by: str) -> None:
    assert current.report is not None
    if same_name(by, current.report.by):
        raise NotAllowedError(
            f"{by} executed this attempt, and can't review it",
            remedy="let another reviewer do it: --by NAME, or `by:` in the verdict",
        )


def _refuse_other_evidence(current: Verification, verdict: Verdict, tree: Tree, written: float | None) -> None:
    """Refuse a verdict that speaks of another attempt, run or tree than the one that is there."""
    check = current.check
    assert check is not None
    again = "look at the evidence of this attempt (phase-gate verify bundle), then write the verdict anew"
    if check.after != tree.digest:
        raise StaleSignalError(
            "files were changed after the verify run: its evidence is stale (verify-fresh)",
            remedy=f"phase-gate verify executor FILE --task {current.spec.slug}, and verify what is there now",
        )
    for what, said, there in (
        ("attempt", "" if verdict.attempt is None else str(verdict.attempt), str(current.attempt)),
        ("verify run", verdict.evidence, check.id),
        ("tree", verdict.tree, check.after),
    ):
        if said and not there.startswith(said):
            raise StaleSignalError(f"the verdict speaks of {what} {said}, this is {there[:16]}", remedy=again)
    if written is not None and written == int(written):
        written += 2  # some file systems know no more than every other second
    if written is not None and datetime.fromtimestamp(written, UTC) < datetime.fromisoformat(check.ended_at):
        raise StaleSignalError("the verdict is older than the evidence that it is about", remedy=again)


def _refuse_open_ends(session: TaskSession, change: Transaction, verdict: Verdict, changes: TaskChanges) -> None:
    """Refuse an approval with something open: blockers of the reviewer's own, or a Gate 1 that is closed."""
    if verdict.blockers:
        raise NotAllowedError(
            f"APPROVED with open blockers: {'; '.join(verdict.blockers[:3])}",
            remedy="say REJECTED, or take out what is not open any more",
        )
    for problem, remedy in _unmet(session, change, change.state, changes):
        raise NotAllowedError(f"APPROVED, but Gate 1 is closed: {problem}", remedy=remedy)


def _unmet(session: TaskSession, change: Transaction, state: State, changes: TaskChanges) -> list[tuple[str, str]]:
    workflow, phase = session.rules(change)
    verdict = judge(state, workflow, phase, ABSENT, changes, at=change.at, root=str(session.project.root))
    gate = verdict.gate_1
    if gate.is_open:
        return []
    rows = [(f"{guard.name}: {guard.detail}", guard.remedy) for guard in gate.guards if not guard.passes]
    clauses = [clause.text for clause in gate.clauses if clause.met is not True]
    again = f"phase-gate explain --task {session.task}"
    return [*rows, *((f"{text} is not met", again) for text in clauses)]


def _record(
    session: TaskSession,
    change: Transaction,
    verdict: Verdict,
    *,
    by: str,
    tree: Tree,
    attachment: str | None,
    flags: tuple[str, ...],
) -> Reading:
    current = require_verification(change.state, session.task)
    document = verdict_to_json(verdict)
    overdue = late(session.board.clock.on_own(session.task, current), change.at)
    if overdue:
        session.fail(change, FailureType.TIMEOUT, step=3, error=overdue, tree=tree, lines=verdict.findings[:5])
        return Reading()
    data = {"verdict": document, "by": by, "tree": tree.digest, "attachment": attachment}
    change.record(Event(kind="reviewed", data={**data, "flags": list(flags)} if flags else data))
    if verdict.is_approved:
        return Reading(answer="done", reason="; ".join(verdict.findings)[:500], by=by)
    said = [line.strip() for line in verdict.feedback.splitlines() if line.strip()]
    issues = tuple(_unnumbered(line) for line in said) or (*verdict.blockers, *verdict.concerns)
    if len(issues) > 1 and issues[0].endswith(":"):
        issues = issues[1:]
    session.fail(
        change, FailureType.ARCHITECT_REJECTION, step=3, error="; ".join(issues) or "rejected", tree=tree, lines=issues
    )
    return Reading(answer="not-done", reason="; ".join(issues)[:500], by=by)


def _unnumbered(line: str) -> str:
    head, _, rest = line.partition(". ")
    return rest if head.isdecimal() and rest else line.removeprefix("- ")
