"""Take one verify task through its three steps, attempt by attempt, until it is finished or waits for something."""

from __future__ import annotations

import time

from phase_gate.drive.chain import Decision, Outcome
from phase_gate.drive.list_session import ListSession
from phase_gate.drive.steps import StepEnd, execute, give_up, judge, verify
from phase_gate.drive.waiting import how_long
from phase_gate.storage import store
from phase_gate.tasks.model import FINISHED, Status, Verification
from phase_gate.tasks.prompts import find_dependency
from phase_gate.tasks.rules import RETRIES, escalate, late, seconds_between

_PAUSE = 0.1


def pause(seconds: float) -> None:
    """Wait a moment; a test lets its own clock go on instead."""
    time.sleep(seconds)


def drive_one(session: ListSession, task: str, *, again: bool = False) -> Decision:
    """Drive the task. `GO_ON` is a task that waits for another one, which `reason` names.

    :param again: a person wants it to be tried again, though it is blocked.
    """
    _pick_up(session, task)
    while True:
        decision = _look(session, task, again=again)
        if decision is not None:
            return decision
        again = False
        end = _step(session, task)
        if end.is_busy:
            _wait(session, task, how_long(session.settings.retry_wait, session.waits, float("inf")), end.reason)
            session.waits += 1
        elif end.outcome is not Outcome.GO_ON:
            return Decision(outcome=end.outcome, reason=end.reason)


def _pick_up(session: ListSession, task: str) -> None:
    """Go on with an attempt that an earlier driver, or a person, began; one whose time is mostly over begins anew."""
    verification = session.task(task).verification()
    if verification.untimed or verification.status not in (Status.EXECUTING, Status.REVIEWING):
        return
    began, step = verification.began_at, "executor"
    if verification.status is Status.REVIEWING:
        assert verification.check is not None, "what is reviewed was verified"
        began, step = verification.check.ended_at, "review"
    passed = seconds_between(began, store.now())
    if passed > verification.limits[step] / 2 or late(verification, store.now()):
        give_up(session, task, "it was left alone for too long")


def _look(session: ListSession, task: str, *, again: bool) -> Decision | None:
    """Return the end of the task's drive; None: a step follows."""
    board = session.board(task)
    verification = board.session(task).verification()
    status = verification.status
    if status in FINISHED:
        return Decision(outcome=Outcome.DONE, reason=verification.word)
    if session.interrupts.is_asked_to_end:
        return Decision(outcome=Outcome.INTERRUPTED, reason="the user interrupted it")
    halted = board.overview.halted(verification.spec.wave)
    if halted:
        return Decision(outcome=Outcome.HALTED, reason=halted)
    escalation = escalate(verification)
    if escalation.level >= 2:
        return Decision(outcome=Outcome.PERSON, reason=escalation.reason)
    if status is Status.BLOCKED and not again:
        dependency = find_dependency(verification, board.overview)
        if dependency.task and not dependency.is_complete:
            return Decision(outcome=Outcome.GO_ON, reason=dependency.task)
        row = board.overview.row(dependency.task)
        if row is not None and row.last_step_at > verification.last_step_at:
            return None  # it was done meanwhile
        return Decision(outcome=Outcome.PERSON, reason=f"blocked: {_error(verification)}; {dependency.way}")
    return None


def _step(session: ListSession, task: str) -> StepEnd:
    verification = session.task(task).verification()
    if verification.status is Status.VERIFYING:
        return verify(session, task)
    if verification.status is Status.REVIEWING:
        return judge(session, task)
    last = verification.last_failure
    if last is not None and verification.status in (Status.FAILED, Status.REJECTED) and last.type in RETRIES:
        delay = RETRIES[last.type].delay - seconds_between(last.at, store.now())
        if delay > 0:
            _wait(session, task, delay, "a time-out is tried again after a while")
            if session.interrupts.is_asked_to_end:
                return StepEnd(outcome=Outcome.INTERRUPTED, reason="the user interrupted it")
    return execute(session, task)


def _wait(session: ListSession, task: str, seconds: float, why: str) -> None:
    """Wait by the clock of the ledger, as long as the user allows."""
    session.tell("waits", task=task, seconds=round(seconds, 1), reason=why)
    began = store.now()
    # A little longer: the rules must not see the last millisecond of it.
    attempt = session.task(task).verification().attempt
    while (left := seconds + 0.01 - seconds_between(began, store.now())) > 0 and not session.interrupts.is_asked_to_end:
        session.show(task, "waits", attempt, max(0.0, seconds - left), seconds)
        pause(min(_PAUSE, left))


def _error(verification: Verification) -> str:
    report = verification.report
    return "" if report is None else " ".join(str(report.result.get("error", "")).split())[:200]
