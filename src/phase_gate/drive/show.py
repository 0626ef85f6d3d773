"""Iterations of a drive as tables, for the report: the agent's time against that of the tests."""

from __future__ import annotations

from phase_gate.drive.model import DriveState, Iteration
from phase_gate.gate.measured import Section, Table
from phase_gate.visible import count
from phase_gate.workflow.durations import show_duration


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
                columns=("iteration", "phase", "began", "agent", "agent's time", "tests' time", "decision"),
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
        f"{row.outcome}: {row.reason}" if row.reason else row.outcome,
    )
