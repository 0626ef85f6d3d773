"""Tests that check less, one by one."""

from __future__ import annotations

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.cheats_weakened import WEAKENED
from tests.integrity.rows import Row
from tests.integrity.shared import numbered


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", numbered(WEAKENED))
def test_refuses(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)
