"""What is wrong with a file: raised at once, or collected while the reader goes on with a stand-in.

Loading stops at the first fault. Checking wants all of them: then `Faults` keeps each with its place, and the names
whose description is faulty, so that what only follows from a fault is not reported as another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from phase_gate.errors import PhaseGateError
from phase_gate.values import Value

#: More faults than a user mends in one go; the rest comes with the next look.
MAX_FAULTS = 100


class Place(str):
    """`file:line:column`."""

    line: int
    column: int

    @classmethod
    def of(cls, file: str, line: int, column: int) -> Place:
        place = cls(f"{file}:{line}:{column}")
        place.line, place.column = line, column
        return place


class Fault(Value):
    line: int
    column: int
    slug: str
    problem: str
    remedy: str


class FaultyError(Exception):
    """Raised while faults are collected, where the reader can't go on; up to where there is a stand-in."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class Faults:
    """The faults of one file.

    :param error: what to raise for the first one.
    :param collects: whether the reader goes on.
    """

    def __init__(self, error: type[PhaseGateError], *, collects: bool = False) -> None:
        self.error, self.collects = error, collects
        #: Names of phases, facts, metrics and parameters whose description is faulty.
        self.broken: set[str] = set()
        #: Where parts of the file stand that are looked at when all of it is read, by names that readers agree on.
        self.places: dict[str, Place] = {}
        self._found: dict[Fault, None] = {}

    @property
    def number(self) -> int:
        return len(self._found)

    @property
    def found(self) -> tuple[Fault, ...]:
        return tuple(self._found)

    def report(self, place: str, problem: str, remedy: str) -> None:
        """Raise the fault, or keep it: the caller goes on with a stand-in."""
        if not self.collects:
            raise self.error(f"{place}: {problem}", remedy)
        self.keep(self._fault(place, problem, remedy))

    def stop(self, place: str, problem: str, remedy: str) -> NoReturn:
        """Raise the fault: there is nothing to go on with here."""
        if not self.collects:
            raise self.error(f"{place}: {problem}", remedy)
        raise FaultyError(self._fault(place, problem, remedy))

    def keep(self, fault: Fault) -> None:
        # Some keys are read twice: a fault that two readings show is one.
        if len(self._found) < MAX_FAULTS:
            self._found[fault] = None

    @contextmanager
    def about(self, name: str) -> Iterator[None]:
        """Take the name for broken if a fault is found meanwhile."""
        before = len(self._found)
        yield
        if len(self._found) > before:
            self.broken.add(name)

    def aside(self) -> Faults:
        """Return a collection of its own: for what stands in for something missing, and is wrong only by that."""
        made = Faults(self.error, collects=True)
        made.broken, made.places = self.broken, self.places
        return made

    def _fault(self, place: str, problem: str, remedy: str) -> Fault:
        line, column = (place.line, place.column) if isinstance(place, Place) else (1, 1)
        return Fault(line=line, column=column, slug=self.error.slug, problem=problem, remedy=remedy)
