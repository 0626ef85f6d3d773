"""The steps of a verify task, each one transaction: a report, a verdict, a failure, or a person's decision."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from phase_gate.codec import spell_out, to_json
from phase_gate.errors import NotAllowedError, StaleSignalError, UsageError
from phase_gate.gate.judging import judged_event
from phase_gate.gate.overrides import Person, forced_events, override_record
from phase_gate.gate.verdict import ABSENT, Signal, with_advice
from phase_gate.storage.lock import again_if_moved
from phase_gate.tasks.board import LONGEST, Step, TaskBoard, TaskSession, TaskStatus
from phase_gate.tasks.handins import (
    Attachment,
    ExecutorResult,
    MalformedResultError,
    Verdict,
    read_executor_result,
    read_verdict,
)
from phase_gate.tasks.rules import begin_first, escalate, extend_limits, late, refuse_unchanged, require_attempt
from phase_gate.tasks.task_files import is_same_command
from phase_gate.tasks.verify_verdict import advise_task, judge, require_status, waived_files
from phase_gate.tasks.work import FINISHED, IN_PROGRESS, NOT_PASSED, PHASE, FailureType, Status, Verification, Word
from phase_gate.visible import cut, same_name

#: The reviewer's confidence as a number.
SURE = {"HIGH": 1.0, "MEDIUM": 0.5, "LOW": 0.0}

#: Statuses that accept a report.
_WAITS = (Status.PENDING, Status.EXECUTING, Status.BLOCKED, *NOT_PASSED)


def begin_attempt(step: Step, **given: str) -> None:
    """Record that an attempt begins. Raises NotAllowedError if it must not.

    :param given: the commit that the work begins on (`head`), and the worker (`by`); in another work tree than before,
        also its files, tests and name. All are empty if the work is done already.
    """
    current, session = step.current, step.session
    step.refuse_halted()
    is_stale = current.status is Status.REVIEWING and step.tree.digest != current.verified_tree
    may_begin = (Status.PENDING, Status.BLOCKED, *NOT_PASSED, *((Status.REVIEWING,) if is_stale else ()))
    why = "no attempt is left to begin" if current.status in FINISHED else f"attempt {current.attempt} has not ended"
    require_status(current, may_begin, why)
    require_attempt(current, at=step.change.at)
    _refuse_dependencies(session, current)
    if is_stale:
        # The verified files have changed: that attempt is over, and does not count as a failure.
        step.fail(FailureType.VERIFY_FAILURE, "stale: files were changed after the verify run", counts=False)
    head = given.pop("head", "")
    # Keep the first commit, unless the work moves: commits of a failed attempt are still there.
    fields = {"by": "", **given, "base": head if "memory" in given else current.base or head}
    attempt = current.attempt + (current.status is not Status.BLOCKED)
    step.record("attempt-began", attempts={PHASE: attempt}, limits=extend_limits(current), **fields)


def _refuse_dependencies(session: TaskSession, verification: Verification) -> None:
    for row in session.board.overview.rows:
        if row.name in verification.spec.depends_on and row.status not in FINISHED:
            raise NotAllowedError(
                f"{session.task} depends on {row.name!r}, which is {row.status}",
                remedy=f"do that one first: {begin_first(row)}",
            )


# --- step 1: the executor's report


@again_if_moved
def report_execution(board: TaskBoard, report: Attachment) -> TaskStatus:
    """Record the executor's report. One that can't be read is a failed attempt."""
    session, result, by = board.open_for(
        report, read_executor_result, "an executor's report", (Status.EXECUTING,), _WAITS
    )
    with session.step() as step:
        step.refuse_halted()
        step.refuse_foreign(by)
        if isinstance(result, ExecutorResult) and result.status == "success":
            refuse_unchanged(step.current, step.tree.digest)
        if step.current.status is not Status.EXECUTING:
            begin_attempt(step)
        if isinstance(result, MalformedResultError):
            step.fail(FailureType.MALFORMED, f"{result.problem}; {result.remedy}")
        else:
            _report(step, result, by=by)
        step.judge()
    return step.status


def _report(step: Step, result: ExecutorResult, *, by: str) -> None:
    overdue = late(step.current, step.change.at)
    if overdue:
        step.fail(FailureType.TIMEOUT, overdue, lines=tuple(result.evidence.splitlines()[:5]))
        return
    step.record(
        "executor-reported",
        result={key: each[:LONGEST] if isinstance(each, str) else each for key, each in spell_out(result).items()},
        by=by,
        tree=step.tree.digest,
        flags=list(_doubts(result, step.current.spec.verify)),
    )
    if result.status == "failure":
        step.fail(FailureType.EXECUTION_FAILURE, result.error)
    elif result.status == "blocked":
        step.fail(FailureType.BLOCKED, result.error, counts=False)
    elif not result.done_criteria_met:
        error = "the executor reports success, but also that the done-criteria are not met"
        step.fail(FailureType.EXECUTION_FAILURE, error)


def _doubts(result: ExecutorResult, command: str) -> Iterator[str]:
    """Yield the doubts about a report of success: another command than the task's, or an exit code other than 0."""
    claimed = result.verification
    if result.status != "success" or claimed is None:
        return
    if not is_same_command(claimed.command, command):
        yield f"the executor ran another command than the task's: `{cut(' '.join(claimed.command.split()))}`"
    if claimed.exit_code != 0:
        yield f"the executor reports success, but claims exit code {claimed.exit_code}"


