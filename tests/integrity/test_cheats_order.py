"""Ways around the order of phases, one by one."""

from __future__ import annotations

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.cheats_order import ORDER
from tests.integrity.rows import Row


@pytest.mark.sampled(3)
@pytest.mark.cheats(33)
@pytest.mark.parametrize("row", ORDER, ids=lambda row: row.name)
def test_refuses(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)
