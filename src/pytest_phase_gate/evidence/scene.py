"""What a provider gets to look at, and what it is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Protocol

from pytest_phase_gate.core.evidence import Measured
from pytest_phase_gate.core.settings import Configuration
from pytest_phase_gate.core.values import Value


def say_nothing(text: str) -> None:
    """Where nobody watches."""


class Scene(Value):
    """The project at the moment of a look."""

    root: Path
    #: The task's own folder: what a provider keeps goes below it.
    folder: Path
    configuration: Configuration
    #: What the phase's condition and guards speak of.
    wanted: frozenset[str]
    #: Shows a line to whoever waits.
    show: Callable[[str], None] = say_nothing


class Provider(Protocol):
    """One kind of evidence."""

    def measures(self, scene: Scene) -> Collection[str]:
        """Return the names that it can give in this project."""

    def measure(self, scene: Scene) -> Measured:
        """Look. What it raises makes all of its names unknown."""
