"""Take verify tasks, begin an attempt of one, or hand out the next one of the list to one of many workers.

The task's own ledger decides: the worker that has written the begin of the attempt has the task. A worker that exceeds
the time limit of its step loses the task, by the same rules as for a late report.
"""

from __future__ import annotations

import contextlib
import graphlib
import random
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from phase_gate.codec import to_json
from phase_gate.errors import MovedError, NotAllowedError
from phase_gate.evidence.gathering import context_of
from phase_gate.gate.order import Entry, entry_events
from phase_gate.gate.state import NEW_STATE, Event
from phase_gate.storage import store as storage
from phase_gate.storage.git_command import head_of
from phase_gate.storage.lock import again_if_moved
from phase_gate.task import Task
from phase_gate.tasks.board import Step, TaskBoard, TaskSession, TaskStatus, task_environment
from phase_gate.tasks.changes import remember_files
from phase_gate.tasks.rules import (
    MARGIN,
    Overview,
    asks_person,
    delay_left,
    free_command,
    lease_ends,
    resume_command,
    set_limits,
)
from phase_gate.tasks.steps import begin_attempt
from phase_gate.tasks.task_files import lint_task, pytest_command
from phase_gate.tasks.work import (
    FINISHED,
    NOT_PASSED,
    PHASE,
    STEPS,
    WORKFLOW,
    FailureType,
    Status,
    TaskSpec,
    Verification,
    find_verification,
)
from phase_gate.values import Value, replace
from phase_gate.visible import same_name
from phase_gate.workflow.sections import VerificationSettings

#: Prints progress.
Show = Callable[[str], None]


# --- take tasks of a file


def take_tasks(
    board: TaskBoard, specs: Sequence[TaskSpec], *, untimed: bool, show: Show
) -> list[tuple[TaskStatus, bool]]:
    """Take tasks; return their statuses, and which are new. A single task without open dependencies begins at once."""
    flags = {spec.slug: lint_task(spec) for spec in specs}
    _refuse_dependencies(board, specs)
    for wave in dict.fromkeys(spec.wave for spec in specs):
        board.refuse_halted(wave)
    settings = VerificationSettings.of(board.project.configuration)
    sessions = [board.session(spec.slug) for spec in specs]
    taken = []
    for session, spec in zip(sessions, specs, strict=True):
        data = {
            "spec": to_json(spec),
            "limits": set_limits(spec, settings.timeouts),
            "untimed": untimed or settings.untimed,
            "flags": list(flags[spec.slug]),
            **({"place": board.place} if board.place else {}),
        }
        taken.append(_take(session, spec, data, show))
    board.refresh()
    if len(specs) == 1 and sessions[0].verification().status is Status.PENDING:
        finished = {row.name for row in board.overview.rows if row.status in FINISHED}
        # Also if an earlier command died after it took the task.
        if finished.issuperset(specs[0].depends_on):
            begin(sessions[0], show=show)
    return [(session.status(session.verification()), is_new) for session, is_new in zip(sessions, taken, strict=True)]


def _refuse_dependencies(board: TaskBoard, specs: Sequence[TaskSpec]) -> None:
    """Refuse tasks that depend on unknown tasks, or on each other. Raises NotAllowedError."""
    waits = {row.name: row.spec.depends_on for row in board.overview.rows}
    waits |= {each.name: each.depends_on for each in specs}
    for spec in specs:
        unknown = next((name for name in spec.depends_on if name not in waits), None)
        if unknown is not None:
            raise NotAllowedError(
                f"{spec.name} depends on {unknown!r}, which is not a task",
                remedy="add that task to the file as well, or correct the name",
            )
    try:
        graphlib.TopologicalSorter(waits).prepare()
    except graphlib.CycleError as error:
        circle = list(dict.fromkeys(error.args[1]))
        raise NotAllowedError(
            f"{circle[0]} depends on itself, in a circle: {', '.join(circle)}",
            remedy="remove one of these from depends_on",
        ) from None
    _refuse_later_waves(board, specs)


def _refuse_later_waves(board: TaskBoard, specs: Sequence[TaskSpec]) -> None:
    """Refuse tasks that depend on tasks of a later wave, which begins after theirs. Raises NotAllowedError."""
    rows, given = board.overview.rows, {spec.name: spec for spec in specs}
    listed = {row.name: row.spec for row in rows} | given  # a task that is there keeps its place
    waves = list(dict.fromkeys(spec.wave for spec in listed.values()))
    open_names = listed.keys() - {row.name for row in rows if row.status in FINISHED}
    for spec in (each for each in listed.values() if each.name in open_names):
        for other in (listed[name] for name in spec.depends_on if name in open_names):
            if waves.index(other.wave) > waves.index(spec.wave):
                first, later = (f"wave {each.wave}" if each.wave else "no wave" for each in (spec, other))
                raise NotAllowedError(
                    f"{spec.name} ({first}) depends on {other.name} ({later}), whose wave begins later",
                    remedy="give both the same wave, or list the wave of the other task first",
                )


