"""Reds that give no reason to write code, one by one."""

from __future__ import annotations

import pytest

from phase_gate.selftest.rows import Row
from tests.integrity.cheats_red import RED
from tests.integrity.shared import numbered
from tests.selftest.bench import FastWorkbench


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", numbered(RED))
def test_refuses(bench: FastWorkbench, row: Row) -> None:
    bench.check_cheat(row)
