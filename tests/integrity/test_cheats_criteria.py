"""What looks like a test for each criterion, one by one."""

from __future__ import annotations

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.cheats_criteria import CRITERIA_ROWS
from tests.integrity.rows import Row


@pytest.mark.sampled(4)
@pytest.mark.cheats(26)
@pytest.mark.parametrize("row", CRITERIA_ROWS, ids=lambda row: row.name)
def test_refuses(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)
