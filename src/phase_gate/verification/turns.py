"""Record how long an agent worked on a task."""

from __future__ import annotations

from phase_gate.gate.state import Event
from phase_gate.storage.again import again_if_moved
from phase_gate.verification.board import TaskSession


@again_if_moved
def record_turn(session: TaskSession, *, role: str, seconds: float, how: str) -> None:
    """Record the end of an agent's turn in the attempt that goes on."""
    with session.store.transaction() as change:
        change.record(Event(kind="agent-worked", data={"role": role, "seconds": seconds, "how": how}))
