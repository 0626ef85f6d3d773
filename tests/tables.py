"""Tables of tests: the id first, then the row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest


def named(rows: Mapping[str, Iterable[Any]]) -> list[Any]:
    """Return rows for `pytest.mark.parametrize`, each under its id."""
    return [pytest.param(*row, id=name) for name, row in rows.items()]
