"""Write a command's answer into a file instead of the terminal."""

from __future__ import annotations

from pathlib import Path

from pytest_phase_gate.errors import StorageError


def write_output(path: Path, text: str) -> None:
    """Raises StorageError if the file can't be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"{path.name} could not be written: {error.strerror}", remedy="name a place that can be written"
        ) from error
