"""The phases of a cycle or of a pipeline as a source of steps: each is the agent's turn in one iteration, or a vote.

`_reasons` decides what happens after a turn.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator

from phase_gate.claims.decision import Outcome as ClaimOutcome
from phase_gate.codec import to_json
from phase_gate.decisions.advancing import advance
from phase_gate.drive.clients import Roles
from phase_gate.drive.drive_state import Decision, DriveState, Outcome, find_drive, require_drive
from phase_gate.drive.loop import Played, Session, Step
from phase_gate.drive.prompt_user import ask_for_signal
from phase_gate.drive.turn import Turn
from phase_gate.errors import NotAllowedError
from phase_gate.gate.state import Event
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.store import DRIVE_NAME, DRIVER, TaskStore
from phase_gate.task import Task
from phase_gate.tasks.rules import seconds_between
from phase_gate.values import replace
from phase_gate.visible import count
from phase_gate.workflow.names import of_task, show_duration


class PhaseSource:
    def __init__(self, session: Session, roles: Roles, *, resumes: bool) -> None:
        self.session, self.roles, self.resumes = session, roles, resumes
        #: The present turn, and the decision after the last one.
        self._turn: Turn
        self._decision: Decision
        #: Notes for the agent's next prompt.
        self._notes: list[str] = []
        #: Whether the end of the drive is recorded.
        self._has_ended = True

    # --- the drive ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        store = self.session.project.store(DRIVER)
        store.make_folder()
        past = find_drive(store.read().state)
        self._has_ended = past is None or bool(past.outcome)
        # A drive on another machine: it has not ended, and has written recently.
        if store.alone().is_driven() or (not self._has_ended and store.is_driven()):
            raise _driven_already(store)
        hold = store.hold(DRIVE_NAME)
        try:
            yield
        finally:
            hold.release(has_ended=self._has_ended)

    def begin(self) -> None:
        session, task = self.session, self.session.task()
        past, settings = find_drive(task.state), session.settings
        agent = list(self.roles.usual.words)
        started = Event(
            kind="drive-started",
            data={
                "id": secrets.token_hex(4),
                "agent": agent,
                "settings": to_json(settings),
                "goal": task.store.keep("goal", session.goal) if session.goal else None,
                "resumed": self.resumes,
            },
        )
        task = _record_start(task, past, started)
        self._has_ended = False
        drive = require_drive(task.state)
        limits = f"at most {count(settings.budget.iterations, 'iteration')}, {show_duration(settings.budget.seconds)}"
        verb, spent = ("resumes", f"; spent: {drive.spent}") if self.resumes else ("begins", "")
        session.tell(
            "drive-started",
            f"drive {verb}: {' '.join(agent)} ({limits}; signal: {settings.signal}{spent})",
            task=session.project.task,
            agent=agent,
            resumed=self.resumes,
            done=drive.number,
        )
        # A circuit may be open, the budget spent, or Gate 1 open.
        self._settle(Turn(session, task, self.roles))

    def next(self) -> Step | Decision:
        session, turn = self.session, self._turn
        if turn.played is not None:
            if (step := turn.ask_voter()) is not None:
                return step
            self._finish(turn)
        task = turn.task
        if self._decision.ends:
            return self._end(task, self._decision)
        self._turn = Turn(session, _enter_phase(session, task), self.roles)
        return self._turn.start(self._notes)

    def take(self, step: Step, played: Played) -> None:
        """Take the agent's work, or a vote on it."""
        if self._turn.played is None:
            self._turn.take(played)
        else:
            self._turn.take_vote(played)

    def _finish(self, turn: Turn) -> None:
        """Judge the agent's work, and record the result."""
        turn.finish()
        self._settle(turn)
        decided = {"outcome": str(self._decision.outcome), "reason": self._decision.reason}
        turn.record_end(**decided)
        lines = () if self._decision.ends else (f"  verdict  {self._decision.reason}",)
        self.session.tell("iteration-ended", *lines, number=turn.number, **decided)

    def _settle(self, turn: Turn) -> None:
        """Decide, and ask for the signal of Gate 2 if the drive waits for it."""
        decision = _decide(turn)
        if decision.outcome is Outcome.PERSON and turn.task.current_status().status == "waiting":
            signal = ask_for_signal(self.session, decision.reason)
            if signal is not None:
                turn.give(signal)
            # A person has answered, so the drive no longer waits for that. The remaining reasons decide.
            decision = _decide(turn, is_answered=signal is not None)
        self._turn, self._decision, self._notes = turn, decision, turn.notes

    def _end(self, task: Task, decision: Decision) -> Decision:
        drive, name, outcome = require_drive(task.state), task.project.task, decision.outcome
        result = {"outcome": str(outcome), "reason": decision.reason, "exit_code": decision.exit_code}
        task = task.record(Event(kind="drive-ended", data={"drive": drive.id, **result}))
        self._has_ended = True
        following = task.current_status().next_command
        if outcome in (Outcome.BUDGET, Outcome.INTERRUPTED):
            resume, budget = "phase-gate drive --resume", self.session.settings.budget
            # What is spent has to grow, or the next drive would end at once.
            if outcome is Outcome.BUDGET and drive.number >= budget.iterations:
                resume += f" --iterations {2 * budget.iterations}"
            if outcome is Outcome.BUDGET and drive.seconds >= budget.seconds:
                resume += f" --time {2 * drive.seconds:.0f}s"
            following = of_task(resume, name)
        return replace(decision, next_command=following, spent=drive.spent)


