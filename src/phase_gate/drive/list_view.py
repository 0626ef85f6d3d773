"""What a user sees of a drive of a list: lines for each happening, and the rows of the live view. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.drive.list_session import ListHappening, Working
from phase_gate.drive.view import cut_row
from phase_gate.values import Value, field, replace
from phase_gate.verification.model import Status
from phase_gate.visible import count, show_line, show_rows
from phase_gate.workflow.durations import show_duration

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
    jobs = f", {data['jobs']} at a time" if data["jobs"] > 1 else ""
    return (
        f"verify drive begins: {count(len(data['tasks']), 'task')}{jobs}",
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
    "merged": lambda data: (f"{data['task']}: merged as {data['commit'][:10]}",),
    "conflict": lambda data: (f"{data['task']}: back to the executor: {data['reason']}",),
    "person-needed": lambda data: (f"{data['task']}: waits for a person: {data['reason']}",),
    "decided": lambda data: (f"{data['task']}: {data['way']} by {data['by']}: {data['reason']}",),
    "investigated": lambda data: tuple(f"  {row}" for row in data["rows"]),
    "note": _note,
    "list-ended": _ended,
}


class ListBoard(Value):
    """What the live view shows: how far the list is, and who is at work."""

    tasks: int = 0
    finished: int = 0
    #: Of the budget.
    seconds: float = 0.0
    working: Mapping[str, Working] = field(default_factory=dict)

    def after(self, happening: ListHappening) -> ListBoard:
        """Return the board after a happening."""
        kind, data = happening.kind, happening.data
        if kind == "list-started":
            return replace(self, tasks=len(data["tasks"]), finished=data["finished"], seconds=data["seconds"])
        if kind == "step-started":
            return self.seen(Working(task=data["task"], step=data["step"], attempt=data["attempt"]))
        if kind == "conflict":
            return replace(self, finished=self.finished - 1)
        if kind == "task-ended":
            working = {task: each for task, each in self.working.items() if task != data["task"]}
            return replace(self, working=working, finished=self.finished + (data["outcome"] == "done"))
        return self

    def seen(self, working: Working) -> ListBoard:
        return replace(self, working={**self.working, working.task: working})


def render_list_screen(board: ListBoard, *, spent: float, width: int, rows: int = 12) -> list[str]:
    """Return the rows of the live view, each no wider than the screen."""
    budget = f"{show_duration(spent)} of {show_duration(board.seconds)}"
    shown = [f"phase gate verify drive · {board.finished} of {count(board.tasks, 'task')} finished · {budget}"]
    at_work = list(board.working.values())[: max(0, rows - 2)]
    room = max(0, rows - 2 - len(at_work)) // max(1, len(at_work))
    for each in at_work:
        limit = f" of {show_duration(each.limit)}" if each.limit else ""
        shown.append(f"{each.task}  attempt {each.attempt}  {_DOING[each.step]}  {show_duration(each.seconds)}{limit}")
        shown += [f"  | {line}" for line in each.lines[max(0, len(each.lines) - room) :] if room]
    shown.append(
        "ends after these steps; Ctrl-C again: at once"
        if any(each.is_ending for each in at_work)
        else "Ctrl-C: ends after these steps"
    )
    return [cut_row(show_line(row), width) for row in shown]
