"""Step 1 of a verify task: the executor's report."""

from __future__ import annotations

from datetime import UTC, datetime

from phase_gate.codec import to_json
from phase_gate.errors import MalformedResultError, NotAllowedError, StaleSignalError
from phase_gate.gate.judging import Case
from phase_gate.gate.signals import Reading
from phase_gate.gate.state import Event, State
from phase_gate.gate.verdict import Evaluation
from phase_gate.names import same_name
from phase_gate.storage.store import Transaction
from phase_gate.storage.tree.fingerprint import Tree
from phase_gate.stores.shared import again_if_moved
from phase_gate.tasks.board import LONGEST, Attachment, TaskBoard, TaskSession, TaskStatus, require_verification
from phase_gate.tasks.handins import (
    ExecutorResult,
    Verdict,
    read_executor_result,
    read_verdict,
    result_to_json,
    verdict_to_json,
)
from phase_gate.tasks.judging import TaskChanges, judge, waived_files
from phase_gate.tasks.model import FINISHED, FailureType, Status, Verification, Word
from phase_gate.tasks.rules import extend_limits, late, refuse_unchanged, require_attempt
from phase_gate.values import replace

#: How sure a reviewer is, as a number.
SURE = {"HIGH": 1.0, "MEDIUM": 0.5, "LOW": 0.0}

#: Where a report may come.
_WAITS = (Status.PENDING, Status.EXECUTING, Status.FAILED, Status.REJECTED, Status.BLOCKED)


@again_if_moved
def report_execution(board: TaskBoard, report: Attachment) -> TaskStatus:
    """Record the executor's report. One that can't be read is a failed attempt."""
    session, result, by = board.open_for(
        report, read_executor_result, "an executor's report", waits=_WAITS, first=(Status.EXECUTING,)
    )
    tree = session.tree(session.verification().spec)
    with session.transaction() as change:
        session.close_lost(change)
        current = require_verification(change.state, session.task)
        session.refuse_halted(current)
        session.refuse_foreign(current, by)
        if isinstance(result, ExecutorResult) and result.status == "success":
            refuse_unchanged(current, tree.digest)
        if current.status is not Status.EXECUTING:
            begin_attempt(session, change, tree)
        if isinstance(result, MalformedResultError):
            said = f"{result.problem}; {result.remedy}"
            session.fail(change, FailureType.MALFORMED, step=1, error=said, tree=tree)
        else:
            _report(session, change, result, tree, by=by, attachment=report.path)
        evaluation = _judge(session, change, tree)
    return session.end_step(change, evaluation)


def _report(
    session: TaskSession, change: Transaction, result: ExecutorResult, tree: Tree, *, by: str, attachment: str | None
) -> None:
    current = require_verification(change.state, session.task)
    document = result_to_json(result)
    kept = session.store.keep("evidence", document)
    short = {key: value[:LONGEST] if isinstance(value, str) else value for key, value in document.items()}
    overdue = late(current, change.at)
    if overdue:
        lines = tuple(str(document.get("evidence", "")).splitlines()[:5])
        session.fail(change, FailureType.TIMEOUT, step=1, error=overdue, tree=tree, lines=lines)
        return
    data = {"result": short, "by": by, "tree": tree.digest, "kept": kept, "attachment": attachment}
    change.record(Event(kind="executor-reported", data=data))
    if result.status == "failure":
        session.fail(change, FailureType.EXECUTION_FAILURE, step=1, error=result.error, tree=tree)
    elif result.status == "blocked":
        session.fail(change, FailureType.BLOCKED, step=1, error=result.error, tree=tree, counts=False)
    elif not result.done_criteria_met:
        error = "the executor reports success, but says that the done-criteria are not met"
        session.fail(change, FailureType.EXECUTION_FAILURE, step=1, error=error, tree=tree)


def _judge(session: TaskSession, change: Transaction, tree: Tree) -> Evaluation:
    current = require_verification(change.state, session.task)
    return session.judge(change, session.changes(change.state, current, tree))


# --- begin an attempt of a task: what the executor's report and `verify start` share


