"""Honest work opens the gate, and nothing is said against it."""

from __future__ import annotations

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.cheats_criteria import CRITERIA_ROWS
from tests.integrity.cheats_order import ORDER
from tests.integrity.cheats_outcomes import OUTCOMES
from tests.integrity.cheats_red import RED
from tests.integrity.cheats_removal import REMOVAL
from tests.integrity.cheats_selection import SELECTION
from tests.integrity.cheats_silence import SILENCE
from tests.integrity.cheats_weakened import WEAKENED
from tests.integrity.rows import Attempt
from tests.integrity.shared import distinct_twins, rows_of
from tests.integrity.twins import TWINS
from tests.integrity.twins_real import REAL_TWINS

_NUMBERED = (SELECTION, REMOVAL, SILENCE, WEAKENED, OUTCOMES, RED)
BESIDE_CHEATS = distinct_twins(rows_of(*_NUMBERED) + ORDER + CRITERIA_ROWS)
ALL = {**BESIDE_CHEATS, **TWINS, **REAL_TWINS}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("twin", BESIDE_CHEATS.values(), ids=BESIDE_CHEATS)
def test_opens_beside_a_cheat(bench: Workbench, twin: Attempt) -> None:
    bench.check_twin(twin)


# None is left out: each is a kind of its own.
@pytest.mark.parametrize("twin", [*TWINS.values(), *REAL_TWINS.values()], ids=[*TWINS, *REAL_TWINS])
def test_opens(bench: Workbench, twin: Attempt) -> None:
    bench.check_twin(twin)
