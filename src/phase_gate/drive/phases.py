"""The phases of a cycle or of a pipeline as a source of steps: each step is the agent's turn in one iteration."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator
from datetime import datetime

from phase_gate.codec import to_json
from phase_gate.decisions.advancing import advance
from phase_gate.drive.clients import Roles
from phase_gate.drive.iteration import judge_turn
from phase_gate.drive.model import Decision, DriveState, Iteration, OpenIteration, Outcome, find_drive, require_drive
from phase_gate.drive.people import ask_for_guidance
from phase_gate.drive.prompt import write_prompt
from phase_gate.drive.step import OWNER, Played, Session, Step, make_answer
from phase_gate.drive.turn import Turn, settle
from phase_gate.drive.view import Working
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError
from phase_gate.evidence.process.tree import end_marked
from phase_gate.gate.state import Event
from phase_gate.storage.files import REAL, make_folder
from phase_gate.storage.store import DRIVE_NAME, TaskStore
from phase_gate.stores.shared import again_if_moved
from phase_gate.task import Task
from phase_gate.tasks.asking import write_skeletons
from phase_gate.tasks.pipeline import find_pipeline
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import of_task

#: Drives whose prompts and transcripts are kept.
_KEPT_DRIVES = 5


class PhaseSource:
    def __init__(self, session: Session, roles: Roles, *, resumes: bool) -> None:
        self.session, self.roles, self.resumes = session, roles, resumes
        self._decision: Decision | None = None
        self._task: Task | None = None
        self._turn: Turn | None = None
        #: What there is to say to the agent in its next prompt.
        self._notes: tuple[str, ...] = ()
        #: The run that we made last; another one in the state is not ours.
        self._last_run: str | None = None

    # --- the drive ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        store = self.session.project.store(OWNER)
        store.make_folder()
        past = find_drive(store.look().state)
        # On another machine: one that has not ended, and wrote not too long ago.
        is_open = past is not None and not past.outcome
        if store.alone().is_driven() or (is_open and store.is_driven()):
            raise _driven_already(store)
        hold = store.hold(DRIVE_NAME)
        try:
            yield
        finally:
            hold.release(has_ended=_has_ended(store))

    def begin(self) -> None:
        """Record that it begins, or goes on; end what an earlier driver left running."""
        session, task = self.session, self.session.task()
        past, settings = find_drive(task.state), session.settings
        if self.resumes and (past is None or not past.is_resumable):
            raise NotAllowedError(
                "no drive of this task is unfinished" if past is None else "the last drive of this task came to an end",
                remedy=of_task("phase-gate drive -- AGENT", task.project.task),
            )
        started = Event(
            kind="drive-started",
            data={
                "id": secrets.token_hex(4),
                "agent": list(self.roles.usual.words),
                "settings": to_json(settings),
                "goal": task.store.keep("goal", session.goal) if session.goal else None,
                "resumed": self.resumes,
            },
        )
        self._task = task = _record_start(task, past, started)
        if past is not None and past.open is not None and end_marked(past.open.mark):
            session.note(f"the driver of iteration {past.open.number} died: what its agent left running is ended")
        drive = require_drive(task.state)
        _forget_old_transcripts(task.store)
        session.tell(
            "drive-started",
            task=session.project.task,
            root=str(session.project.root),
            agents={"agent": list(self.roles.usual.words)},
            signal=settings.signal,
            iterations=settings.budget.iterations,
            seconds=settings.budget.seconds,
            resumed=self.resumes,
            done=drive.counted,
            spent=drive.seconds,
        )

    def next(self) -> Step | Decision:
        session, task, decision = self.session, self._task, self._decision
        assert task is not None, "it began"
        if decision is None:
            decision, note, task = settle(session, task, None)
            self._notes = (note,) if note else ()
        if decision.ends:
            said = ask_for_guidance(session, task, decision)
            if not said:
                return self._end(task, decision)
            self._notes = (*self._notes, f"a person says: {said}")
            task = session.task()
        return self._begin_turn(_enter_phase(session, task))

    def take(self, step: Step, played: Played) -> None:
        """Judge what the agent left, and record it."""
        session, turn = self.session, self._turn
        assert turn is not None, "a step was taken"
        turn.played = played
        try:
            decision, task = judge_turn(session, turn, played, self._last_run)
        except BaseException as error:
            # The state can't be trusted or written, or a fault of ours: what can be recorded is.
            reason = error.problem if isinstance(error, PhaseGateError) else type(error).__name__
            with contextlib.suppress(StateError, OSError):
                session.task().record(turn.end_event("error", reason))
            raise
        self._task, self._decision = _record_end(task, turn, decision), decision
        if not played.is_busy:  # then its prompt was never read
            self._notes = tuple(turn.notes)
        if turn.suite_seconds:
            self._last_run = None if task.state.last_run is None else task.state.last_run.id
        session.tell("iteration-ended", number=turn.number, outcome=str(decision.outcome), reason=decision.reason)

    def fail(self, reason: str) -> None:
        with contextlib.suppress(PhaseGateError, OSError):
            task = self.session.task()
            task.record(_drive_ended(task, "error", reason, None))

    def _end(self, task: Task, decision: Decision) -> Decision:
        task = task.record(_drive_ended(task, str(decision.outcome), decision.reason, decision.exit_code))
        drive, name = require_drive(task.state), task.project.task
        doubled = self.session.settings.budget.iterations * 2
        ways = {
            Outcome.BUDGET: of_task(f"phase-gate drive --resume --iterations {doubled}", name),
            Outcome.INTERRUPTED: of_task("phase-gate drive --resume", name),
            Outcome.STUCK: of_task("phase-gate explain", name),
        }
        return Decision(
            outcome=decision.outcome,
            reason=decision.reason,
            next_command=ways.get(decision.outcome) or task.standing().next_command,
            told={"iterations": drive.counted, "seconds": drive.seconds},
        )

    # --- a turn ------------------------------------------------------------------------------------------------------

    def _begin_turn(self, task: Task) -> Step:
        """Write the prompt and the start record."""
        session, settings, store = self.session, self.session.settings, task.store
        workflow, phase = _phase_of_work(task)
        drive = require_drive(task.state)
        turn = self._turn = Turn(task, drive, self.roles, self.roles.choose(workflow, phase), phase)
        store.make_folder()
        make_folder(REAL, store.drive_folder)
        answer, prompt = make_answer(session, turn.folder, "signal"), turn.file("agent.md")
        if find_pipeline(task.state) is not None and task.state.phase == phase.name:
            written, _ = write_skeletons(task, phase, votes=False)
            if written:
                session.note(f"to be filled in: {', '.join(written)}")
        # Not of every iteration: nothing may have changed, or the client was busy.
        logs = sorted(turn.folder.glob("*.tests.log"))
        text = write_prompt(
            session,
            task,
            workflow,
            phase,
            number=turn.number,
            notes=self._notes,
            log=logs[-1] if logs else None,
            answer=answer,
        )
        row = OpenIteration(number=turn.number, phase=phase.name, at="", mark=turn.mark)
        task = task.record(Event(kind="iteration-started", data={"drive": drive.id, "iteration": to_json(row)}))
        opened = require_drive(task.state).open
        assert opened is not None, "it was recorded"
        turn.at = opened.at
        session.tell("iteration-started", number=turn.number, phase=phase.name, prompt=session.relative(prompt))
        left = max(1.0, settings.budget.seconds - drive.seconds)
        limit = min(settings.time_limit, left)
        given = {"PHASE_GATE_TASK": session.project.task}
        if "PHASE_GATE_DIR" in session.project.environment:
            given["PHASE_GATE_DIR"] = str(session.project.state_folder)
        return Step(
            client=turn.client,
            store=store,
            text=text,
            prompt=prompt,
            answer=answer,
            mark=turn.mark,
            working=Working(role="agent", where=phase.name, number=turn.number, limit=limit, spent=drive.seconds),
            environment=given,
            left=left,
        )


def _phase_of_work(task: Task) -> tuple[Workflow, Phase]:
    """Return the rules and the phase that the agent works in: the present one, or the first of a cycle to begin."""
    phase = task.rules.phase(task.state.phase or "")
    if phase is not None:
        return task.rules, phase
    workflow = task.project.workflow()
    return workflow, workflow.first


def _enter_phase(session: Session, task: Task) -> Task:
    """Enter the phase that follows, where the present one has exited: the agent works in a phase that has begun."""
    state = task.state
    if state.phase is None or state.is_done:
        workflow = task.project.workflow()
        if workflow.pipeline is None or workflow.first.tests != "none":
            return task  # its first run begins it
    elif state.is_stuck or not state.exited:
        return task
    advance(task, template=False, show=session.note)
    return session.task()


# --- on the record


@again_if_moved
def _record_start(task: Task, past: DriveState | None, started: Event) -> Task:
    with task.transaction() as change:
        found = find_drive(change.state)
        if found is not None and not found.outcome and (past is None or found.id != past.id):
            raise _driven_already(task.store)  # another machine was first
        task.store.close_lost(change)
        if past is not None and past.open is not None:
            change.record(_lost(past, past.open, at=change.at))
        change.record(started)
    return task.after(change)


@again_if_moved
def _record_end(task: Task, turn: Turn, decision: Decision) -> Task:
    with task.transaction() as change:
        task.store.close_lost(change)
        change.record(turn.end_event(str(decision.outcome), decision.reason))
    return task.after(change)


def _drive_ended(task: Task, outcome: str, reason: str, code: int | None) -> Event:
    data = {"drive": require_drive(task.state).id, "outcome": outcome, "reason": reason, "exit_code": code}
    return Event(kind="drive-ended", data=data)


def _lost(drive: DriveState, opened: OpenIteration, *, at: str) -> Event:
    """Return how an iteration ended whose driver was killed. Of its time at most the limit counts."""
    limit = drive.settings.time_limit if opened.agent_seconds is None else opened.agent_seconds
    passed = (datetime.fromisoformat(at) - datetime.fromisoformat(opened.at)).total_seconds()
    row = Iteration(
        drive=drive.id,
        number=opened.number,
        phase=opened.phase,
        at=opened.at,
        how="lost",
        agent_seconds=round(min(max(passed, 0.0), limit), 3),
        outcome="lost",
        reason="the driver was killed",
    )
    return Event(kind="iteration-ended", data={"drive": drive.id, "iteration": to_json(row), "idle": drive.idle})


def _has_ended(store: TaskStore) -> bool:
    """Tell whether the record of the drive is closed: a shared store may be away by now."""
    with contextlib.suppress(StateError):
        drive = find_drive(store.alone().look().state)
        return drive is None or bool(drive.outcome)
    return False


def _driven_already(store: TaskStore) -> NotAllowedError:
    return NotAllowedError(
        f"task {store.task} is being driven already", remedy="wait for that drive to end, or interrupt it"
    )


def _forget_old_transcripts(store: TaskStore) -> None:
    """Remove what the drives before the last few have left; the ledger keeps what they came to."""
    folders = [path for path in store.drive_folder.glob("*") if path.is_dir() and not path.is_symlink()]
    for folder in sorted(folders, key=lambda path: path.stat().st_mtime)[:-_KEPT_DRIVES]:
        shutil.rmtree(folder, ignore_errors=True)
