"""Every honest twin of the integrity tables opens both gates with a proof, too."""

from __future__ import annotations

import pytest

from tests.integrity.bench import ProvingBench
from tests.integrity.cheats_bytecode import BYTECODE_TWINS
from tests.integrity.cheats_outputs import OUTPUT_TWINS
from tests.integrity.cheats_unseen import UNSEEN_TWINS
from tests.integrity.lax import PROVEN, under
from tests.integrity.rows import TABLE, Attempt
from tests.integrity.shared import distinct_twins
from tests.integrity.test_honest_twins import ALL
from tests.integrity.test_process import TWINS as PROCESS_TWINS
from tests.integrity.twins_genuine import TWINS as GENUINE_TWINS

pytestmark = pytest.mark.processes

TWINS = {
    **distinct_twins(TABLE),
    **ALL,
    # A conftest.py that came later is refused whatever it does: these rows are about what its hooks do.
    **{name: under(PROVEN, twin) for name, twin in GENUINE_TWINS.items()},
    **PROCESS_TWINS,
    **OUTPUT_TWINS,
    **UNSEEN_TWINS,
    **BYTECODE_TWINS,
}


@pytest.mark.sampled(60)
@pytest.mark.parametrize("twin", list(TWINS.items()), ids=lambda twin: twin[0])
def test_opens(proving_bench: ProvingBench, twin: tuple[str, Attempt]) -> None:
    proving_bench.check_twin(twin[1])
    code, said = proving_bench.signal(twin[1])
    assert code == 0, (said.get("reason"), said.get("findings"))
    assert said.get("metrics", {}).get("targets_disproven", 0) == 0
