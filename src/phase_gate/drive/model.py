"""What a drive keeps of itself in the state of its task, and what a report tells of it. Pure.

Everything that `--resume` needs is here: settings, goal, iterations, seconds spent, and what was open when it died.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.codec import from_json
from phase_gate.gate.measured import Section, Table
from phase_gate.gate.parts import DRIVE, Part
from phase_gate.gate.state import Event, State
from phase_gate.values import Value, field, replace
from phase_gate.visible import count
from phase_gate.workflow.names import show_duration
from phase_gate.workflow.settings import DriveSettings

#: Iterations that the state lists; the ledger has all of them.
_LISTED = 200


class OpenIteration(Value):
    """An iteration whose agent works, or whose tests run."""

    number: int
    phase: str
    at: str
    #: What every process of the agent is known by.
    mark: str
    #: Seconds that its agent took; None while that is at work.
    agent_seconds: float | None = None


class Iteration(Value):
    """One iteration that has ended."""

    drive: str
    number: int
    phase: str
    at: str
    #: How the agent ended: `ended`, `timed-out`, `interrupted`, `not-started`, `waits`, or `lost` with its driver.
    how: str
    code: int | None = None
    #: Seconds of the agent, of our own run of the tests, and of waiting: for a client to be free, or for votes.
    agent_seconds: float = 0.0
    suite_seconds: float = 0.0
    waited_seconds: float = 0.0
    #: What was decided: a value of `chain.Outcome`; and why.
    outcome: str = ""
    reason: str = ""
    #: Whether it counts for the budget of iterations.
    counts: bool = True

    @property
    def seconds(self) -> float:
        return self.agent_seconds + self.suite_seconds + self.waited_seconds


class DriveState(Value):
    id: str
    at: str
    settings: DriveSettings
    #: Object with what is to be built; None if that was not told.
    goal: str | None = None
    #: The number of the last iteration, how many count, and the seconds of all.
    number: int = 0
    counted: int = 0
    seconds: float = 0.0
    #: Iterations in a row in which nothing changed.
    idle: int = 0
    open: OpenIteration | None = None
    #: How it ended, a value of `chain.Outcome`; empty while it goes on, or if it was killed.
    outcome: str = ""
    reason: str = ""
    iterations: tuple[Iteration, ...] = field(default_factory=tuple)

    @property
    def is_resumable(self) -> bool:
        return self.outcome != "done"


def find_drive(state: State) -> DriveState | None:
    """Return the last drive of a task; None where it was never driven."""
    drive: DriveState | None = state.parts.get(DRIVE)
    return drive


def require_drive(state: State) -> DriveState:
    """Return the drive that goes on."""
    drive = find_drive(state)
    assert drive is not None, "it was started"
    return drive


def change(value: DriveState | None, event: Event) -> DriveState | None:
    """Return what is kept after one more event."""
    data = event.data
    if event.kind == "drive-started":
        return _started(value, data, event.at)
    if value is None:
        return None
    if event.kind == "iteration-started":
        row = from_json(OpenIteration, {**data["iteration"], "at": event.at})
        return replace(value, number=row.number, counted=value.counted + 1, open=row)
    if event.kind == "agent-ended" and value.open is not None:
        return replace(value, open=replace(value.open, agent_seconds=data["seconds"]))
    if event.kind == "iteration-ended":
        ended = from_json(Iteration, data["iteration"])
        return replace(
            value,
            open=None,
            counted=value.counted - (not ended.counts),
            seconds=round(value.seconds + ended.seconds, 3),
            idle=data["idle"],
            iterations=(*value.iterations, ended)[-_LISTED:],
        )
    if event.kind == "drive-ended":
        return replace(value, open=None, outcome=data["outcome"], reason=data["reason"])
    return value


def _started(value: DriveState | None, data: Mapping[str, Any], at: str) -> DriveState:
    settings = from_json(DriveSettings, data["settings"])
    if data["resumed"] and value is not None:
        return replace(value, settings=settings, goal=data["goal"], outcome="", reason="", idle=0)
    past = () if value is None else value.iterations
    return DriveState(id=data["id"], at=at, settings=settings, goal=data["goal"], iterations=past)


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
        return () if value is None else (section_of(value),)


PART = DrivePart()


# --- for the report: the agent's time against that of the tests


def section_of(drive: DriveState) -> Section:
    """Return what a report tells of the drives of a task."""
    rows = drive.iterations
    agent, suite = sum(row.agent_seconds for row in rows), sum(row.suite_seconds for row in rows)
    spent = f"the agent took {show_duration(agent)}, the tests {show_duration(suite)}"
    ended = f"{drive.outcome}: {drive.reason}" if drive.outcome else "not ended"
    return Section(
        title="Drive",
        lines=(f"{count(len(rows), 'iteration')}; {spent}", f"the last drive: {ended}"),
        tables=(
            Table(
                title="Iterations of the drive",
                columns=("iteration", "phase", "began", "agent", "agent's time", "tests' time", "waited", "decision"),
                rows=tuple(map(_row, rows)),
            ),
        ),
    )


def _row(row: Iteration) -> tuple[str, ...]:
    how = row.how if row.code in (0, None) else f"failed with {row.code}"
    return (
        str(row.number),
        row.phase,
        row.at,
        how,
        show_duration(row.agent_seconds),
        show_duration(row.suite_seconds),
        show_duration(row.waited_seconds) if row.waited_seconds else "",
        f"{row.outcome}: {row.reason}" if row.reason else row.outcome,
    )