def _enter_phase(session: Session, task: Task) -> Task:
    """Enter the next phase if the present one has exited, so that the agent works in a phase that has begun."""
    state = task.state
    if state.phase is None or state.is_done:
        workflow = task.project.workflow()
        if workflow.pipeline is None or workflow.first.tests != "none":
            return task  # its first run begins it
    elif state.is_stuck or not state.exited:
        return task
    advance(task, show=session.note)
    return session.task()


# --- what happens after a turn


def _decide(turn: Turn, *, is_answered: bool = False) -> Decision:
    outcome, reason = next(_reasons(turn, is_answered=is_answered))
    return Decision(outcome=outcome, reason=reason)


def _reasons(turn: Turn, *, is_answered: bool) -> Iterator[tuple[Outcome, str]]:
    """Yield the outcomes that apply, by priority: interrupt, circuit, gates, person, no progress, budget, continue.

    Completion requires both gates. A claim alone is never enough. Before the first turn, no agent has played.
    """
    session, task, played, outside = turn.session, turn.task, turn.played, turn.outside
    settings, state, standing = session.settings, task.state, task.current_status()
    status, reason = standing.status, standing.reason
    if played is None and (state.phase is None or state.is_done):
        status, reason = "unstarted", ""
    elif played is None and status == "needs-person":
        status = "unstarted"  # the user who starts the drive has seen why a person was called
    # Only this drive's cycle counts as done, not the previous one.
    is_over = played is not None and state.is_done and not (turn.began.is_done and state.cycle == turn.began.cycle)
    if is_over and not standing.is_open:
        outside = outside or f"the cycle is done, and {reason}"
    if session.is_asked_to_end:
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
        yield Outcome.PERSON, f"Gate 1 of {turn.phase.name} is open: a person gives the signal of Gate 2"
    if turn.claim is not None and turn.claim.decision is ClaimOutcome.ASK and not state.exited:
        yield Outcome.PERSON, turn.claim.reason
    if turn.idle >= (turn.phase.breaker.no_progress or float("inf")) and not state.exited:
        yield Outcome.HALTED, f"the agent changed nothing in {count(turn.idle, 'iteration')}; {reason}"
    budget = settings.budget
    for is_spent, what in (
        (require_drive(state).number >= budget.iterations, count(budget.iterations, "iteration")),
        (turn.spent >= budget.seconds, show_duration(budget.seconds)),
    ):
        if is_spent:
            yield Outcome.BUDGET, f"the budget of {what} is spent" + (f"; {reason}" if reason else "")
    yield Outcome.GO_ON, reason


# --- the record of the drive


@again_if_moved
def _record_start(task: Task, past: DriveState | None, started: Event) -> Task:
    with task.transaction() as change:
        found = find_drive(change.state)
        if found is not None and not found.outcome and (past is None or found.id != past.id):
            raise _driven_already(task.store)  # another machine was faster
        task.store.close_lost(change)
        if past is not None and past.began_at:
            change.record(_lost(past, at=change.at))
        change.record(started)
    return task.after(change)


def _lost(drive: DriveState, *, at: str) -> Event:
    """Return the end of an iteration whose driver died. Its time counts up to the agent's time limit."""
    passed = min(max(seconds_between(drive.began_at, at), 0.0), drive.settings.time_limit)
    lost = {"how": "lost", "outcome": "lost", "reason": "the driver died"}
    data = {"drive": drive.id, "number": drive.number, "seconds": round(passed, 3), "idle": drive.idle, **lost}
    return Event(kind="iteration-ended", data=data)


def _driven_already(store: TaskStore) -> NotAllowedError:
    return NotAllowedError(
        f"task {store.task} is being driven already", remedy="wait for that drive to end, or interrupt it"
    )
