"""What a drive keeps of itself in the state of its task. Pure.

Everything that `--resume` needs is here: settings, goal, iterations, seconds spent, and what was open when it died.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.codec import from_json
from phase_gate.gate.parts import DRIVE
from phase_gate.gate.state import Event, State
from phase_gate.values import Value, field, replace
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
    #: SHA-256 of the word that an answer has to repeat.
    nonce: str
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
    #: Iterations in a row in which nothing changed, and in which the client was not free.
    idle: int = 0
    waits: int = 0
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
            waits=value.waits + 1 if ended.how == "waits" else 0,
            iterations=(*value.iterations, ended)[-_LISTED:],
        )
    if event.kind == "drive-ended":
        return replace(value, open=None, outcome=data["outcome"], reason=data["reason"])
    return value


def _started(value: DriveState | None, data: Mapping[str, Any], at: str) -> DriveState:
    settings = from_json(DriveSettings, data["settings"])
    if data["resumed"] and value is not None:
        return replace(value, settings=settings, goal=data["goal"], outcome="", reason="", idle=0, waits=0)
    past = () if value is None else value.iterations
    return DriveState(id=data["id"], at=at, settings=settings, goal=data["goal"], iterations=past)
