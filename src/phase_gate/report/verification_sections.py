"""Tasks of the verification gate in a task's story: the same numbers as everywhere, as sections of a report."""

from __future__ import annotations

from phase_gate.core.verification import Verification
from phase_gate.core.verification_stats import RECENT, Overview
from phase_gate.gate.measured import Table
from phase_gate.report.story.model import Section
from phase_gate.report.verification import progress_bar, stats_pairs, step_list


def sections_of(overview: Overview, verification: Verification | None) -> tuple[Section, ...]:
    """Return the parts: this task, if it is one of them, and all of them, if there are any."""
    found: list[Section] = []
    if verification is not None:
        lines = (progress_bar(verification), *step_list(verification), f"Status: {verification.status}")
        weak = (f"Weak: {why}" for why in verification.weak_because)
        found.append(Section(title="Executor, verify command, reviewer", lines=(*lines, *weak)))
    if overview.total:
        found.append(Section(title="Tasks", tables=_tables(overview)))
    return tuple(found)


def _tables(overview: Overview) -> tuple[Table, ...]:
    tasks = tuple(
        (row.name, row.word, f"{row.step}/3", str(row.attempt), row.wave, row.commit[:10]) for row in overview.rows
    )
    tables = [
        Table(title="Statistics", columns=("what", "number"), rows=tuple(stats_pairs(overview))),
        Table(title="Tasks", columns=("task", "status", "step", "attempts", "wave", "commit"), rows=tasks),
    ]
    failures = tuple(
        (
            row.name,
            str(failure.attempt),
            str(failure.type),
            failure.error.strip().partition("\n")[0],
            (failure.resolution or "yes") if failure.recovered else "no",
        )
        for row, failure in overview.failures[:RECENT]
    )
    if failures:
        columns = ("task", "attempt", "failure", "error", "recovered")
        tables.append(Table(title="Recent failures", columns=columns, rows=failures))
    return tuple(tables)
