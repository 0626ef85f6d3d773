"""Tables that are too long for every run: a sample of them in the suite, all of them with `tox -e sweeps`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")

IS_WHOLE = "EVERY_ROW" in os.environ


def every(step: int, rows: Sequence[T]) -> Sequence[T]:
    """Return every `step`th row, the first one among them."""
    return rows if IS_WHOLE else rows[::step]


def pairs(step: int, ones: Sequence[T], others: Sequence[U]) -> list[tuple[T, U]]:
    """Return pairs in which each of both is met, each with every `step`th of the others only."""
    return [
        (one, other)
        for row, one in enumerate(ones)
        for column, other in enumerate(others)
        if IS_WHOLE or (row + column) % step == 0
    ]
