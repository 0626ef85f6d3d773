"""The drive's part of a task's state, the outcomes of a drive, and its part of reports. Pure.

Contains everything for `--resume`: settings, goal, iterations, seconds spent, and the iteration that was open.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from phase_gate import exit_codes
from phase_gate.codec import from_json
from phase_gate.gate.measured import Section
from phase_gate.gate.state import DRIVE, Event, State
from phase_gate.gate.state_extensions import Part
from phase_gate.values import Value, replace
from phase_gate.visible import count
from phase_gate.workflow.names import show_duration
from phase_gate.workflow.sections import DriveSettings


class Outcome(StrEnum):
    """How a drive ends, or that it continues. The first that applies wins."""

    INTERRUPTED = "interrupted"
    HALTED = "halted"
    DONE = "done"
    PERSON = "person"
    BUDGET = "budget"
    GO_ON = "go-on"


EXIT_CODES: Mapping[Outcome, int] = {
    Outcome.INTERRUPTED: exit_codes.INTERRUPTED,
    Outcome.HALTED: exit_codes.CIRCUIT_OPEN,
    Outcome.DONE: exit_codes.OPEN,
    Outcome.PERSON: exit_codes.NOT_ALLOWED,
    Outcome.BUDGET: exit_codes.GATE_CLOSED,
}


class Decision(Value):
    """What happens after a turn, or how the drive ends."""

    outcome: Outcome
    reason: str
    #: For the last line: the next command, and what the drive has used.
    next_command: str = ""
    spent: str = ""

    @property
    def ends(self) -> bool:
        return self.outcome is not Outcome.GO_ON

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]


class DriveState(Value):
    id: str
    at: str
    settings: DriveSettings
    #: The object with the goal; None if no goal was given.
    goal: str | None = None
    #: The number of the last iteration, and the seconds of all.
    number: int = 0
    seconds: float = 0.0
    #: Iterations in a row without a change.
    idle: int = 0
    #: When the iteration in progress began; empty if none is.
    began_at: str = ""
    #: How it ended, a value of `Outcome`; empty if it is running or was killed.
    outcome: str = ""
    reason: str = ""

    @property
    def holds_signal(self) -> str:
        """Why no done signal is accepted during an iteration; empty between two."""
        return f"phase-gate drive is in iteration {self.number}, and judges it" if self.began_at else ""

    @property
    def spent(self) -> str:
        return f"{count(self.number, 'iteration')}, {show_duration(self.seconds)}"


def find_drive(state: State) -> DriveState | None:
    """Return a task's last drive; None if it was never driven."""
    drive: DriveState | None = state.parts.get(DRIVE)
    return drive


def require_drive(state: State) -> DriveState:
    """Return the current drive."""
    drive = find_drive(state)
    assert drive is not None, "it was started"
    return drive


class DrivePart(Part):
    kind = DriveState
    events = frozenset({"drive-started", "iteration-started", "iteration-ended", "drive-ended"})

    def reduce(self, value: DriveState | None, event: Event) -> DriveState | None:
        data = event.data
        if event.kind == "drive-started":
            settings = from_json(DriveSettings, data["settings"])
            if data["resumed"] and value is not None:
                return replace(value, settings=settings, goal=data["goal"], outcome="", reason="", idle=0)
            return DriveState(id=data["id"], at=event.at, settings=settings, goal=data["goal"])
        if value is None:
            return None
        if event.kind == "iteration-started":
            return replace(value, number=data["number"], began_at=event.at)
        if event.kind == "iteration-ended":
            seconds = round(value.seconds + data["seconds"], 3)
            return replace(value, began_at="", seconds=seconds, idle=data["idle"])
        if event.kind == "drive-ended":
            return replace(value, began_at="", outcome=data["outcome"], reason=data["reason"])
        return value

    def sections(self, value: DriveState) -> tuple[Section, ...]:
        ended = f"{value.outcome}: {value.reason}" if value.outcome else "not ended"
        return (Section(title="Drive", lines=(value.spent, f"the last drive: {ended}")),)


PART = DrivePart()