def begin_attempt(
    session: TaskSession, change: Transaction, tree: Tree, *, head: str = "", by: str = "", memory: str = ""
) -> None:
    """Record that an attempt begins. Raises NotAllowedError where it must not.

    :param head: the commit that the work begins on; empty where the work is done already.
    :param by: the worker that has it from now on; empty where none is named.
    :param memory: the object with the files as they are here, where they were remembered elsewhere.
    """
    verification = require_verification(change.state, session.task)
    session.refuse_halted(verification)
    if verification.status is Status.EXECUTING:
        raise NotAllowedError(
            f"attempt {verification.attempt} of {session.task} goes on since {verification.began_at}",
            remedy=f"phase-gate verify executor FILE --task {session.task}",
        )
    require_attempt(verification, tree=tree.digest, at=change.at)
    _refuse_dependencies(session, verification)
    if verification.status is Status.REVIEWING:
        # What was verified is not there any more: that attempt is over, and counts as no failure.
        session.fail(
            change,
            FailureType.VERIFY_FAILURE,
            step=3,
            error="stale: files were changed after the verify run",
            tree=tree,
            counts=False,
        )
    number = verification.attempt if verification.status is Status.BLOCKED else verification.attempt + 1
    given = {"head": head, "by": by, "memory": memory, "place": session.board.place if memory else ""}
    data = {
        "attempt": number,
        "limits": extend_limits(verification),
        **{name: value for name, value in given.items() if value},
    }
    change.record(Event(kind="attempt-began", data=data))


def _refuse_dependencies(session: TaskSession, verification: Verification) -> None:
    names = verification.spec.depends_on
    if not names:
        return
    rows = {row.name: row for row in session.board.overview.rows}
    for name in names:
        row = rows.get(name)
        if row is None or row.status not in FINISHED:
            state = "is not known" if row is None else f"is {row.status}"
            remedy = "phase-gate verify start --task-file FILE, with that task"
            if row is not None:
                act = "start" if row.status is Status.PENDING else "status"
                remedy = f"do that one first: phase-gate verify {act} --task {row.task}"
            raise NotAllowedError(f"{session.task} depends on {name!r}, which {state}", remedy=remedy)


# --- an attempt that fails without a report: its agent ran out of time, or left nothing that could be read


@again_if_moved
def fail_attempt(session: TaskSession, kind: FailureType, *, error: str, lines: tuple[str, ...] = ()) -> TaskStatus:
    """Record that the step which goes on has failed."""
    tree = session.tree(session.verification().spec)
    with session.transaction() as change:
        session.close_lost(change)
        current = require_verification(change.state, session.task)
        session.fail(change, kind, step=current.step, error=error, tree=tree, lines=lines)
        evaluation = _judge(session, change, tree)
    return session.end_step(change, evaluation)


# --- The reviewer's verdict: refused where it can't be one about the evidence that is there, else recorded


@again_if_moved
def review(board: TaskBoard, attachment: Attachment) -> TaskStatus:
    """Record the reviewer's verdict. One that can't be read is a failed attempt."""
    session, verdict, by = board.open_for(attachment, read_verdict, "a verdict", waits=(Status.REVIEWING,))
    with session.transaction() as change:
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
            _refuse_other_evidence(current, verdict, tree, attachment.written)
            if verdict.is_approved:
                _refuse_open_ends(session, change, verdict, changes)
            waived = waived_files(change.state, changes, at=change.at) if verdict.is_approved else ()
            flags = tuple(f"waived: {path} changed, and the task does not list it" for path in waived)
            flags += changes.weak_because if verdict.is_approved else ()
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
    again = "look at the evidence of this attempt (phase-gate verify show), then write the verdict anew"
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
    root = str(session.project.root)
    case = Case(state=state, workflow=workflow, phase=phase, at=change.at, root=root)
    gate = judge(case, changes).gate_1
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
    overdue = late(current, change.at)
    if overdue:
        session.fail(change, FailureType.TIMEOUT, step=3, error=overdue, tree=tree, lines=verdict.findings[:5])
        return Reading()
    assert current.check is not None, "what is reviewed was verified"
    word = Word(
        by=by,
        answer="approve" if verdict.is_approved else "reject",
        confidence=SURE[verdict.confidence],
        about={"tree": tree.digest, "check": current.check.id},
        said=verdict_to_json(verdict),
        flags=flags,
    )
    change.record(Event(kind="reviewed", data={"word": to_json(word), "attachment": attachment}))
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


# --- Record how long an agent worked on a task


@again_if_moved
def record_turn(session: TaskSession, *, role: str, seconds: float, how: str, code: int | None = 0) -> None:
    """Record the end of an agent's turn in the attempt that goes on."""
    with session.transaction() as change:
        change.record(Event(kind="agent-worked", data={"role": role, "seconds": seconds, "how": how, "code": code}))
