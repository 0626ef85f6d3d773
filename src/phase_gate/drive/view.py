"""The display of a drive: its events as lines, and the status line. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.values import Value, field
from phase_gate.visible import show_line, show_rows
from phase_gate.workflow.names import show_duration


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


def render_status(working: Working, seconds: float) -> str:
    """Return the status line, which is redrawn: who works, and for how long."""
    doing = _DOING.get(working.role, f"{working.role} works")
    limit = f" of {show_duration(working.limit)}" if working.limit else ""
    return show_line(f"{working.where} {working.number} · {doing} {show_duration(seconds)}{limit}")
