"""Drive an agent until the cycle is done, a person is needed, or the budget is spent."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from datetime import datetime

from phase_gate.codec import to_json
from phase_gate.drive.answers import give_answer
from phase_gate.drive.chain import Decision, Outcome, Seen, decide
from phase_gate.drive.clients import choose_environment
from phase_gate.drive.iteration import run_iteration
from phase_gate.drive.model import DriveState, Iteration, find_drive
from phase_gate.drive.people import ask_person, call_person, guide
from phase_gate.drive.roles import Roles
from phase_gate.drive.session import DriveSession, Watchers
from phase_gate.errors import ForeignRootError, NotAllowedError, PhaseGateError, StateError
from phase_gate.evidence.process.tree import end_marked, hide_environment
from phase_gate.gate.parts import VERIFICATION
from phase_gate.gate.state import Event
from phase_gate.project import Project
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.lock import RunLock
from phase_gate.storage.store import DRIVE_NAME, TaskStore
from phase_gate.task import Task
from phase_gate.values import Value, replace
from phase_gate.workflow.names import of_task
from phase_gate.workflow.settings import DriveSettings

#: Ends that a person is told of by the command of the project.
_CALLS_PERSON = frozenset({Outcome.PERSON, Outcome.HALTED, Outcome.STUCK})

#: Drives whose prompts and transcripts are kept.
_KEPT_DRIVES = 5


class DriveEnded(Value):
    decision: Decision
    drive: DriveState
    #: What to type next.
    next_command: str


class Order(Value):
    """What is to be driven, and how."""

    roles: Roles
    settings: DriveSettings
    #: What is to be built; empty where that was not told.
    goal: str = ""
    resumes: bool = False


def drive_task(project: Project, order: Order, watchers: Watchers) -> DriveEnded:
    """Drive the task of the project. One drive a task: a second one is refused.

    Raises PhaseGateError where it may not begin, or where the state can't be trusted any more.
    """
    refuse_foreign_folder(project)
    hide_keys(project)
    store = project.store("phase-gate drive")
    store.make_folder()
    hold = _take_hold(store)
    try:
        session = DriveSession(project, order.roles, order.settings, order.goal, watchers)
        with session.interrupts:
            _begin(session, order)
            return _drive(session)
    finally:
        hold.release(has_ended=_has_ended(store))


def _has_ended(store: TaskStore) -> bool:
    """Tell whether the record of the drive is closed: a shared store may be away by now."""
    with contextlib.suppress(StateError):
        drive = find_drive(store.look(asks=False).state)
        return drive is None or bool(drive.outcome)
    return False


def _drive(session: DriveSession) -> DriveEnded:
    try:
        decision = _first_look(session)
        while not decision.ends or guide(session, decision):
            decision = run_iteration(session)
    except BaseException as error:
        reason = error.problem if isinstance(error, PhaseGateError) else type(error).__name__
        _record_end_in_doubt(session, reason)
        raise
    drive = _record_end(session, decision)
    if decision.outcome in _CALLS_PERSON:
        session.tell("person-needed", number=drive.number, reason=decision.reason)
        if problem := call_person(session, decision.reason):
            session.note(problem)
    ended = DriveEnded(decision=decision, drive=drive, next_command=_what_next(session, decision))
    session.tell(
        "drive-ended",
        drive=drive.id,
        outcome=str(decision.outcome),
        reason=decision.reason,
        exit_code=decision.exit_code,
        iterations=drive.counted,
        seconds=drive.seconds,
        next_command=ended.next_command,
    )
    return ended


def hide_keys(project: Project) -> None:
    """Keep what no agent is given out of what an agent could read of our own process."""
    if choose_environment(project) != project.environment:
        hide_environment()


def refuse_foreign_folder(project: Project) -> None:
    """Refuse to start an agent in a folder of another user, though the user may trust the rules there."""
    if not hasattr(os, "geteuid"):
        return
    for folder in (project.root, project.state_folder):
        try:
            owner = os.stat(folder).st_uid
        except FileNotFoundError:
            continue  # it is about to be made
        if owner != os.geteuid():
            raise ForeignRootError(
                f"{folder} belongs to uid {owner}, and an agent would work there as you (uid {os.geteuid()})",
                remedy="drive in a copy of your own, or as the user who owns it",
            )


def _take_hold(store: TaskStore) -> RunLock:
    past = find_drive(store.look().state)
    # On another machine: one that has not ended, and wrote not too long ago.
    is_open = past is not None and not past.outcome
    if store.alone().is_driven() or (is_open and store.is_driven()):
        raise _driven_already(store)
    return store.hold(DRIVE_NAME)


def _driven_already(store: TaskStore) -> NotAllowedError:
    return NotAllowedError(
        f"task {store.task} is being driven already", remedy="wait for that drive to end, or interrupt it"
    )


def _begin(session: DriveSession, order: Order) -> None:
    """Record that it begins, or goes on; end what an earlier driver left running."""
    task = session.task()
    _refuse_features(task)
    past = find_drive(task.state)
    if order.resumes and (past is None or not past.is_resumable):
        raise NotAllowedError(
            "no drive of this task is unfinished" if past is None else "the last drive of this task came to its end",
            remedy=of_task("phase-gate drive -- AGENT", task.project.task),
        )
    goal = task.store.keep("goal", order.goal) if order.goal else None
    started = Event(
        kind="drive-started",
        data={
            "id": secrets.token_hex(4),
            "agent": list(order.roles.usual.words),
            "settings": to_json(order.settings),
            "goal": goal,
            "resumed": order.resumes,
        },
    )
    task = _record_start(task, past, started)
    if past is not None and past.open is not None and (left := end_marked(past.open.mark)):
        session.note(f"the driver of iteration {past.open.number} died: {left} processes of its agent are ended")
    drive = session.drive(task)
    _forget_old_transcripts(task.store)
    session.tell(
        "drive-started",
        drive=drive.id,
        task=session.project.task,
        root=str(session.project.root),
        agent=list(order.roles.usual.words),
        signal=order.settings.signal,
        iterations=order.settings.budget.iterations,
        seconds=order.settings.budget.seconds,
        resumed=order.resumes,
        done=drive.counted,
        spent=drive.seconds,
    )


@again_if_moved
def _record_start(task: Task, past: DriveState | None, started: Event) -> Task:
    with task.transaction() as change:
        found = find_drive(change.state)
        if found is not None and not found.outcome and (past is None or found.id != past.id):
            raise _driven_already(task.store)  # another machine was first
        task.store.close_lost(change)
        if past is not None and past.open is not None:
            change.record(_lost(past, at=change.at))
        change.record(started)
    return task.after(change)


def _forget_old_transcripts(store: TaskStore) -> None:
    """Remove what the drives before the last few have left; the ledger keeps what they came to."""
    folders = [path for path in store.drive_folder.glob("*") if path.is_dir() and not path.is_symlink()]
    for folder in sorted(folders, key=lambda path: path.stat().st_mtime)[:-_KEPT_DRIVES]:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_features(task: Task) -> None:
    name = task.project.task
    if VERIFICATION in task.state.parts:
        raise NotAllowedError(
            f"{name} is a verify task: executor, verify command and reviewer decide about it",
            remedy=f"phase-gate verify status --task {name}",
        )


def _lost(drive: DriveState, *, at: str) -> Event:
    """Return how an iteration ended whose driver was killed. Of its time at most the limit counts."""
    opened = drive.open
    assert opened is not None, "it was looked at"
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


def _first_look(session: DriveSession) -> Decision:
    """Decide by what is there before the agent is started: a circuit may be open, a budget spent, Gate 1 open."""
    seen = _see_first(session)
    decision = decide(seen)
    signal = ask_person(session, seen, decision)
    if signal is None:
        return decide(_see_first(session))  # the user may have interrupted the question
    session.notes = tuple(filter(None, (give_answer(session, signal),)))
    return decide(replace(_see_first(session), signal="agent"))


def _see_first(session: DriveSession) -> Seen:
    task = session.task()
    drive, state, standing = session.drive(task), task.state, task.standing()
    settings = session.settings
    is_new = state.phase is None or state.is_done
    # A person who starts it has seen what a person was called for.
    is_heard = is_new or standing.status == "needs-person"
    return Seen(
        is_interrupted=session.interrupts.is_asked_to_end,
        status="unstarted" if is_heard else standing.status,
        reason="" if is_new else standing.reason,
        phase=str(state.phase),
        has_exited=state.exited,
        is_done=state.exited and standing.is_open and state.phase == settings.until,
        gate_1_open=not is_new and standing.status == "waiting",
        signal=settings.signal,
        idle_limit=settings.idle_limit,
        iterations=drive.counted,
        seconds=drive.seconds,
        budget=settings.budget,
    )


def _record_end(session: DriveSession, decision: Decision) -> DriveState:
    task = session.task()
    data = {"drive": session.drive(task).id, "outcome": str(decision.outcome), "reason": decision.reason}
    return session.drive(task.record(Event(kind="drive-ended", data={**data, "exit_code": decision.exit_code})))


def _record_end_in_doubt(session: DriveSession, reason: str) -> None:
    try:
        task = session.task()
        data = {"drive": session.drive(task).id, "outcome": "error", "reason": reason, "exit_code": None}
        task.record(Event(kind="drive-ended", data=data))
    except (PhaseGateError, OSError):
        return  # the state can't be written: what is raised says so


def _what_next(session: DriveSession, decision: Decision) -> str:
    """Return what to type after this end."""
    name, budget = session.project.task, session.settings.budget
    if decision.outcome is Outcome.BUDGET:
        return of_task(f"phase-gate drive --resume --iterations {budget.iterations * 2}", name)
    if decision.outcome is Outcome.INTERRUPTED:
        return of_task("phase-gate drive --resume", name)
    if decision.outcome is Outcome.STUCK:
        return of_task("phase-gate explain", name)
    return session.task().standing().next_command


def read_goal(task: Task, drive: DriveState) -> str:
    """Return the goal that a drive began with; empty where it had none."""
    return "" if drive.goal is None else str(task.store.objects.load(drive.goal))
