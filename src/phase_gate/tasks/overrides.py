"""What a person decides about a verify task, on the record: skip it, force it, or go on after a halt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.judging import judged_event
from phase_gate.gate.overrides import Person, forced_events, override_record, refuse_excuse
from phase_gate.gate.state import Event
from phase_gate.gate.verdict import Evaluation, with_advice
from phase_gate.storage.store import Transaction
from phase_gate.stores.shared import again_if_moved
from phase_gate.tasks.board import TaskBoard, TaskSession, TaskStatus, require_verification
from phase_gate.tasks.judging import advise_task
from phase_gate.tasks.model import FINISHED, IN_PROGRESS, PHASE, FailureType, Status
from phase_gate.tasks.rules import escalate, since_resumed
from phase_gate.values import Value

#: What a verify step may be skipped for; everything else is no reason.
KINDS = {
    "unavailable": "the verify command can't run: a service is down",
    "false-negative": "the verify command is wrong, and the work is not",
    "time-pressure": "user risk: there is no time, and a person answers for it",
}


class Overridden(Value):
    status: TaskStatus
    record: Mapping[str, Any]


def skip_task(session: TaskSession, person: Person, *, kind: str | None) -> Overridden:
    """Complete a task unverified."""
    if kind not in KINDS:
        said = f"{kind!r} is no kind of skip" if kind else "a skip needs a kind"
        remedy = "; ".join(f"{name}: {words}" for name, words in KINDS.items())
        raise UsageError(said, remedy=f"add --kind, with one of: {remedy}")
    return _take_out(session, person, mark="unverified", kind=kind, what="a skip")


def force_task(session: TaskSession, person: Person, *, confirm: Callable[[], None]) -> Overridden:
    """Complete a task whatever was measured.

    :param confirm: asks for the word, and raises where it is not given.
    """
    return _take_out(session, person, mark="forced", kind="", what="a forced completion", confirm=confirm)


@again_if_moved
def _take_out(
    session: TaskSession, person: Person, *, mark: str, kind: str, what: str, confirm: Callable[[], None] | None = None
) -> Overridden:
    task = session.task
    with session.transaction() as change:
        session.close_lost(change)
        current = require_verification(change.state, task)
        if current.status in FINISHED:
            raise NotAllowedError(f"{task} is {current.word} already", remedy="phase-gate verify status")
        person.require(change.opened.state, what)
        refuse_excuse(person.reason)
        if confirm is not None:
            confirm()
        override = override_record(
            "force" if mark == "forced" else "skip", change.state, reason=person.reason, by=person.by, at=change.at
        )
        record = {**override, "mark": mark, "skip_kind": kind, "attempt": current.attempt}
        workflow, phase = session.rules(change)
        evaluation, events = forced_events(change.state, workflow, phase, record, root=str(session.project.root))
        data = {"mark": mark, "skip_kind": kind, "reason": person.reason, "by": person.by}
        skipped = Event(kind="verification-skipped", data=data, at=change.at)
        # The task's own words: what follows is no run of pytest.
        change.record(skipped)
        advice = advise_task(require_verification(change.state, task))
        evaluation = with_advice(evaluation, advice)
        judged = judged_event(evaluation, at=change.at, by_person=True)
        change.record(*(judged if event.kind == "evaluated" else event for event in events))
    return Overridden(status=session.end_step(change, evaluation), record=record)


def resume_task(session: TaskSession, person: Person) -> TaskStatus:
    """Let a task go on that waits for a person, or whose last failure was mended outside of its files."""
    verification = session.verification()
    last = verification.last_failure
    is_open = last is not None and last in since_resumed(verification) and not last.recovered
    if escalate(verification).level < 2 and not (is_open and verification.status not in FINISHED):
        raise NotAllowedError(f"{session.task} does not wait for a person", remedy="phase-gate verify status")
    return session.end_step(_record(session, "task-resumed", person))


@again_if_moved
def abandon_attempt(session: TaskSession, *, reason: str, by: str) -> TaskStatus:
    """End an attempt on purpose: it counts as no failure, and the next one begins anew."""
    if not reason.strip():
        raise UsageError("an attempt is abandoned for a reason", remedy='add --reason "..."')
    with session.transaction() as change:
        session.close_lost(change)
        current = require_verification(change.state, session.task)
        if current.commit:
            raise NotAllowedError(
                f"{session.task} was committed as {current.commit[:10]}", remedy="give the new work a task of its own"
            )
        if current.status not in (*IN_PROGRESS, Status.APPROVED):
            following = advise_task(current).next_step
            raise NotAllowedError(f"no attempt of {session.task} goes on: it is {current.word}", remedy=following)
        evaluation = _end_attempt(session, change, f"abandoned by {by}: {reason.strip()}")
    return session.end_step(change, evaluation)


@again_if_moved
def void_steps(session: TaskSession, reason: str) -> TaskStatus:
    """Take back what an agent recorded in its own turn: nothing of it counts, and a person has to look.

    What was committed stays in git, and waits for a person as well.
    """
    with session.transaction() as change:
        session.close_lost(change)
        current = require_verification(change.state, session.task)
        evaluation = None
        if not current.commit and current.status in (*IN_PROGRESS, Status.APPROVED):
            evaluation = _end_attempt(session, change, reason)
        change.record(Event(kind="steps-voided", data={"reason": reason}))
    return session.end_step(change, evaluation)


def _end_attempt(session: TaskSession, change: Transaction, error: str) -> Evaluation:
    """Record the end of an attempt that counts as no failure of the work."""
    current = require_verification(change.state, session.task)
    if current.status is Status.APPROVED:
        data: dict[str, Any] = {"phase": PHASE, "how": "rewind", "remembered": {}, "run": None}
        change.record(Event(kind="phase-entered", data=data))
    tree = session.tree(current.spec)
    session.fail(change, FailureType.EXECUTION_FAILURE, step=current.step, error=error, tree=tree, counts=False)
    current = require_verification(change.state, session.task)
    return session.judge(change, session.changes(change.state, current, tree))


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
            _record(board.session(row.task), "wave-resumed", person, wave=name)
    board.refresh()
    return tuple(wave.failing)


@again_if_moved
def _record(session: TaskSession, kind: str, person: Person, **more: str) -> Transaction:
    with session.transaction() as change:
        require_verification(change.state, session.task)
        person.require(change.opened.state, "going on after a halt")
        refuse_excuse(person.reason)
        change.record(Event(kind=kind, data={"reason": person.reason, "by": person.by, **more}))
    return change
