"""What a provider gets to look at, and what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from phase_gate.gate.measured import Measured
from phase_gate.values import Value, field
from phase_gate.workflow.settings import Configuration


def say_nothing(text: str) -> None:
    """Where no user watches."""


class FileLines(Value, kw_only=False):
    """What coverage.py says of a file: lines of its statements, of those to leave out, of those that did not run."""

    statements: frozenset[int]
    excluded: frozenset[int]
    missing: frozenset[int]


class UnmeasuredError(Exception):
    """It is not known which lines of a file ran; says why."""


class RunCoverage(Protocol):
    """What coverage.py measured of a run."""

    def lines(self, path: str) -> FileLines:
        """Return the lines of a file, by its path from the root. Raises UnmeasuredError."""


class EvidenceContext(Value):
    """The project at the moment of a look."""

    root: Path
    #: The task's own folder: what a provider keeps goes below it.
    folder: Path
    #: The folder of all tasks: no part of what is measured.
    state_folder: Path
    configuration: Configuration
    #: What the phase's condition and guards speak of.
    wanted: frozenset[str]
    #: Whose rules those are, for messages.
    phase: str = "PHASE"
    #: Shows a line to the user who waits.
    show: Callable[[str], None] = say_nothing
    #: Returns the files of the project that a predicate wants, sorted; none that git ignores.
    list_files: Callable[[Callable[[str], bool]], list[str]] = lambda keep: []
    #: Returns path -> content id of the files that count, as they are now.
    files: Callable[[], Mapping[str, str]] = dict
    #: Returns the same of files that runs have imported, and that git ignores.
    beside: Callable[[], Mapping[str, str]] = dict
    #: Returns what the provider of that name remembered when its cycle or phase began; None if nothing is known.
    recall: Callable[[str], Any] = lambda name: None
    #: Returns the files that have tests, as far as the task knows.
    known_tests: Callable[[], frozenset[str]] = frozenset
    #: What coverage.py measured of the run; None where no run is looked at.
    coverage: RunCoverage | None = None
    #: Providers that a feature brings along, by name.
    more: Mapping[str, Provider] = field(default_factory=dict)


class Provider(Protocol):
    """One kind of evidence. Its names, and since when it compares, stand in `gate.measured`."""

    def measure(self, context: EvidenceContext) -> Measured:
        """Look. What it raises makes all of its names unknown."""

    def remember(self, context: EvidenceContext) -> Any:
        """Return, as JSON, what a later look is to be compared with; None for nothing."""
        return None
