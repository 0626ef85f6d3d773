"""The best known cheats, each refused, and the honest twin of each."""

from __future__ import annotations

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.rows import TABLE, Row


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_refuses_the_cheat(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.twin_name)
def test_opens_for_the_honest_twin(bench: Workbench, row: Row) -> None:
    bench.check_twin(row.twin)
