"""What a user sees of a drive of a list: lines for each happening, and the rows of the live view. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.drive.list_session import ListHappening, Working
from phase_gate.drive.view import cut_row
from phase_gate.tasks.model import Status
from phase_gate.values import Value, replace
from phase_gate.visible import count, show_line, show_rows
from phase_gate.workflow.names import show_duration

_DOING = {
    "executor": "executor works",
    "verify": "verify command runs",
    "reviewer": "reviewer works",
    "waits": "waits",
}

#: Statuses that are worth a line.
_SAID = frozenset(map(str, (Status.APPROVED, Status.FAILED, Status.REJECTED, Status.BLOCKED)))


def render_list_lines(happening: ListHappening) -> str:
    """Return a happening as lines for people; empty where there is nothing to say."""
    write = _LINES.get(happening.kind)
    rows = () if write is None else write(happening.data)
    return show_rows(rows)


def _started(data: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        f"verify drive begins: {count(len(data['tasks']), 'task')}",
        f"  executor  {' '.join(data['executor'])}",
        f"  reviewer  {' '.join(data['reviewer'])}",
    )


def _agent(data: Mapping[str, Any]) -> tuple[str, ...]:
    if data["how"] == "ended" and data["code"] == 0:
        return ()
    return (f"{data['task']}: {data['text']} after {show_duration(data['seconds'])}: {data['transcript']}",)


def _step(data: Mapping[str, Any]) -> tuple[str, ...]:
    # While it goes on, the next line says what follows.
    if data["status"] not in _SAID:
        return ()
    return (f"{data['task']}: attempt {data['attempt']}: {data['status']}: {data['reason']}",)


def _task(data: Mapping[str, Any]) -> tuple[str, ...]:
    if data["outcome"] == "go-on":
        return (f"{data['task']}: waits for {data['reason']}",)
    return ()


def _note(data: Mapping[str, Any]) -> tuple[str, ...]:
    return (f"{data['task']}: {data['text']}" if data["task"] else f"note: {data['text']}",)


def _ended(data: Mapping[str, Any]) -> tuple[str, ...]:
    spent = f"{data['finished']} of {count(data['tasks'], 'task')} finished, {show_duration(data['seconds'])}"
    return (f"verify drive ends: {data['outcome']}: {data['reason']} ({spent})",)


_LINES: Mapping[str, Callable[[Mapping[str, Any]], tuple[str, ...]]] = {
    "list-started": _started,
    "step-started": lambda data: (f"{data['task']}: attempt {data['attempt']}: {data['step']}",),
    "agent-ended": _agent,
    "step-ended": _step,
    "task-ended": _task,
    "waits": lambda data: (f"{data['task']}: waits {show_duration(data['seconds'])}: {data['reason']}",),
    "committed": lambda data: (f"{data['task']}: committed as {data['commit'][:10]}",),
    "person-needed": lambda data: (f"{data['task']}: waits for a person: {data['reason']}",),
    "decided": lambda data: (f"{data['task']}: {data['way']} by {data['by']}: {data['reason']}",),
    "investigated": lambda data: tuple(f"  {row}" for row in data["rows"]),
    "note": _note,
    "list-ended": _ended,
}


class ListBoard(Value):
    """What the live view shows: how far the list is, and what is at work."""

    tasks: int = 0
    finished: int = 0
    #: Of the budget.
    seconds: float = 0.0
    working: Working | None = None

    def after(self, happening: ListHappening) -> ListBoard:
        """Return the board after a happening."""
        kind, data = happening.kind, happening.data
        if kind == "list-started":
            return replace(self, tasks=len(data["tasks"]), finished=data["finished"], seconds=data["seconds"])
        if kind == "step-started":
            return self.seen(Working(task=data["task"], step=data["step"], attempt=data["attempt"]))
        if kind == "task-ended":
            return replace(self, working=None, finished=self.finished + (data["outcome"] == "done"))
        return self

    def seen(self, working: Working) -> ListBoard:
        return replace(self, working=working)


def render_list_screen(board: ListBoard, *, spent: float, width: int, rows: int = 12) -> list[str]:
    """Return the rows of the live view, each no wider than the screen."""
    budget = f"{show_duration(spent)} of {show_duration(board.seconds)}"
    shown = [f"phase gate verify drive · {board.finished} of {count(board.tasks, 'task')} finished · {budget}"]
    if (at_work := board.working) is not None:
        limit = f" of {show_duration(at_work.limit)}" if at_work.limit else ""
        took = f"{show_duration(at_work.seconds)}{limit}"
        shown.append(f"{at_work.task}  attempt {at_work.attempt}  {_DOING[at_work.step]}  {took}")
        room = max(0, rows - 3)
        shown += [f"  | {line}" for line in at_work.lines[max(0, len(at_work.lines) - room) :] if room]
    is_ending = at_work is not None and at_work.is_ending
    shown.append("ends after this step; Ctrl-C again: at once" if is_ending else "Ctrl-C: ends after this step")
    return [cut_row(show_line(row), width) for row in shown]
