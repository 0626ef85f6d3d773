"""An iteration while it goes on, and what follows from it: the one priority chain."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

from phase_gate.claims.decision import Decision as ClaimDecision
from phase_gate.claims.decision import Outcome as ClaimOutcome
from phase_gate.codec import to_json
from phase_gate.decisions.signalling import give_signal
from phase_gate.drive.clients import Client, Roles
from phase_gate.drive.model import Decision, DriveState, Iteration, Outcome, require_drive
from phase_gate.drive.people import ask_for_signal
from phase_gate.drive.step import Played, Session
from phase_gate.errors import NotAllowedError
from phase_gate.gate.signals import Signal
from phase_gate.gate.state import Event
from phase_gate.storage.signal_file import read_signal_file
from phase_gate.task import Task
from phase_gate.tasks.artifacts import digest_of
from phase_gate.tasks.pipeline import find_pipeline
from phase_gate.tasks.routing import rules_of
from phase_gate.visible import count
from phase_gate.workflow.model import Phase
from phase_gate.workflow.names import show_duration


class Turn:
    """An iteration while it goes on."""

    def __init__(self, task: Task, drive: DriveState, roles: Roles, client: Client, phase: Phase) -> None:
        self.roles, self.client, self.phase = roles, client, phase
        self.drive, self.number = drive.id, drive.number + 1
        self.mark = secrets.token_hex(16)
        self.folder = task.store.drive_folder / drive.id
        self.began_done, self.cycle = task.state.is_done, task.state.cycle
        self.before = progress_of(task)
        waiting = read_signal_file(task.store.signal_file, spent=task.state.spent_signal)
        #: Which signal waits in the task's folder; empty: none does.
        self.signal_before = "" if waiting is None else waiting.identity
        self.at = ""
        self.idle, self.spent = drive.idle, drive.seconds
        self.suite_seconds = self.waited = 0.0
        #: For the next prompt.
        self.notes: list[str] = []
        self.played: Played | None = None

    def file(self, name: str) -> Path:
        return self.folder / f"{self.number:04}.{name}"

    def note(self, text: str) -> None:
        """Keep something for the next prompt."""
        self.notes += [text] if text else []

    def end_event(self, outcome: str, reason: str) -> Event:
        played = self.played
        assert played is not None, "the agent has ended"
        row = Iteration(
            drive=self.drive,
            number=self.number,
            phase=self.phase.name,
            at=self.at,
            how="waits" if played.is_busy else played.how,
            code=played.code,
            agent_seconds=played.seconds,
            suite_seconds=self.suite_seconds,
            waited_seconds=self.waited,
            outcome=outcome,
            reason=reason,
            counts=not played.is_busy,
        )
        idle = 0 if played.is_busy else self.idle
        return Event(kind="iteration-ended", data={"drive": self.drive, "iteration": to_json(row), "idle": idle})


def progress_of(task: Task) -> tuple[object, ...]:
    """Return how far the work has come; the same twice: the agent did nothing."""
    state = task.state
    documents = () if find_pipeline(state) is None else rules_of(task.rules).artifacts.values()
    written = tuple(digest_of(task.project.root, each) for each in documents)
    return (task.tree.digest, state.phase, state.exited, state.cycle, state.facts, written)


# --- what follows


def give_answer(session: Session, task: Task, signal: Signal) -> tuple[str, Task]:
    """Give a signal about the last run; return what there is to say of it in the next prompt, and the task after it."""
    try:
        evaluation, task = give_signal(task, signal, show=session.note, show_progress=session.note)
    except NotAllowedError as error:
        session.note(f"the signal is refused: {error.problem}")
        return f"the signal was refused: {error.problem}", session.task()
    if signal.answer == "not-done":
        return f"{signal.by} says that it is not done: {signal.reason}", task
    if signal.answer == "done" and not evaluation.can_exit:
        return f"the signal came too early: {evaluation.reason}", task
    return "", task


def settle(
    session: Session, task: Task, turn: Turn | None, claim: ClaimDecision | None = None
) -> tuple[Decision, str, Task]:
    """Decide, and ask for the signal of Gate 2 where that is what the drive waits for.

    Return the decision, what there is to say of a signal in the next prompt, and the task after it.
    """
    decision = decide(session, task, turn, claim)
    waits = decision.outcome is Outcome.PERSON and task.standing().status == "waiting"
    signal = ask_for_signal(session, decision) if waits else None
    if signal is None:
        return decide(session, task, turn, claim), "", task
    note, task = give_answer(session, task, signal)
    # The person has answered, so that is no reason to wait any more: what follows is said by the rest.
    return decide(session, task, turn, claim, is_answered=True), note, task


def decide(
    session: Session,
    task: Task,
    turn: Turn | None,
    claim: ClaimDecision | None = None,
    *,
    outside: str = "",
    is_answered: bool = False,
) -> Decision:
    """Return what follows: interrupt, circuit, both gates, a person, no progress, budget, go on; the first that fits.

    Both gates are the chain's confident completion; a claim alone never is.

    :param turn: None before the first one: a circuit may be open then, a budget spent, Gate 1 open.
    :param outside: what happened beside the drive while its agent worked, and only a person may do.
    """
    reasons = _reasons(session, task, turn, claim, outside, is_answered)
    outcome, reason = next(reasons)
    return Decision(outcome=outcome, reason=reason)


def _reasons(
    session: Session, task: Task, turn: Turn | None, claim: ClaimDecision | None, outside: str, is_answered: bool
) -> Iterator[tuple[Outcome, str]]:
    settings, state, standing, drive = session.settings, task.state, task.standing(), require_drive(task.state)
    played = None if turn is None else turn.played
    is_busy = played is not None and played.is_busy
    status, reason = standing.status, standing.reason
    if turn is None and (state.phase is None or state.is_done):
        status, reason = "unstarted", ""
    elif turn is None and status == "needs-person":
        status = "unstarted"  # a person who starts it has seen what a person was called for
    # The cycle that is done is the one of this drive, and not the one before it.
    is_over = turn is not None and state.is_done and not (turn.began_done and state.cycle == turn.cycle)
    if is_over and not standing.is_open:
        outside = outside or f"the cycle is done, and {reason}"
    if session.is_asked_to_end or (played is not None and played.how == "interrupted"):
        yield Outcome.INTERRUPTED, "the user interrupted it"
    if status in ("halted", "stuck"):
        yield Outcome.HALTED, reason
    has_reached = state.exited and standing.is_open and state.phase == settings.until
    if (is_over or has_reached) and not outside:
        yield Outcome.DONE, reason
    if outside:
        yield Outcome.PERSON, outside
    if played is not None and played.trouble:
        yield Outcome.PERSON, f"the agent can't work: {played.trouble}"
    if status == "needs-person":
        yield Outcome.PERSON, reason
    if status == "waiting" and not state.exited and settings.signal == "ask" and not is_answered:
        phase = state.phase if turn is None else turn.phase.name
        yield Outcome.PERSON, f"Gate 1 of {phase} is open: a person gives the signal of Gate 2"
    if claim is not None and claim.outcome is ClaimOutcome.ASK and not state.exited:
        yield Outcome.PERSON, claim.reason
    if turn is not None:
        turn.idle = 0 if is_busy or progress_of(task) != turn.before else drive.idle + 1
        if turn.idle >= settings.idle_limit and not state.exited:
            yield Outcome.STUCK, f"the agent changed nothing in {count(turn.idle, 'iteration')}; {reason}"
    budget, spent = settings.budget, drive.seconds if turn is None else turn.spent
    for is_spent, what in (
        (drive.counted - is_busy >= budget.iterations, count(budget.iterations, "iteration")),
        (spent >= budget.seconds, show_duration(budget.seconds)),
    ):
        if is_spent:
            yield Outcome.BUDGET, f"the budget of {what} is spent" + (f"; {reason}" if reason else "")
    yield Outcome.GO_ON, reason
