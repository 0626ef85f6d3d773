"""The phases of a cycle or of a pipeline as a source of steps: each step is the agent's turn in one iteration."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator
from datetime import datetime

from phase_gate.codec import to_json
from phase_gate.decisions.advancing import advance
from phase_gate.drive.agent import Played, Step, make_answer
from phase_gate.drive.chain import Decision, Outcome, Seen, decide
from phase_gate.drive.clients import Roles
from phase_gate.drive.judging import Turn, ask_for_signal, give_answer, judge_turn, progress_of, see, waiting_signal
from phase_gate.drive.loop import End
from phase_gate.drive.model import DriveState, Iteration, OpenIteration, find_drive, require_drive
from phase_gate.drive.pipelines import guide, prepare_phase, tell_needs
from phase_gate.drive.prompting import Situation, write_prompt
from phase_gate.drive.session import OWNER, Session, Working
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError
from phase_gate.evidence.process.tree import end_marked
from phase_gate.gate.state import Event
from phase_gate.storage.files import REAL, make_folder
from phase_gate.storage.store import DRIVE_NAME, TaskStore
from phase_gate.stores.shared import again_if_moved
from phase_gate.task import Task
from phase_gate.values import Value, replace
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import of_task
from phase_gate.workflow.settings import DriveSettings

#: Drives whose prompts and transcripts are kept.
_KEPT_DRIVES = 5


class Order(Value):
    """What is to be driven, and how."""

    roles: Roles
    settings: DriveSettings
    #: What is to be built; empty where that was not told.
    goal: str = ""
    resumes: bool = False


class PhaseSource:
    def __init__(self, session: Session, order: Order) -> None:
        self.session, self.order = session, order
        self._decision: Decision | None = None
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
        session, order, task = self.session, self.order, self.session.task()
        past = find_drive(task.state)
        if order.resumes and (past is None or not past.is_resumable):
            raise NotAllowedError(
                "no drive of this task is unfinished" if past is None else "the last drive of this task came to an end",
                remedy=of_task("phase-gate drive -- AGENT", task.project.task),
            )
        started = Event(
            kind="drive-started",
            data={
                "id": secrets.token_hex(4),
                "agent": list(order.roles.usual.words),
                "settings": to_json(order.settings),
                "goal": task.store.keep("goal", order.goal) if order.goal else None,
                "resumed": order.resumes,
            },
        )
        task = _record_start(task, past, started)
        if past is not None and past.open is not None and (left := end_marked(past.open.mark)):
            session.note(f"the driver of iteration {past.open.number} died: {left} processes of its agent are ended")
        drive = require_drive(task.state)
        _forget_old_transcripts(task.store)
        session.tell(
            "drive-started",
            task=session.project.task,
            root=str(session.project.root),
            agents={"agent": list(order.roles.usual.words)},
            signal=order.settings.signal,
            iterations=order.settings.budget.iterations,
            seconds=order.settings.budget.seconds,
            resumed=order.resumes,
            done=drive.counted,
            spent=drive.seconds,
        )

    def next(self) -> Step | End:
        task = self.session.task()
        decision = self._decision
        if decision is None:
            decision = self._look_first(task)
            task = self.session.task()
        if decision.ends:
            said = guide(self.session, task, decision)
            if not said:
                return self._end(decision)
            self._notes = (*self._notes, f"a person says: {said}")
            task = self.session.task()
        return self._begin_turn(task)

    def take(self, step: Step, played: Played) -> None:
        """Judge what the agent left, and record it."""
        session, turn = self.session, self._turn
        assert turn is not None, "a step was taken"
        turn.played = played
        try:
            decision = judge_turn(session, turn, played)
        except BaseException as error:
            # The state can't be trusted or written, or a fault of ours: what can be recorded is.
            reason = error.problem if isinstance(error, PhaseGateError) else type(error).__name__
            with contextlib.suppress(StateError, OSError):
                session.task().record(turn.end_event("error", reason))
            raise
        self._record_end(turn, decision)
        if not played.is_busy:  # then its prompt was never read
            self._notes = tuple(turn.notes)
        self._last_run, self._decision = turn.last_run, decision
        session.tell("iteration-ended", number=turn.number, outcome=str(decision.outcome), reason=decision.reason)

    def fail(self, reason: str) -> None:
        with contextlib.suppress(PhaseGateError, OSError):
            self._record_drive_end("error", reason, None)

    def _end(self, decision: Decision) -> End:
        drive = self._record_drive_end(str(decision.outcome), decision.reason, decision.exit_code)
        told = {"iterations": drive.counted, "seconds": drive.seconds}
        return End(decision=decision, next_command=self._what_next(decision), told=told)

    def _record_drive_end(self, outcome: str, reason: str, code: int | None) -> DriveState:
        task = self.session.task()
        data = {"drive": require_drive(task.state).id, "outcome": outcome, "reason": reason, "exit_code": code}
        return require_drive(task.record(Event(kind="drive-ended", data=data)).state)

    def _what_next(self, decision: Decision) -> str:
        """Return what to type after this end."""
        name = self.session.project.task
        if decision.outcome is Outcome.BUDGET:
            doubled = self.session.settings.budget.iterations * 2
            return of_task(f"phase-gate drive --resume --iterations {doubled}", name)
        if decision.outcome is Outcome.INTERRUPTED:
            return of_task("phase-gate drive --resume", name)
        if decision.outcome is Outcome.STUCK:
            return of_task("phase-gate explain", name)
        return self.session.task().standing().next_command

    # --- before the first turn ---------------------------------------------------------------------------------------

    def _look_first(self, task: Task) -> Decision:
        """Decide by what is there before the agent is started: a circuit may be open, a budget spent, Gate 1 open."""
        seen = _see_first(self.session, task)
        signal = ask_for_signal(self.session, seen)
        if signal is None:
            return decide(replace(seen, is_interrupted=self.session.is_asked_to_end))
        note, task = give_answer(self.session, task, signal)
        self._notes = (note,) if note else ()
        return decide(replace(_see_first(self.session, task), signal="agent"))

    # --- a turn ------------------------------------------------------------------------------------------------------

    @again_if_moved
    def _begin_turn(self, task: Task) -> Step:
        """Enter the phase, write the prompt and the start record."""
        session, settings = self.session, self.session.settings
        task = _enter_phase(session, task)
        workflow, phase = phase_of_work(task)
        drive, store = require_drive(task.state), task.store
        client = self.order.roles.choose(workflow, phase)
        turn = self._turn = Turn(
            roles=self.order.roles,
            client=client,
            phase=phase,
            drive=drive,
            before=progress_of(task),
            last_run=self._last_run,
            signal_before=waiting_signal(task),
        )
        store.make_folder()
        make_folder(REAL, store.drive_folder)
        answer = make_answer(session, turn.folder(store), "signal")
        prepare_phase(session, task, phase)
        text = self._prompt(task, turn, workflow, session.relative(answer))
        row = OpenIteration(number=turn.number, phase=phase.name, at="", mark=turn.mark)
        with task.transaction() as change:
            change.record(Event(kind="iteration-started", data={"drive": drive.id, "iteration": to_json(row)}))
            turn.at = change.at
        prompt = turn.file(store, "agent.md")
        session.tell("iteration-started", number=turn.number, phase=phase.name, prompt=session.relative(prompt))
        left = max(1.0, settings.budget.seconds - drive.seconds)
        limit = min(settings.time_limit, left)
        given = {"PHASE_GATE_TASK": session.project.task}
        if "PHASE_GATE_DIR" in session.project.environment:
            given["PHASE_GATE_DIR"] = str(session.project.state_folder)
        return Step(
            client=client,
            store=store,
            text=text,
            prompt=prompt,
            answer=answer,
            mark=turn.mark,
            working=Working(role="agent", where=phase.name, number=turn.number, limit=limit, spent=drive.seconds),
            environment=given,
            left=left,
        )

    def _prompt(self, task: Task, turn: Turn, workflow: Workflow, answer: str) -> str:
        session, state, phase = self.session, task.state, turn.phase
        # Not of every iteration: nothing may have changed, or the client was busy.
        logs = sorted(turn.folder(task.store).glob("*.tests.log"))
        last = state.last_run
        is_here = state.phase == phase.name and (
            state.iteration > 0 or (last is not None and last.phase == state.phase)
        )
        return write_prompt(
            Situation(
                workflow=workflow,
                phase=phase,
                task=task.project.task,
                goal=session.goal,
                number=turn.number,
                iterations=session.settings.budget.iterations,
                standing=task.standing() if is_here else None,
                evaluation=state.evaluation if is_here and state.iteration > 0 else None,
                output=logs[-1].read_text(encoding="utf-8", errors="replace") if is_here and logs else "",
                output_file=session.relative(logs[-1]) if logs else "",
                notes=self._notes,
                needs=tell_needs(task, phase),
                signal=session.settings.signal,
                answer_file=answer,
            )
        )

    @again_if_moved
    def _record_end(self, turn: Turn, decision: Decision) -> None:
        task = self.session.task()
        with task.transaction() as change:
            task.store.close_lost(change)
            change.record(turn.end_event(str(decision.outcome), decision.reason))


def _see_first(session: Session, task: Task) -> Seen:
    seen, state = see(session, task), task.state
    if state.phase is None or state.is_done:
        return replace(seen, status="unstarted", reason="", gate_1_open=False)
    # A person who starts it has seen what a person was called for.
    return replace(seen, status="unstarted") if seen.status == "needs-person" else seen


def phase_of_work(task: Task) -> tuple[Workflow, Phase]:
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


def read_goal(task: Task, drive: DriveState) -> str:
    """Return the goal that a drive began with; empty where it had none."""
    return "" if drive.goal is None else str(task.store.objects.load(drive.goal))


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


def _forget_old_transcripts(store: TaskStore) -> None:
    """Remove what the drives before the last few have left; the ledger keeps what they came to."""
    folders = [path for path in store.drive_folder.glob("*") if path.is_dir() and not path.is_symlink()]
    for folder in sorted(folders, key=lambda path: path.stat().st_mtime)[:-_KEPT_DRIVES]:
        shutil.rmtree(folder, ignore_errors=True)
