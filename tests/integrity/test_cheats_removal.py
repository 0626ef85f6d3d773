"""Tests that are not there any more, one by one."""

from __future__ import annotations

import pytest

from phase_gate.selftest.rows import Row
from tests.integrity.cheats_removal import REMOVAL
from tests.selftest.bench import FastWorkbench


@pytest.mark.parametrize("row", REMOVAL, ids=lambda row: row.name)
def test_refuses(bench: FastWorkbench, row: Row) -> None:
    bench.check_cheat(row)