@again_if_moved
def _take(session: TaskSession, spec: TaskSpec, data: dict[str, object], show: Show) -> bool:
    """Take one task; return whether it is new. An existing task with the same text is not changed."""
    project, looked = session.project, find_verification(session.state())
    if looked is not None and (looked.spec, looked.limits) == (spec, data["limits"]):
        loses_limit = bool(data["untimed"]) and not looked.untimed and looked.status is Status.PENDING
        if not loses_limit:
            return False
    _refuse_change(session, looked)
    remembered = _remember(session, spec, show)
    # The project's settings are for its own workflow.
    workflow = replace(project, configuration=replace(project.configuration, overlay=None)).workflow(WORKFLOW)
    with session.transaction() as change:
        before = find_verification(change.state)
        _refuse_change(session, before)
        if change.state.phase is None:
            entry, scripted = Entry(workflow.first, "begin"), project.configuration.overrides.allow_non_interactive
            change.record(*entry_events(change.state, entry, workflow, run=None, allow_non_interactive=scripted))
        rules = session.store.objects.keep(to_json(workflow))
        change.record(Event(kind="task-taken", data={**data, **remembered, "rules": rules}))
    return before is None


def _refuse_change(session: TaskSession, looked: Verification | None) -> None:
    if looked is None and session.state().phase is not None:
        problem = f"{session.task} is a task of workflow {session.state().workflow} already"
    elif looked is not None and looked.status in FINISHED:
        problem = f"{session.task} is {looked.word} already"
    elif looked is not None and looked.status is not Status.PENDING:
        problem = f"{session.task} has begun: its text can't be changed any more"
    else:
        return
    raise NotAllowedError(problem, remedy="give the task another name")


def _remember(session: TaskSession, spec: TaskSpec, show: Show) -> dict[str, str]:
    """Return the objects with the files before the work begins, and with the tests that the verify command selects."""
    state = session.read_alone() or NEW_STATE
    context = context_of(Task(session.project, session.store, state), frozenset(), phase=PHASE)
    memory = session.store.keep("evidence", remember_files(context, session.tree(spec)))
    command = pytest_command(spec.verify)
    if not command:
        return {"memory": memory}
    show("collecting the tests of the verify command ...")
    limit = set_limits(spec, VerificationSettings.of(session.project.configuration).timeouts)["verify"]
    with tempfile.TemporaryDirectory(prefix="phase-gate-") as folder:
        answer = Path(folder) / "known"
        collect = f"{command} --collect-only -q {shlex.join([f'--phase-baseline=known={answer}'])}"
        environment, silent = task_environment(session.project), subprocess.DEVNULL
        with contextlib.suppress(OSError, subprocess.SubprocessError, UnicodeError):
            subprocess.run(
                collect,
                shell=True,
                cwd=session.project.root,
                env=environment,
                stdin=silent,
                stdout=silent,
                stderr=silent,
                timeout=limit,
                check=False,
            )
            known = answer.read_text(encoding="ascii")
            return {"memory": memory, "known": known if session.store.objects.has(known) else ""}
    # No plugin in it, or no test yet: then its first run will show.
    return {"memory": memory}


# --- begin an attempt, or hand out the next task


#: Why there is no task: the list is empty or finished, other work has to end first, or a person has to decide.
Why = Literal["no-task", "finished", "waiting", "needs-person"]


class Nothing(Value):
    """No task could be handed out."""

    why: Why
    problem: str
    #: The command to type next, or one to complete first.
    next_command: str = ""
    next_hint: str = ""


@again_if_moved
def begin(session: TaskSession, *, by: str = "", show: Show) -> TaskStatus:
    """Begin an attempt before its executor reports. Its time limit starts now.

    :param by: the worker that gets the attempt; empty if none is named.
    """
    return _begin(session, session.verification(), by=by, show=show)


def _begin(session: TaskSession, seen: Verification, *, by: str, show: Show) -> TaskStatus:
    """Begin an attempt of a task. Raises MovedError if it is not as it was seen, because another worker was first."""
    place, data = session.board.place, {"head": head_of(session.project.root), "by": by}
    if place not in ("", seen.place):
        # In the same work tree the first files remain valid: changes from an earlier attempt belong to the task.
        data |= {**_remember(session, seen.spec, show), "place": place}
    with session.step() as step:
        _refuse_moved(step, seen)
        begin_attempt(step, **data)
    return step.status


