"""Meaning outside of the test folders, one by one; and the code beside it, which is free to change."""

from __future__ import annotations

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.cheats_outside import MISSING_ROWS, OUTSIDE_ROWS, OUTSIDE_TWINS
from tests.integrity.rows import Attempt, Row


@pytest.mark.sampled(4)
@pytest.mark.cheats(47)
@pytest.mark.parametrize("row", [*OUTSIDE_ROWS, *MISSING_ROWS], ids=lambda row: row.name)
def test_refuses(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)


@pytest.mark.parametrize("twin", OUTSIDE_TWINS.values(), ids=OUTSIDE_TWINS)
def test_opens(bench: Workbench, twin: Attempt) -> None:
    bench.check_twin(twin)
