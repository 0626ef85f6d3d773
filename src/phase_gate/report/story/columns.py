"""Runs as the columns of a timeline, and their phases. However many runs there are, the columns are few. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from phase_gate.report.story.model import Happening, HappeningKind, Run
from phase_gate.values import Value

#: More would be too thin to point at.
AT_MOST = 200

#: Which happenings have a sign in the timeline; phases have bands.
SIGNED = tuple(kind for kind in get_args(HappeningKind) if kind not in ("entered", "claim", "note"))


class Column(Value):
    """One run, or some that follow each other: the worst of them is drawn."""

    runs: tuple[Run, ...]
    happenings: tuple[Happening, ...] = ()

    @property
    def worst(self) -> Run:
        return max(self.runs, key=lambda run: (run.failed, run.total))

    @property
    def first(self) -> Run:
        return self.runs[0]

    @property
    def last(self) -> Run:
        return self.runs[-1]

    @property
    def resets(self) -> bool:
        return any(run.resets for run in self.runs)


class Band(Value):
    """Columns of one phase, one after the other."""

    phase: str
    cycle: int
    first: int
    last: int


def columns_of(runs: Sequence[Run], happenings: Iterable[Happening], at_most: int = AT_MOST) -> tuple[Column, ...]:
    """Return the runs as at most so many columns, each with what happened by its end."""
    if not runs:
        return ()
    size = -(-len(runs) // at_most)
    begin = runs[0].number
    by_column: dict[int, list[Happening]] = {}
    for each in happenings:
        if each.kind in SIGNED and each.run >= begin:
            by_column.setdefault((each.run - begin) // size, []).append(each)
    return tuple(
        Column(runs=tuple(runs[start : start + size]), happenings=tuple(by_column.get(index, ())))
        for index, start in enumerate(range(0, len(runs), size))
    )


def bands_of(columns: Iterable[Column]) -> tuple[Band, ...]:
    """Return the phases below the columns. One with runs of several phases belongs to the last of them."""
    bands: list[Band] = []
    for index, column in enumerate(columns):
        phase, cycle = column.last.phase, column.last.cycle
        if bands and (bands[-1].phase, bands[-1].cycle) == (phase, cycle):
            bands[-1] = Band(phase=phase, cycle=cycle, first=bands[-1].first, last=index)
        else:
            bands.append(Band(phase=phase, cycle=cycle, first=index, last=index))
    return tuple(bands)