def hand_out(board: TaskBoard, *, by: str, show: Show) -> TaskStatus | Nothing:
    """Begin an attempt of the next task for this worker alone.

    :param by: the worker's name; empty if none is given.
    """
    for row in board.overview.rows:
        if row.status in WORKED_ON and is_over(board, row):
            # Another worker was first, or its verify command is running.
            with contextlib.suppress(MovedError, NotAllowedError):
                _release(board.session(row.task), row)
    spread = 1
    while ready := board.overview.ready(lambda row: _may_retry(board, row, by=by)):
        ready.sort(key=lambda row: row.status in NOT_PASSED)
        place = random.randrange(min(spread, len(ready)))
        while place < len(ready):
            row = ready[place]
            with contextlib.suppress(MovedError):
                return _begin(board.session(row.task), row, by=by, show=show)
            # Workers that lost the same race would meet again at the next task: let them spread out.
            spread *= 2
            place += 1 + random.randrange(spread)
        # Others got all of those, but there may be new ones; and skipped ones come again.
        board.ask_again()
    return _explain_nothing(board.overview)


#: Steps whose worker may be late. A task that waits for its reviewer no longer needs its worker.
WORKED_ON = (Status.EXECUTING, Status.VERIFYING)


def is_over(board: TaskBoard, row: Verification) -> bool:
    """Return whether the worker's time is over. In a shared store, events of others take a while to arrive."""
    ends, margin = lease_ends(row), MARGIN if board.place else 0.0
    return ends is not None and datetime.fromisoformat(storage.now()).timestamp() > ends + margin


def _may_retry(board: TaskBoard, row: Verification, *, by: str) -> bool:
    """Return whether a worker may try a failed task again: it was theirs or abandoned, or its worker's time is over."""
    last = row.last_failure
    is_abandoned = last is not None and last.type is FailureType.EXECUTION_FAILURE and not last.counts
    if is_abandoned or same_name(by, row.by):
        return delay_left(row, storage.now()) <= 0
    # Without a time limit, a failed task would wait for its worker for ever.
    return is_over(board, replace(row, untimed=False))


def _refuse_moved(step: Step, seen: Verification) -> None:
    if any(getattr(step.current, name) != getattr(seen, name) for name in ("status", "attempt", "began_at")):
        raise MovedError(f"{seen.task} was taken by another worker", remedy="phase-gate verify next")


def _release(session: TaskSession, row: Verification) -> None:
    """Record that an attempt ran out of time."""
    with session.step() as step:
        _refuse_moved(step, row)
        worker, name = row.by or "its worker", STEPS[row.step]
        error = f"{worker} has not ended the {name} step in {row.limits[name]:g} s: the task is free for another worker"
        step.fail(FailureType.TIMEOUT, error)
        step.judge()


def _explain_nothing(overview: Overview) -> Nothing:
    """Return why no task can be handed out."""
    left = [row for row in overview.rows if row.status not in FINISHED]
    if not overview.rows:
        hint = "phase-gate verify start --task-file FILE"
        return Nothing(why="no-task", problem="there is no task yet", next_hint=hint)
    if not left:
        return Nothing(why="finished", problem="every task is finished", next_command="phase-gate verify status")
    wave = overview.next_wave(left)
    if halted := overview.halted(wave):
        return Nothing(why="needs-person", problem=halted, next_hint=resume_command(wave))
    # Pending tasks wait for one of these, or for a task that does not exist.
    moving = [row for row in left if row.status not in (Status.PENDING, Status.BLOCKED) and not asks_person(row)]
    first = next((row for row in left if row.status is not Status.PENDING), left[0])
    problem = f"no task can begin now: {left[0].task} is {left[0].word}"
    if left[0].by and left[0].status in WORKED_ON:
        problem += f", {left[0].by} has it"
    why: Why = "waiting" if moving else "needs-person"
    if first.status in WORKED_ON and (free := free_command(first)):
        return Nothing(why=why, problem=problem, next_hint=f"wait for its worker; if that is gone: {free}")
    if first.status in NOT_PASSED and not asks_person(first):
        wait, again = delay_left(first, storage.now()), f"phase-gate verify start --task {first.task}"
        # Typed by a person, it also takes over the task of a worker that is gone.
        given = {"next_hint": f"wait {wait:.0f} s, then: {again}"} if wait > 0 else {"next_command": again}
        return Nothing(why=why, problem=problem, **given)
    return Nothing(why=why, problem=problem, next_command=f"phase-gate verify status --task {first.task}")
