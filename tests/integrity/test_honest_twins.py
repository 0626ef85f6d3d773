"""Honest work opens the gate, and nothing is said against it."""

from __future__ import annotations

import pytest

from phase_gate.selftest.rows import Attempt
from tests.integrity.cheats_criteria import CRITERIA_ROWS
from tests.integrity.cheats_order import ORDER
from tests.integrity.cheats_outcomes import OUTCOMES
from tests.integrity.cheats_red import RED
from tests.integrity.cheats_removal import REMOVAL
from tests.integrity.cheats_selection import SELECTION
from tests.integrity.cheats_silence import SILENCE
from tests.integrity.cheats_weakened import WEAKENED
from tests.integrity.shared import distinct_twins, rows_of
from tests.integrity.twins import TWINS
from tests.selftest.bench import FastWorkbench

_NUMBERED = (SELECTION, REMOVAL, SILENCE, WEAKENED, OUTCOMES, RED)
ALL = {**distinct_twins(rows_of(*_NUMBERED) + ORDER + CRITERIA_ROWS), **TWINS}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("twin", ALL.values(), ids=ALL)
def test_opens(bench: FastWorkbench, twin: Attempt) -> None:
    bench.check_twin(twin)
