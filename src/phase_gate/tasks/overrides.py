"""What a person decides about a verify task, on the record: skip it, force it, let it go on, or end an attempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.judging import judged_event
from phase_gate.gate.overrides import Person, forced_events, override_record, refuse_excuse
from phase_gate.gate.verdict import with_advice
from phase_gate.stores.shared import again_if_moved
from phase_gate.tasks.board import Step, TaskBoard, TaskSession, TaskStatus
from phase_gate.tasks.judging import advise_task, require_status
from phase_gate.tasks.model import FINISHED, IN_PROGRESS, PHASE, FailureType, Status
from phase_gate.tasks.rules import escalate, since_resumed

#: What a verify step may be skipped for; everything else is no reason.
KINDS = {
    "unavailable": "the verify command can't run: a service is down",
    "false-negative": "the verify command is wrong, and the work is not",
    "time-pressure": "user risk: there is no time, and a person answers for it",
}

#: Where an attempt can be ended.
_GOES_ON = (*IN_PROGRESS, Status.APPROVED)


def skip_task(session: TaskSession, person: Person, *, kind: str | None) -> tuple[TaskStatus, Mapping[str, Any]]:
    """Complete a task unverified. Returns where it stands, and the override's record."""
    if kind not in KINDS:
        said = f"{kind!r} is no kind of skip" if kind else "a skip needs a kind"
        remedy = "; ".join(f"{name}: {words}" for name, words in KINDS.items())
        raise UsageError(said, remedy=f"add --kind, with one of: {remedy}")
    return _take_out(session, person, mark="unverified", kind=kind, confirm=lambda: None)


def force_task(
    session: TaskSession, person: Person, *, confirm: Callable[[], None]
) -> tuple[TaskStatus, Mapping[str, Any]]:
    """Complete a task whatever was measured. Returns as `skip_task`.

    :param confirm: asks for the word, and raises where it is not given.
    """
    return _take_out(session, person, mark="forced", kind="", confirm=confirm)


@again_if_moved
def _take_out(
    session: TaskSession, person: Person, *, mark: str, kind: str, confirm: Callable[[], None]
) -> tuple[TaskStatus, Mapping[str, Any]]:
    with session.step() as step:
        current, change = step.current, step.change
        require_status(current, set(Status) - FINISHED, "it is finished already")
        person.require(change.opened.state, "a skip" if kind else "a forced completion")
        refuse_excuse(person.reason)
        confirm()
        said = {"reason": person.reason, "by": person.by}
        override = override_record("skip" if kind else "force", change.state, **said, at=change.at)
        record = {**override, "mark": mark, "skip_kind": kind, "attempt": current.attempt}
        case = step.case()
        evaluation, events = forced_events(change.state, case.workflow, case.phase, record, root=case.root)
        step.record("verification-skipped", mark=mark, skip_kind=kind, **said)
        # The task's own words: what follows is no run of pytest.
        step.evaluation = with_advice(evaluation, advise_task(step.current))
        judged = judged_event(step.evaluation, at=change.at, by_person=True)
        change.record(*(judged if event.kind == "evaluated" else event for event in events))
    return step.status, record


def resume_task(session: TaskSession, person: Person) -> TaskStatus:
    """Let a task go on that waits for a person, or whose last failure was mended outside of its files."""
    verification = session.verification()
    last = verification.last_failure
    is_open = last is not None and last in since_resumed(verification) and not last.recovered
    if escalate(verification).level < 2 and not (is_open and verification.status not in FINISHED):
        raise NotAllowedError(f"{session.task} does not wait for a person", remedy="phase-gate verify status")
    return _resume(session, "task-resumed", person)


def resume_wave(board: TaskBoard, name: str, person: Person) -> tuple[str, ...]:
    """Let a halted wave go on. Returns the tasks that failed in it."""
    wave = board.overview.wave(name)
    if wave is None or not wave.is_halted:
        known = "is not known" if wave is None and name else "is not halted"
        shown = f"wave {name}" if name else "the list of tasks without a wave"
        raise NotAllowedError(
            f"{shown} {known}", remedy="phase-gate verify status; for one task: phase-gate verify resume --task NAME"
        )
    for row in board.overview.rows:
        if row.task in wave.failing:
            _resume(board.session(row.task), "wave-resumed", person, wave=name)
    return tuple(wave.failing)


@again_if_moved
def _resume(session: TaskSession, kind: str, person: Person, **more: str) -> TaskStatus:
    with session.step() as step:
        person.require(step.change.opened.state, "going on after a halt")
        refuse_excuse(person.reason)
        step.record(kind, reason=person.reason, by=person.by, **more)
    return step.status


@again_if_moved
def abandon_attempt(session: TaskSession, *, reason: str, by: str) -> TaskStatus:
    """End an attempt on purpose: it counts as no failure, and the next one begins anew."""
    if not reason.strip():
        raise UsageError("an attempt is abandoned for a reason", remedy='add --reason "..."')
    with session.step() as step:
        current = step.current
        if current.commit:
            raise NotAllowedError(
                f"{session.task} was committed as {current.commit[:10]}", remedy="give the new work a task of its own"
            )
        require_status(current, _GOES_ON, "no attempt of it goes on")
        _end_attempt(step, f"abandoned by {by}: {reason.strip()}")
    return step.status


@again_if_moved
def void_steps(session: TaskSession, reason: str) -> TaskStatus:
    """Take back what an agent recorded in its own turn: nothing of it counts, and a person has to look.

    What was committed stays in git, and waits for a person as well.
    """
    with session.step() as step:
        if step.current.status in _GOES_ON and not step.current.commit:
            _end_attempt(step, reason)
        step.record("steps-voided", reason=reason)
    return step.status


def _end_attempt(step: Step, error: str) -> None:
    """Record the end of an attempt that counts as no failure of the work."""
    number = step.current.step
    if step.current.status is Status.APPROVED:
        step.record("phase-entered", phase=PHASE, how="rewind", remembered={}, run=None)
    step.fail(FailureType.EXECUTION_FAILURE, error, step=number, counts=False)
    step.judge()
