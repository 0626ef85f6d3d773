"""What `phase-gate doctor --self-test` tries: the same table, row by row."""

from __future__ import annotations

import pytest

from phase_gate.selftest.rows import TABLE, Row
from tests.selftest.bench import FastWorkbench


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_refuses_the_cheat(bench: FastWorkbench, row: Row) -> None:
    bench.check_cheat(row)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.twin_name)
def test_opens_for_the_honest_twin(bench: FastWorkbench, row: Row) -> None:
    bench.check_twin(row.twin)