# --- step 3: the reviewer's verdict, which is refused if it is not about the current evidence


@again_if_moved
def review(board: TaskBoard, attachment: Attachment) -> TaskStatus:
    """Record the reviewer's verdict. One that can't be read is a failed attempt."""
    session, verdict, by = board.open_for(attachment, read_verdict, "a verdict", (Status.REVIEWING,))
    with session.step() as step:
        step.refuse_halted()
        require_status(step.current, (Status.REVIEWING,), "there is no evidence to review")
        reading = ABSENT
        if isinstance(verdict, MalformedResultError):
            step.fail(FailureType.MALFORMED, f"{verdict.problem}; {verdict.remedy}")
        else:
            _refuse_verdict(step, verdict, by=by, written=attachment.written)
            if verdict.is_approved:
                _refuse_closed(step)
            reading = _record_verdict(step, verdict, by=by)
        step.judge(reading)
    return step.status


def _refuse_verdict(step: Step, verdict: Verdict, *, by: str, written: float | None) -> None:
    """Refuse a verdict by the executor, or about another attempt, run or tree than the current one."""
    current, check, report = step.current, step.current.check, step.current.report
    assert check is not None, "what is reviewed was verified"
    if report is not None and same_name(by, report.by):
        raise NotAllowedError(
            f"{by} executed this attempt, and can't review it",
            remedy="let another reviewer do it: --by NAME, or `by:` in the verdict",
        )
    again = "look at the evidence of this attempt (phase-gate verify show), then write the verdict again"
    if check.after != step.tree.digest:
        raise StaleSignalError(
            "files were changed after the verify run: its evidence is stale (verify-fresh)",
            remedy=f"phase-gate verify executor FILE --task {current.task}, and verify the current files",
        )
    if verdict.evidence and verdict.evidence != check.id:
        raise StaleSignalError(f"the verdict is for verify run {verdict.evidence}, this is {check.id}", remedy=again)
    if written is not None and written == int(written):
        written += 2  # the times of some file systems have a precision of two seconds
    if written is not None and datetime.fromtimestamp(written, UTC) < datetime.fromisoformat(check.ended_at):
        raise StaleSignalError("the verdict is older than the evidence that it is about", remedy=again)


def _refuse_closed(step: Step) -> None:
    """Refuse an approval with a closed Gate 1."""
    for guard in judge(step.case(), step.changes).gate_1.guards:
        if not guard.passes:
            problem = f"APPROVED, but Gate 1 is closed: {guard.name}: {guard.detail}"
            raise NotAllowedError(problem, remedy=guard.remedy)


def _record_verdict(step: Step, verdict: Verdict, *, by: str) -> Signal:
    overdue = late(step.current, step.change.at)
    if overdue:
        step.fail(FailureType.TIMEOUT, overdue, lines=verdict.findings[:5])
        return ABSENT
    flags = tuple(f"concern: {concern}" for concern in verdict.concerns)
    if verdict.confidence != "HIGH":
        flags = (f"confidence is {verdict.confidence}", *flags)
    if verdict.is_approved:
        waived = waived_files(step.change.state, step.changes, at=step.change.at)
        flags += tuple(f"waived: {path} changed, but the task does not list it" for path in waived)
        flags += step.changes.weak_because
    check = step.current.check
    assert check is not None, "what is reviewed was verified"
    word = Word(
        by=by,
        answer="approve" if verdict.is_approved else "reject",
        confidence=SURE[verdict.confidence],
        about={"tree": step.tree.digest, "check": check.id},
        said=spell_out(verdict),
        flags=flags,
    )
    step.record("reviewed", word=to_json(word))
    if verdict.is_approved:
        return Signal(answer="done", reason="; ".join(verdict.findings)[:500], by=by)
    lines = (re.sub(r"^(?:\d+\. |- )", "", line.strip()) for line in verdict.feedback.splitlines())
    issues = tuple(filter(None, lines)) or verdict.concerns
    if len(issues) > 1 and issues[0].endswith(":"):
        issues = issues[1:]
    step.fail(FailureType.ARCHITECT_REJECTION, "; ".join(issues) or "rejected", lines=issues)
    return Signal(answer="not-done", reason="; ".join(issues)[:500], by=by)


@again_if_moved
def fail_attempt(session: TaskSession, kind: FailureType, *, error: str, lines: tuple[str, ...] = ()) -> TaskStatus:
    """Record that the current step has failed: its agent ran out of time, or left no readable result."""
    with session.step() as step:
        step.fail(kind, error, lines=lines)
        step.judge()
    return step.status


