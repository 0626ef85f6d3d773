"""The display of a drive: lines for each happening, and the status line. Pure.

An agent's output is escaped first, so that it can't move the cursor or imitate our own lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.agents.endings import describe_event
from phase_gate.values import Value, field
from phase_gate.visible import count, show_line, show_rows
from phase_gate.workflow.names import show_duration

#: Bytes kept of a command's output for display: an event has a few thousand.
_TAIL = 1 << 16


class Happening(Value):
    """An event of a running drive: a view shows it, and `--json` prints it."""

    #: A key of `_LINES`.
    kind: str
    at: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def document(self) -> dict[str, Any]:
        """The line of `phase-gate drive --json`."""
        return {"event": self.kind, "at": self.at, **self.data}


# --- who is working


class Working(Value):
    #: `agent`, `tests`, `executor`, `verify`, `reviewer`, a voter's name, or `waits`.
    role: str
    #: The phase or the task, and the number of the iteration or the attempt.
    where: str
    number: int
    #: The time limit in seconds; 0 for none.
    limit: float = 0.0


_DOING = {"tests": "tests run", "verify": "verify command runs", "waits": "waits"}


def render_status(working: Working, seconds: float, tail: Tail, *, is_ending: bool) -> str:
    """Return the status line, which is redrawn: who works, for how long, and the last line of output."""
    doing = _DOING.get(working.role, f"{working.role} works")
    limit = f" of {show_duration(working.limit)}" if working.limit else ""
    hint = (
        "ends when this is done; Ctrl-C again: at once" if is_ending else "" if working.role == "waits" else tail.last()
    )
    parts = (f"{working.where} {working.number}", f"{doing} {show_duration(seconds)}{limit}", hint)
    return show_line(" · ".join(filter(None, parts)))


class Tail:
    """The end of a command's output, for display. Written to like a file."""

    def __init__(self) -> None:
        self._data = b""

    def write(self, data: bytes) -> int:
        self._data += data
        if len(self._data) > _TAIL:
            # Start at the beginning of a line: part of an event is not readable.
            self._data = self._data[-_TAIL:].partition(b"\n")[2] or self._data[-_TAIL:]
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def clear(self) -> None:
        """Forget the output, because another command begins."""
        self._data = b""

    def last(self) -> str:
        """Return the last line that is not empty; for an event, its description."""
        for row in reversed(self._data.decode("utf-8", "replace").replace("\r", "\n").splitlines()):
            described = describe_event(row)
            if text := (row if described is None else described).strip():
                return text
        return ""


# --- permanent lines


_Data = Mapping[str, Any]

#: Statuses of a verify task that get a line. In other cases, the next line shows what happens.
_SHOWN_STATUSES = frozenset({"APPROVED", "FAILED", "REJECTED", "BLOCKED"})


def render_lines(happening: Happening) -> str:
    """Return a happening as lines for people; empty if there is nothing to show."""
    return show_rows(filter(None, _LINES[happening.kind](happening.data)))


def _started(data: _Data) -> tuple[str, ...]:
    if "tasks" in data:
        rows = (f"  {role:<9} {' '.join(words)}" for role, words in data["agents"].items())
        return (f"drive begins: {count(len(data['tasks']), 'task')}", *rows)
    budget = f"at most {count(data['iterations'], 'iteration')}, {show_duration(data['seconds'])}"
    spent = f"; spent: {count(data['done'], 'iteration')}, {show_duration(data['spent'])}" if data["resumed"] else ""
    verb = "resumes" if data["resumed"] else "begins"
    return (f"drive {verb}: {' '.join(data['agents']['agent'])} ({budget}; signal: {data['signal']}{spent})",)


def _agent(data: _Data) -> tuple[str, ...]:
    took = f"{data['text']} after {show_duration(round(data['seconds']))}"
    if data["role"] in ("executor", "reviewer"):
        went_well = data["how"] == "ended" and data["code"] == 0
        return () if went_well else (f"{data['where']}: {took}: {data['transcript']}",)
    return (f"  agent    {took} ({data['transcript']})",)


def _tests(data: _Data) -> tuple[str, ...]:
    if data["how"] != "ended":
        return (f"  tests    {data['how']} after {show_duration(data['seconds'])} ({data['log']})",)
    return (f"  tests    {data['reason']} ({show_duration(data['seconds'])})",)


def _step(data: _Data) -> tuple[str, ...]:
    if data["status"] in _SHOWN_STATUSES:
        return (f"{data['task']}: attempt {data['attempt']}: {data['status']}: {data['reason']}",)
    return (f"{data['task']}: attempt {data['attempt']}: {data['reason']}",) if data["failed"] else ()


def _ended(data: _Data) -> tuple[str, ...]:
    took = show_duration(data["seconds"])
    if "tasks" in data:
        spent = f"{data['done']} of {count(len(data['tasks']), 'task')} finished, {took}"
    else:
        spent = f"{count(data['iterations'], 'iteration')}, {took}"
    return (f"drive ends: {data['outcome']}: {data['reason']} ({spent})",)


_LINES: Mapping[str, Callable[[_Data], tuple[str, ...]]] = {
    "drive-started": _started,
    "iteration-started": lambda data: (f"iteration {data['number']}: {data['phase']}",),
    "step-started": lambda data: (f"{data['task']}: attempt {data['attempt']}: {data['step']}",),
    "agent-ended": _agent,
    "tests-ended": _tests,
    "claim-weighed": lambda data: (f"  claim    {data['outcome']}: {data['reason']}",),
    "answer": lambda data: (f"  signal   {data['answer']}: {data['reason']}",),
    "waits": lambda data: (f"  waits    {show_duration(data['seconds'])}: {data['reason']}",),
    "iteration-ended": lambda data: (f"  verdict  {data['reason']}" if data["outcome"] == "go-on" else "",),
    "step-ended": _step,
    "committed": lambda data: (f"{data['task']}: committed as {data['commit'][:10]}",),
    "person-needed": lambda data: (f"{data['task']}: waits for a person: {data['reason']}" if "task" in data else "",),
    "decided": lambda data: (f"{data['task']}: {data['way']} by {data['by']}: {data['reason']}",),
    "note": lambda data: (f"  note     {data['text']}",),
    "drive-ended": _ended,
}
