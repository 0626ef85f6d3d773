"""`phase-gate drive`: take a task through its workflow with agents, until it is done or a person is needed.

The task determines what is driven: the phases of a cycle or of a pipeline, or verify tasks.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType

from phase_gate.cli._call import Call, Done, describe_error, require_plugin
from phase_gate.cli._streams import draw, read_given, render_json, say, screen_width
from phase_gate.cli.verify import is_finished, open_board
from phase_gate.drive.clients import find_roles
from phase_gate.drive.drive_state import Outcome, find_drive
from phase_gate.drive.loop import Happening, Session, Watchers, drive
from phase_gate.drive.phases import PhaseSource
from phase_gate.drive.tasks import TaskSource
from phase_gate.errors import NotAllowedError, PhaseGateError, TaskNameError, UsageError
from phase_gate.evidence.process.tree import ending_signals
from phase_gate.storage.store import now
from phase_gate.task import Task
from phase_gate.tasks.board import TaskBoard
from phase_gate.values import replace
from phase_gate.workflow.names import SPAN_FORM, of_task, parse_duration
from phase_gate.workflow.sections import DriveSettings

#: Bytes: a goal is about a page.
_MAX_GOAL = 64 * 1024


def run(call: Call) -> Done:
    try:
        source = _choose_source(call)
        end = drive(source.session, source)
    except PhaseGateError as error:
        if not call.arguments.json:
            raise
        event = {"event": "error", "at": now(), "error": describe_error(error), "exit_code": error.exit_code}
        say(render_json(event), flush=True)
        return Done(text="", code=error.exit_code, is_printed=True)
    text = f"  next: {end.next_command}" if end.next_command else ""
    return Done(text=text, code=end.exit_code, is_printed=True)


def _choose_source(call: Call) -> PhaseSource | TaskSource:
    """Return the source to drive: verify tasks if one is named, or if there are some and no cycle is open."""
    board = open_board(call)
    if _drives_list(call, board):
        _refuse_options(call)
        settings = _with_options(call, DriveSettings.of(board.project.configuration))
        session = Session(board.project, settings, _choose_watchers(call), work="verify tasks")
        return TaskSource(session, find_roles(settings, None, call.environment), board.named())
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
    if not board.overview.rows:
        return False
    if is_finished(board.overview) and call.arguments.arguments:
        return False  # an agent is named, and all tasks of the list are finished
    state = call.task().state
    return state.phase is None or state.is_done


def _choose_phases(call: Call, task: Task) -> PhaseSource:
    project, resumes = task.project, call.arguments.resume
    settings, goal = DriveSettings.of(project.configuration), _read_goal(call, task)
    if resumes:
        past = find_drive(task.state)
        if past is None or past.outcome == Outcome.DONE:
            raise NotAllowedError(
                "no drive of this task is unfinished", remedy=of_task("phase-gate drive", project.task)
            )
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
        budget = replace(budget, iterations=given.iterations)
    if given.time is not None:
        seconds = parse_duration(given.time)
        if not seconds:
            raise UsageError(f"--time can't be {given.time[:40]!r}", remedy=SPAN_FORM)
        budget = replace(budget, seconds=seconds)
    return replace(
        settings,
        agent=tuple(given.arguments) or settings.agent,
        budget=budget,
        until=(given.until or settings.until).upper(),
    )


def _read_goal(call: Call, task: Task) -> str:
    named = DriveSettings.of(task.project.configuration).goal_file
    if call.arguments.goal is not None or not named:
        return call.arguments.goal or ""
    return read_given(task.project.root, named, _MAX_GOAL).decode("utf-8", "replace")


def _choose_watchers(call: Call) -> Watchers:
    if call.arguments.json:
        return Watchers(tell=print_json_line)
    if sys.stdout is None or not sys.stdout.isatty():
        return Watchers(tell=print_lines)
    if call.environment.get("TERM") == "dumb":  # it can't move the cursor up a line
        return Watchers(tell=print_lines, ask=ask if call.interactive else None)
    view = LiveView()
    return Watchers(tell=view.tell, progress=view.progress, ask=view.ask if call.interactive else None)


#: Seconds between two redraws: users do not notice a shorter wait.
_PAUSE = 0.2
#: Return to the beginning of the line and erase it.
_CLEAR = "\r\x1b[K"


def print_json_line(happening: Happening) -> None:
    """Print one JSON object per line."""
    say(render_json(happening.document), flush=True)


def print_lines(happening: Happening) -> None:
    """Print plain lines, as for a log."""
    if happening.lines:
        say(happening.text, flush=True)


class LiveView:
    """Permanent lines, and below them a status line, redrawn several times a second. Also asks the user."""

    def __init__(self) -> None:
        self._drawn_at = 0.0

    def tell(self, happening: Happening) -> None:
        self._clear()
        print_lines(happening)

    def progress(self, status: str) -> None:
        if time.monotonic() - self._drawn_at >= _PAUSE:
            width = screen_width() - 1
            draw(_CLEAR + (status if len(status) <= width else f"{status[: width - 1]}…"), sys.stdout)
            self._drawn_at = time.monotonic()

    def ask(self, text: str, prompt: str) -> str:
        """Ask the user. Only the answer typed here counts."""
        self._clear()
        return ask(text, prompt)

    def _clear(self) -> None:
        if self._drawn_at:
            draw(_CLEAR, sys.stdout)
        self._drawn_at = 0.0


def ask(text: str, prompt: str) -> str:
    """Return the typed line with single spaces; empty if there is none, or a signal arrives, which the drive notes."""
    with contextlib.suppress(EOFError), _ended_by_signals():
        say(text)
        draw(prompt, sys.stdout)
        return " ".join(input().split())
    say("")
    return ""


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let signals end the wait for an answer. A drive only notes them, so `input` would continue to wait."""
    noting = {number: signal.getsignal(number) for number in ending_signals()}

    def note_and_end(number: int, frame: FrameType | None) -> None:
        if callable(handler := noting[signal.Signals(number)]):
            handler(number, frame)
        raise EOFError

    try:
        for number in noting:
            signal.signal(number, note_and_end)
        yield
    finally:
        for number, handler in noting.items():
            signal.signal(number, handler)
