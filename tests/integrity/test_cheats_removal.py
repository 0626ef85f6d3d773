"""Tests that are not there any more, one by one."""

from __future__ import annotations

import pytest

from tests.integrity.bench import ProvingBench, Workbench
from tests.integrity.cheats_removal import REMOVAL
from tests.integrity.rows import Row
from tests.integrity.shared import numbered


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", numbered(REMOVAL))
def test_refuses(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)


@pytest.mark.processes
@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", numbered(REMOVAL, disproven=True))
def test_disproves(proving_bench: ProvingBench, row: Row) -> None:
    proving_bench.check_disproven(row)
