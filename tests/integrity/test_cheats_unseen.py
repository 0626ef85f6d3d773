"""Code that git does not show, one by one; and ignored files that nobody has to look at."""

from __future__ import annotations

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.cheats_unseen import UNSEEN, UNSEEN_TWINS
from tests.integrity.rows import Attempt, Row


@pytest.mark.sampled(3)
@pytest.mark.cheats(50)
@pytest.mark.parametrize("row", UNSEEN, ids=lambda row: row.name)
def test_refuses(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)


@pytest.mark.parametrize("twin", UNSEEN_TWINS.values(), ids=UNSEEN_TWINS)
def test_opens(bench: Workbench, twin: Attempt) -> None:
    bench.check_twin(twin)
