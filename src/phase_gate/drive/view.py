"""The display of a drive: its events as lines, and the status line. Pure.

An agent's output is escaped first, so that it can't move the cursor or imitate our own lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.agents.endings import describe_event
from phase_gate.values import Value, field
from phase_gate.visible import show_line, show_rows
from phase_gate.workflow.names import show_duration

#: Bytes kept of a command's output for display: an event has a few thousand.
_TAIL = 1 << 16


class Happening(Value):
    """An event of a running drive: a view prints its lines, and `--json` its data."""

    kind: str
    at: str
    #: For people; empty if the next event shows what happens.
    lines: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return show_rows(self.lines)

    @property
    def document(self) -> dict[str, Any]:
        """The line of `phase-gate drive --json`."""
        return {"event": self.kind, "at": self.at, **self.data}


class Working(Value):
    """Who is working."""

    #: `agent`, `tests`, `executor`, `verify`, `reviewer`, a voter's name, or `waits`.
    role: str
    #: The phase or the task, and the number of the iteration or the attempt.
    where: str
    number: int
    #: The time limit in seconds; 0 for none.
    limit: float = 0.0


_DOING = {"tests": "tests run", "verify": "verify command runs", "waits": "waits"}


def render_status(working: Working, seconds: float, tail: Tail) -> str:
    """Return the status line, which is redrawn: who works, for how long, and the last line of output."""
    doing = _DOING.get(working.role, f"{working.role} works")
    limit = f" of {show_duration(working.limit)}" if working.limit else ""
    parts = (f"{working.where} {working.number}", f"{doing} {show_duration(seconds)}{limit}", tail.last())
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
