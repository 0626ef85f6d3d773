"""Tests that are not there any more, one by one."""

from __future__ import annotations

import pytest

from phase_gate.selftest.rows import Row
from tests.integrity.cheats_removal import REMOVAL
from tests.integrity.shared import numbered
from tests.selftest.bench import FastWorkbench


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", numbered(REMOVAL))
def test_refuses(bench: FastWorkbench, row: Row) -> None:
    bench.check_cheat(row)