# --- recorded decisions of a person about a task: skip it, force it, resume it, or end an attempt


#: The only accepted reasons for skipping a verify step.
KINDS = {
    "unavailable": "the verify command can't run: a service is down",
    "false-negative": "the verify command is wrong, but the work is right",
    "time-pressure": "user risk: there is no time, and a person takes responsibility",
}

#: Statuses in which an attempt can be ended.
_GOES_ON = (*IN_PROGRESS, Status.APPROVED)


def skip_task(session: TaskSession, person: Person, *, kind: str | None) -> tuple[TaskStatus, Mapping[str, Any]]:
    """Complete a task unverified. Returns its status, and the override's record."""
    if kind not in KINDS:
        problem = f"{kind!r} is not a kind of skip" if kind else "a skip needs a kind"
        remedy = "; ".join(f"{name}: {words}" for name, words in KINDS.items())
        raise UsageError(problem, remedy=f"add --kind, with one of: {remedy}")
    return _take_out(session, person, kind=kind)


def force_task(session: TaskSession, person: Person) -> tuple[TaskStatus, Mapping[str, Any]]:
    """Complete a task regardless of its evidence. Returns the same as `skip_task`."""
    return _take_out(session, person, kind="")


@again_if_moved
def _take_out(session: TaskSession, person: Person, *, kind: str) -> tuple[TaskStatus, Mapping[str, Any]]:
    with session.step() as step:
        current, change = step.current, step.change
        require_status(current, set(Status) - FINISHED, "it is finished already")
        person.require(change.opened.state, "a skip" if kind else "a forced completion")
        data = {"reason": person.reason, "by": person.by}
        override = override_record("skip" if kind else "force", change.state, **data, at=change.at)
        record = {**override, "mark": "unverified" if kind else "forced", "attempt": current.attempt, "skip_kind": kind}
        case = step.case()
        evaluation, events = forced_events(change.state, case.workflow, case.phase, record, root=case.root)
        overridden, _, *others = events
        change.record(overridden)
        # With the task's own advice, because the next step is not a run of pytest.
        step.evaluation = with_advice(evaluation, advise_task(step.current))
        change.record(judged_event(step.evaluation, at=change.at, by_person=True), *others)
    return step.status, record


def resume_task(session: TaskSession, person: Person) -> TaskStatus:
    """Resume a task that waits for a person, or whose last failure was fixed outside of its files."""
    verification = session.verification()
    failures = verification.failures[verification.resumed_after :]
    is_open = bool(failures) and not failures[-1].recovered and verification.status not in FINISHED
    if escalate(verification).level < 2 and not is_open:
        raise NotAllowedError(f"{session.task} does not wait for a person", remedy="phase-gate verify status")
    return _resume(session, person)


def resume_wave(board: TaskBoard, name: str, person: Person) -> tuple[str, ...]:
    """Resume a halted wave. Returns the tasks that failed in it."""
    if not board.overview.halted(name):
        shown = f"wave {name}" if name else "the list of tasks without a wave"
        remedy = "phase-gate verify status; for one task: phase-gate verify resume --task NAME"
        raise NotAllowedError(f"{shown} is not halted", remedy=remedy)
    failing = tuple(board.overview.waves[name])
    for task in failing:
        _resume(board.session(task), person)
    return failing


@again_if_moved
def _resume(session: TaskSession, person: Person) -> TaskStatus:
    with session.step() as step:
        person.require(step.change.opened.state, "resuming after a halt")
        step.record("task-resumed", reason=person.reason, by=person.by)
    return step.status


@again_if_moved
def abandon_attempt(session: TaskSession, *, reason: str, by: str) -> TaskStatus:
    """End an attempt on purpose. It does not count as a failure, and another attempt can begin."""
    if not reason.strip():
        raise UsageError("abandoning an attempt needs a reason", remedy='add --reason "..."')
    with session.step() as step:
        current = step.current
        if current.commit:
            raise NotAllowedError(
                f"{session.task} was committed as {current.commit[:10]}", remedy="give the new work a task of its own"
            )
        require_status(current, _GOES_ON, "it has no attempt in progress")
        _end_attempt(step, f"abandoned by {by}: {reason.strip()}")
    return step.status


@again_if_moved
def void_steps(session: TaskSession, reason: str) -> TaskStatus:
    """Void the steps that an agent recorded in its own turn. They do not count, and a person has to look at them.

    A commit stays in git, and waits for a person as well.
    """
    with session.step() as step:
        if step.current.status in _GOES_ON and not step.current.commit:
            _end_attempt(step, reason)
        step.record("steps-voided", voided=reason)
    return step.status


def _end_attempt(step: Step, error: str) -> None:
    """Record the end of an attempt that does not count as a failure of the work."""
    number = step.current.step
    if step.current.status is Status.APPROVED:
        step.record("phase-entered", phase=PHASE, how="rewind", remembered={}, run=None)
    step.fail(FailureType.EXECUTION_FAILURE, error, step=number, counts=False)
    step.judge()
