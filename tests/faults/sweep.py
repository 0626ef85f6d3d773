"""Sweep one operation: at call 1, 2, ... something happens, until it ends before anything did."""

from __future__ import annotations

import errno
import os
from collections import Counter
from pathlib import Path

from phase_gate.values import Value, field
from tests.faults.children import Children, Ended, Plan
from tests.faults.invariants import (
    assert_acknowledged_is_there,
    assert_all_is_well,
    assert_cause_named,
    assert_chain_holds,
    assert_life_goes_on,
    assert_output_complete,
)
from tests.faults.operations import Operation, Project
from tests.faults.pictures import DAMAGED, files_of, pictures_on_the_way, take_picture, waiting_signal
from tests.faults.points import KILLS, applies


class Swept(Value):
    """What a sweep visited, and what it found."""

    operation: str
    kind: str
    for_good: bool
    #: Fault points that something happened at.
    visited: int = 0
    #: Pictures on disk that a next run went on from.
    went_on: int = 0
    acknowledged: int = 0
    problems: tuple[str, ...] = field(default_factory=tuple)


class Sweeper:
    """One operation in one place, as often as it takes."""

    def __init__(self, operation: Operation, place: Path) -> None:
        self.operation = operation
        self._children = Children(place / "children")
        self.project = Project(place, self._children)
        self._gone_on: set[tuple[object, ...]] = set()
        operation.story(self.project)
        self.project.keep()
        self.project.restore()
        self._old = take_picture(self.project.store)
        serial, signal = 0, None
        if self._old != DAMAGED:
            opened = self.project.store.look()
            serial, signal = opened.serial, waiting_signal(self.project.store, opened.state)
        ended = self._operate(Plan())
        assert ended.code == operation.code, ended.text
        self.calls = ended.calls
        assert self.calls, "the operation goes past the seam"
        store = self.project.store
        self._new = take_picture(store)
        on_the_way = pictures_on_the_way(store, after=serial, signal=signal) if not operation.repairs else []
        self._allowed = {self._old, *on_the_way, self._new}

    def close(self) -> None:
        self._children.close()

    def _operate(self, plan: Plan) -> Ended:
        return self.project.run(*self.operation.words, plan=plan, at_terminal=self.operation.at_terminal)

    def sweep(self, kind: str, *, for_good: bool = False, step: int = 1, first: int = 1) -> Swept:
        """Visit every `step`th point."""
        visited, acknowledged, problems = 0, 0, []
        self._gone_on.clear()
        for at in range(first, len(self.calls) + 1, step):
            if not for_good and not applies(kind, self.calls[at - 1]):
                continue
            self.project.restore()
            ended = self._operate(Plan(at=at, kind=kind, for_good=for_good))
            visited += bool(ended.hits)
            acknowledged += ended.code == self.operation.code
            try:
                self._check(ended, kind)
            except Exception as problem:
                where = f"{self.operation.name}, {kind}{' for good' * for_good} at {at} ({self.calls[at - 1]})"
                problems.append(f"{where}: {type(problem).__name__}: {problem}")
        if step == 1:
            self.project.restore()
            beyond = self._operate(Plan(at=len(self.calls) + 1, kind=kind, for_good=for_good))
            assert not beyond.hits, "the sweep ended before the operation did"
        return Swept(
            operation=self.operation.name,
            kind=kind,
            for_good=for_good,
            visited=visited,
            went_on=len(self._gone_on),
            acknowledged=acknowledged,
            problems=tuple(problems),
        )

    def _check(self, ended: Ended, kind: str) -> None:
        operation, project = self.operation, self.project
        # A short write is no error, so there is nothing to say of it.
        cause = "" if kind == "short" or kind in KILLS else os.strerror(getattr(errno, kind))
        if kind in KILLS:
            assert ended.code == -9 or not ended.hits, ended.text
        else:
            assert_output_complete(operation, ended)
            assert_cause_named(operation, ended, cause)
        if kind == "short":
            assert ended.code == operation.code, ended.text
        seen = assert_all_is_well(project, self._allowed, cause)
        if kind not in KILLS:
            assert_acknowledged_is_there(operation, ended, seen, self._new)
        # Going on takes longer than the fault: once for each picture that a fault leaves on the disk.
        folder = project.root / ".phase-gate"
        key = (seen, files_of(folder), ended.code)
        if key in self._gone_on:
            return
        self._gone_on.add(key)
        opened = None if seen == DAMAGED else project.store.look()
        if opened is not None:
            assert_chain_holds(project)
        is_lost = opened is not None and bool(opened.state.open_runs)
        assert_life_goes_on(project, is_damaged=seen == DAMAGED, is_lost=is_lost)


def total(swept: list[Swept]) -> Counter[str]:
    """Return the visited points for each operation."""
    counts: Counter[str] = Counter()
    for each in swept:
        counts[each.operation] += each.visited
    return counts
