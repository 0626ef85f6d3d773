"""What a drive tells while it goes on: values, which a view shows and `--json` prints. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from phase_gate.values import Value, field

Kind = Literal[
    "drive-started",
    "iteration-started",
    "agent-ended",
    "tests-ended",
    "claim-weighed",
    "answer",
    "waits",
    "iteration-ended",
    "person-needed",
    "note",
    "drive-ended",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Happening(Value):
    kind: Kind
    at: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def document(self) -> dict[str, Any]:
        """One line of `phase-gate drive --json`."""
        return {"event": self.kind, "at": self.at, **self.data}


class Progress(Value):
    """What goes on right now, several times a second."""

    #: `agent`, `tests` or `waits`.
    doing: str
    phase: str
    number: int
    #: Of what goes on, and of the whole drive.
    seconds: float
    limit: float
    spent: float
    lines: tuple[str, ...] = ()
    is_ending: bool = False
