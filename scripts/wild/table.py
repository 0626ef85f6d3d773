"""The result as a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scripts.wild.comparing import Evidence, Said, find_problems
from scripts.wild.projects import Project

_HEAD = ("project", "version", "workers", "tests", "skips", "xfails", "tally equal", "streak", "hard findings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One project, with workers or without."""

    project: Project
    workers: int
    alone: Said
    evidence: Evidence

    @property
    def fails_by_itself(self) -> bool:
        return self.alone.code != 0

    @property
    def problems(self) -> tuple[str, ...]:
        return () if self.fails_by_itself else find_problems(self.evidence, self.alone)

    @property
    def cells(self) -> tuple[str, ...]:
        names = (self.project.name, self.project.version, str(self.workers or "none"))
        ran = {name: number for name, number in self.alone.outcomes.items() if name != "subtests passed"}
        counts = (sum(ran.values()), ran.get("skipped", 0), ran.get("xfailed", 0) + ran.get("xpassed", 0))
        if self.fails_by_itself:
            judged: tuple[str, ...] = ("its own suite fails here", "", "")
        else:
            evidence = self.evidence
            equal = "yes" if evidence.tally_is_equal else "no"
            judged = (equal, str(evidence.streak), str(len(evidence.hard_findings)))
        return (*names, *map(str, counts), *judged)


def count_clean(rows: Sequence[Row]) -> int:
    """Return how many projects ran without a problem, in every way in which they were run."""
    unclean = {row.project.name for row in rows if row.fails_by_itself or row.problems}
    return len({row.project.name for row in rows} - unclean)


def render(rows: Sequence[Row]) -> str:
    """Return the table, with what it was made with above it."""
    made_with = {(run["python"], run["pytest"]) for row in rows for run in row.evidence.runs}
    title = "; ".join(f"Python {python}, pytest {version}" for python, version in sorted(made_with))
    body = [_HEAD, ["---" for _ in _HEAD], *(row.cells for row in rows)]
    return f"{title}\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in body)
