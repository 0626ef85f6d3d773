"""`phase-gate drive`: take a task through its workflow with agents, until it is done or a person is needed.

The task determines what is driven: the phases of a cycle or of a pipeline, or verify tasks.
"""

from __future__ import annotations

import sys

from phase_gate.cli._answer import Call, Done, require_plugin
from phase_gate.cli._streams import read_given
from phase_gate.cli._verify_steps import open_board
from phase_gate.drive.clients import find_roles, find_team
from phase_gate.drive.drive_state import find_drive
from phase_gate.drive.loop import Session, Watchers, drive
from phase_gate.drive.phases import PhaseSource
from phase_gate.drive.tasks import TaskSource
from phase_gate.errors import NotAllowedError, TaskNameError, UsageError
from phase_gate.task import Task
from phase_gate.tasks.board import TaskBoard
from phase_gate.tasks.work import FINISHED
from phase_gate.values import replace
from phase_gate.workflow.names import SPAN_FORM, parse_duration
from phase_gate.workflow.settings import DriveSettings

#: Bytes: a goal is about a page.
_MAX_GOAL = 64 * 1024


def run(call: Call) -> Done:
    from phase_gate.cli._drive_screen import with_error_lines

    return with_error_lines(call, _run)


def _run(call: Call) -> Done:
    source = _choose_source(call)
    end = drive(source.session, source)
    text = f"  next: {end.next_command}" if end.next_command else ""
    return Done(text=text, code=end.exit_code, is_printed=True)


def _choose_source(call: Call) -> PhaseSource | TaskSource:
    """Return the source to drive: verify tasks if one is named, or if there are some and no cycle is open."""
    board = open_board(call)
    if _drives_list(call, board):
        _refuse_options(call)
        settings = _with_options(call, board.project.configuration.drive)
        session = Session(board.project, settings, _choose_watchers(call), work="verify tasks")
        return TaskSource(session, find_team(settings, call.environment), board.named())
    require_plugin()
    return _choose_phases(call, call.task())


def _refuse_options(call: Call) -> None:
    """Refuse options for the phases of a cycle when verify tasks are driven."""
    for name in ("goal", "until", "iterations"):
        if getattr(call.arguments, name) is not None:
            raise UsageError(
                f"--{name} is for phases, and verify tasks are driven here",
                remedy="leave it out, or name the task of a cycle with --task",
            )


def _drives_list(call: Call, board: TaskBoard) -> bool:
    if call.arguments.task or call.environment.get("PHASE_GATE_TASK"):
        try:
            return board.named() is not None
        except TaskNameError:
            return False
    rows = board.overview.rows
    if not rows:
        return False
    if rows and all(row.status in FINISHED for row in rows) and call.arguments.arguments:
        return False  # an agent is named, and all tasks of the list are finished
    state = call.task().state
    return state.phase is None or state.is_done


def _choose_phases(call: Call, task: Task) -> PhaseSource:
    project, resumes = task.project, call.arguments.resume
    settings, goal = project.configuration.drive, _read_goal(call, task)
    past = find_drive(task.state) if resumes else None
    if resumes and past is None:
        raise NotAllowedError("this task was never driven", remedy="phase-gate drive -- COMMAND")
    if past is not None:
        settings = past.settings
        goal = goal or ("" if past.goal is None else str(task.store.objects.load(past.goal)))
    settings, workflow = _with_options(call, settings), project.workflow()
    if settings.until and workflow.phase(settings.until) is None:
        names = ", ".join(each.name.lower() for each in workflow.phases)
        raise UsageError(f"workflow {workflow.name} has no phase {settings.until!r}", remedy=f"use one of: {names}")
    roles = find_roles(settings, workflow, call.environment)
    session = Session(project, settings, _choose_watchers(call), work=project.task, goal=goal)
    return PhaseSource(session, roles, resumes=resumes)


def _with_options(call: Call, settings: DriveSettings) -> DriveSettings:
    given, budget = call.arguments, settings.budget
    if given.iterations is not None:
        if given.iterations < 1:
            raise UsageError(f"--iterations can't be {given.iterations}", remedy="give 1 or more")
        budget = replace(budget, iterations=given.iterations)
    if given.time is not None:
        seconds = parse_duration(given.time)
        if not seconds:
            raise UsageError(f"--time can't be {given.time[:40]!r}", remedy=SPAN_FORM)
        budget = replace(budget, seconds=seconds)
    return replace(
        settings,
        agent=tuple(given.arguments) or settings.agent,
        executor=tuple(given.arguments) or settings.executor,
        budget=budget,
        until=(given.until or settings.until).upper(),
    )


def _read_goal(call: Call, task: Task) -> str:
    named = task.project.configuration.drive.goal_file
    if call.arguments.goal is not None or not named:
        return call.arguments.goal or ""
    return read_given(task.project.root, named, _MAX_GOAL).decode("utf-8", "replace")


def _choose_watchers(call: Call) -> Watchers:
    from phase_gate.cli._drive_screen import LiveView, ask, print_json_line, print_lines

    if call.arguments.json:
        return Watchers(tell=print_json_line)
    if sys.stdout is None or not sys.stdout.isatty():
        return Watchers(tell=print_lines)
    if call.environment.get("TERM") == "dumb":  # it can't move the cursor up a line
        return Watchers(tell=print_lines, ask=ask if call.interactive else None)
    view = LiveView()
    return Watchers(tell=view.tell, progress=view.progress, ask=view.ask if call.interactive else None)
