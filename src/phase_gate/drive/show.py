"""Iterations of a drive for the report, as a drawing and a table: the agent's time against that of the tests."""

from __future__ import annotations

from phase_gate.drive.model import DriveState, Iteration
from phase_gate.gate.measured import Section, Stretch, Table, TimeLanes
from phase_gate.visible import count
from phase_gate.workflow.names import show_duration

#: In the order of an iteration; the last is for a client that is busy, and for votes.
_LANES = ("agent", "tests", "waits")


def section_of(drive: DriveState) -> Section:
    """Return what a report tells of the drives of a task."""
    rows = drive.iterations
    agent, suite = sum(row.agent_seconds for row in rows), sum(row.suite_seconds for row in rows)
    spent = f"the agent took {show_duration(agent)}, the tests {show_duration(suite)}"
    ended = f"{drive.outcome}: {drive.reason}" if drive.outcome else "not ended"
    return Section(
        title="Drive",
        lines=(f"{count(len(rows), 'iteration')}; {spent}", f"the last drive: {ended}"),
        times=TimeLanes(
            title="The agent's time and the tests' time, iteration by iteration",
            unit="iteration",
            lanes=_LANES if any(row.waited_seconds for row in rows) else _LANES[:2],
            stretches=tuple(map(_stretch, rows)),
        ),
        tables=(
            Table(
                title="Iterations of the drive",
                columns=("iteration", "phase", "began", "agent", "agent's time", "tests' time", "waited", "decision"),
                rows=tuple(map(_row, rows)),
            ),
        ),
    )


def _stretch(row: Iteration) -> Stretch:
    agent, tests, waits = _LANES
    return Stretch(
        name=f"iteration {row.number}",
        group=row.phase,
        spans=((agent, row.agent_seconds), (tests, row.suite_seconds), (waits, row.waited_seconds)),
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
