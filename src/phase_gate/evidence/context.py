"""The interface of providers, and the context that they get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from phase_gate.gate.measured import Measured
from phase_gate.values import Value, field
from phase_gate.workflow.settings import Configuration


def ignore(what: object) -> None:
    """Show nothing, because no user is waiting."""


class FileLines(Value, kw_only=False):
    """coverage.py's analysis of a file: the lines of statements, of excluded ones, and of those that did not run."""

    statements: frozenset[int]
    excluded: frozenset[int]
    missing: frozenset[int]


class UnmeasuredError(Exception):
    """It is unknown which lines of a file ran. The message is the reason."""


class RunCoverage(Protocol):
    """coverage.py's measurement of a run."""

    def lines(self, path: str) -> FileLines:
        """Return the lines of a file. The path is relative to the root. Raises UnmeasuredError."""


class EvidenceContext(Value):
    """The project at the time of a measurement."""

    root: Path
    #: The task's own folder, in which providers store their files.
    folder: Path
    #: The folder of all tasks, which is not measured.
    state_folder: Path
    configuration: Configuration
    #: The names in the phase's condition and guards.
    wanted: frozenset[str]
    #: The name of that phase, for messages.
    phase: str = "PHASE"
    #: Shows a line to the waiting user.
    show: Callable[[str], None] = ignore
    #: Returns the sorted files of the project that match a predicate, without those that git ignores.
    list_files: Callable[[Callable[[str], bool]], list[str]] = lambda keep: []
    #: Returns path -> content id of the current files that count.
    files: Callable[[], Mapping[str, str]] = dict
    #: Returns the same for files that runs have imported and that git ignores.
    beside: Callable[[], Mapping[str, str]] = dict
    #: Returns what the provider of that name remembered at the start of the cycle or phase. None if unknown.
    recall: Callable[[str], Any] = lambda name: None
    #: Returns the files that are known to contain tests.
    known_tests: Callable[[], frozenset[str]] = frozenset
    #: coverage.py's measurement of the run. None without a run.
    coverage: RunCoverage | None = None
    #: Name -> provider, for providers of a feature.
    more: Mapping[str, Provider] = field(default_factory=dict)


class Provider(Protocol):
    """One kind of evidence. `gate.measured` lists its names, and since when it compares.

    By default it measures nothing: it only remembers data for others.
    """

    def measure(self, context: EvidenceContext) -> Measured:
        """Measure. If this raises, all of the provider's names are unknown."""
        return Measured()

    def remember(self, context: EvidenceContext) -> Any:
        """Return data for later comparisons, as JSON. None if there is none."""
        return None
