"""What a user sees of a drive of a list: a line for each happening. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.drive.list_session import ListHappening
from phase_gate.verification.model import Status
from phase_gate.visible import count, show_rows
from phase_gate.workflow.durations import show_duration

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
