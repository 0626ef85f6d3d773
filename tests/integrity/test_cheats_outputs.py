"""Frozen content that pretends to be an output, one by one; and outputs."""

from __future__ import annotations

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.cheats_outputs import OUTPUT_TWINS, OUTPUTS
from tests.integrity.rows import Attempt, Row


@pytest.mark.sampled(3)
@pytest.mark.cheats(42)
@pytest.mark.parametrize("row", OUTPUTS, ids=lambda row: row.name)
def test_refuses(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)


@pytest.mark.parametrize("twin", OUTPUT_TWINS.values(), ids=OUTPUT_TWINS)
def test_opens(bench: Workbench, twin: Attempt) -> None:
    bench.check_twin(twin)
