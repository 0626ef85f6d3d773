"""Ways around the order of phases, one by one."""

from __future__ import annotations

import pytest

from phase_gate.selftest.rows import Row
from tests.integrity.cheats_order import ORDER
from tests.selftest.bench import FastWorkbench


@pytest.mark.sampled(3)
@pytest.mark.cheats(33)
@pytest.mark.parametrize("row", ORDER, ids=lambda row: row.name)
def test_refuses(bench: FastWorkbench, row: Row) -> None:
    bench.check_cheat(row)
