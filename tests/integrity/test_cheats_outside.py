"""Meaning outside of the test folders, one by one; and the code beside it, which is free to change."""

from __future__ import annotations

import pytest

from tests.integrity.bench import ProvingBench, Workbench
from tests.integrity.cheats_outside import JUDGED_ROWS, OPEN_OUTSIDE, OUTSIDE_ROWS, OUTSIDE_TWINS
from tests.integrity.rows import Attempt, Row


@pytest.mark.sampled(4)
@pytest.mark.cheats(47)
@pytest.mark.parametrize("row", OUTSIDE_ROWS, ids=lambda row: row.name)
def test_refuses(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)


@pytest.mark.processes
@pytest.mark.cheats(47)
@pytest.mark.parametrize("row", JUDGED_ROWS, ids=lambda row: row.name)
def test_disproves(proving_bench: ProvingBench, row: Row) -> None:
    proving_bench.check_disproven(row)


@pytest.mark.parametrize("twin", OUTSIDE_TWINS.values(), ids=OUTSIDE_TWINS)
def test_opens(bench: Workbench, twin: Attempt) -> None:
    bench.check_twin(twin)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("attempt", OPEN_OUTSIDE.values(), ids=OPEN_OUTSIDE)
def test_is_open(bench: Workbench, attempt: Attempt) -> None:
    tried = bench.attempt(attempt)
    assert tried.is_open, tried.output
