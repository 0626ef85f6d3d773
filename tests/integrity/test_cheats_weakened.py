"""Tests that check less, one by one."""

from __future__ import annotations

import pytest

from phase_gate.selftest.rows import Row
from tests.integrity.cheats_weakened import WEAKENED
from tests.integrity.shared import numbered
from tests.selftest.bench import FastWorkbench


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", numbered(WEAKENED))
def test_refuses(bench: FastWorkbench, row: Row) -> None:
    bench.check_cheat(row)
