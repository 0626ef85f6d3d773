"""What a drive owns of a task's state, for the table of `gate.parts`. Pure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from phase_gate.drive.model import DriveState, change
from phase_gate.gate.measured import Section
from phase_gate.gate.parts import Part
from phase_gate.gate.state import Event, State


class DrivePart(Part):
    kind = DriveState

    def reduce(self, value: DriveState | None, event: Event) -> DriveState | None:
        return change(value, event)

    def holds_signal(self, value: DriveState) -> str:
        if value.open is None or value.open.agent_seconds is not None:
            return ""
        return f"phase-gate drive is in iteration {value.open.number}, and its agent is at work"

    def refuses_answer(self, value: DriveState, answer: str) -> str:
        if answer == "done" and value.settings.signal == "ask":
            return "a person gives the signal in this drive"
        return ""

    def sections(
        self, value: DriveState | None, *, folder: Path, look: Callable[[str], State | None]
    ) -> tuple[Section, ...]:
        if value is None:
            return ()
        from phase_gate.drive.show import section_of  # here, not above: only reports draw it

        return (section_of(value),)


PART = DrivePart()
