"""Hand out the next task of the list to one of many workers.

The task's own ledger decides: the worker that has written the begin of the attempt has the task. A worker that exceeds
the time limit of its step loses the task, by the same rules as for a late report.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from phase_gate.errors import MovedError, NotAllowedError
from phase_gate.gate.state import NEW_STATE
from phase_gate.storage import store
from phase_gate.storage.tree.git_command import head_of
from phase_gate.tasks.board import TaskBoard, TaskSession, TaskStatus
from phase_gate.tasks.overview import Overview
from phase_gate.tasks.rules import MARGIN, asks_person, lease_ends, resume_command
from phase_gate.tasks.start import collect_known_here, remember_here
from phase_gate.tasks.steps import begin_attempt
from phase_gate.tasks.work import FINISHED, STEPS, FailureType, Status, Verification, require_verification
from phase_gate.values import Value

#: Steps whose worker may be late. A task that waits for its reviewer no longer needs its worker.
_WORKED_ON = (Status.EXECUTING, Status.VERIFYING)

#: Why there is no task: the list is empty or finished, other work has to end first, or a person has to decide.
Why = Literal["no-task", "finished", "waiting", "needs-person"]


class Nothing(Value):
    """No task could be handed out."""

    why: Why
    problem: str
    #: The command to type next, or one to complete first.
    next_command: str = ""
    next_hint: str = ""
    #: Tasks that workers or reviewers have now.
    at_work: int = 0


def hand_out(
    board: TaskBoard, *, by: str, wave: str | None = None, show: Callable[[str], None]
) -> TaskStatus | Nothing:
    """Begin an attempt of the next task for this worker alone.

    :param by: the worker's name; empty if none is given.
    :param wave: only tasks of this wave.
    :param show: print progress.
    """
    _release_late(board)
    while ready := board.overview.ready(lambda row: _is_over(board, row), wave=wave):
        for row in ready:
            status = _claim(board.session(row.task), row, by=by, show=show)
            if status is not None:
                return status
        # Others got all of those, but there may be new ones.
        board.ask_again()
    return explain_nothing(board.overview, wave)


def _is_over(board: TaskBoard, row: Verification) -> bool:
    """Return whether the worker's time is over. In a shared store, events of others take a while to arrive."""
    ends, margin = lease_ends(row), MARGIN if board.place else 0.0
    return ends is not None and datetime.fromisoformat(store.now()).timestamp() > ends + margin


def _claim(session: TaskSession, row: Verification, *, by: str, show: Callable[[str], None]) -> TaskStatus | None:
    """Begin an attempt; return None if another worker was first."""
    # From the local folder: writing fails if the task has changed elsewhere.
    state = session.read_alone() or NEW_STATE
    verification = require_verification(state, session.task)
    if not _is_as_seen(verification, row):
        return None
    memory, head = remember_here(session, state), head_of(session.project.root)
    try:
        with session.step() as step:
            if not _is_as_seen(step.current, row):
                return None
            begin_attempt(step, head=head, by=by, memory=memory)
    except MovedError:
        return None
    if memory:
        collect_known_here(session, verification, show)
    return step.status


def _is_as_seen(verification: Verification, row: Verification) -> bool:
    return (verification.status, verification.attempt, verification.last_step_at) == (
        row.status,
        row.attempt,
        row.last_step_at,
    )


# --- workers that are late


def _release_late(board: TaskBoard) -> None:
    """Record the attempts that have run out of time as failed."""
    for row in board.overview.rows:
        if row.status in _WORKED_ON and _is_over(board, row):
            _release(board.session(row.task), row)


def _release(session: TaskSession, row: Verification) -> bool:
    """Record that an attempt ran out of time; return whether this call did."""
    try:
        with session.step() as step:
            current = step.current
            if not _is_as_seen(current, row):
                return False
            name = STEPS[current.step]
            worker, limit = current.by or "its worker", current.limits[name]
            error = f"{worker} has not ended the {name} step in {limit:g} s: the task is free for another worker"
            step.fail(FailureType.TIMEOUT, error)
            step.judge()
    except (MovedError, NotAllowedError):
        return False  # another worker was first, or its verify command is running
    return True


# --- why there is no task


def explain_nothing(overview: Overview, wave: str | None) -> Nothing:
    """Return why no task can be handed out."""
    rows = [row for row in overview.rows if wave is None or row.wave == wave]
    if not rows:
        named = "there is no task yet" if wave is None else f"there is no task in wave {wave}"
        return Nothing(why="no-task", problem=named, next_hint="phase-gate verify start --task-file FILE")
    left = [row for row in rows if row.status not in FINISHED]
    if not left:
        return Nothing(why="finished", problem="every task is finished", next_command="phase-gate verify status")
    halted = overview.halted(left[0].wave)
    if halted:
        return Nothing(why="needs-person", problem=halted, next_hint=resume_command(left[0].wave))
    # Pending tasks wait for one of these, or for a task that does not exist.
    moving = [row for row in left if row.status not in (Status.PENDING, Status.BLOCKED) and not asks_person(row)]
    at_work = sum(row.status in (*_WORKED_ON, Status.REVIEWING) for row in left)
    first = next((row for row in left if row.status is not Status.PENDING), left[0])
    following = f"phase-gate verify status --task {first.task}"
    problem = f"no task can begin now: {left[0].task} is {left[0].word}"
    if left[0].by and left[0].status in _WORKED_ON:
        problem += f", {left[0].by} has it"
    is_moving = bool(moving) or overview.next_task is not None
    why: Why = "waiting" if is_moving else "needs-person"
    return Nothing(why=why, problem=problem, next_command=following, at_work=at_work)
