"""Every honest twin of the integrity tables opens both gates with a proof, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.cheats_bytecode import BYTECODE_TWINS
from tests.integrity.cheats_outputs import OUTPUT_TWINS
from tests.integrity.cheats_unseen import UNSEEN_TWINS
from tests.integrity.lax import PROVEN, under
from tests.integrity.rows import TABLE, Attempt
from tests.integrity.shared import distinct_twins
from tests.integrity.test_honest_twins import ALL
from tests.integrity.test_process import TWINS as PROCESS_TWINS
from tests.integrity.twins_genuine import TWINS as GENUINE_TWINS
from tests.warm import WITH_PROOF

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


class ProvingBench(Workbench):
    """A bench whose runs and commands make proofs."""

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        return {**super().environment(more), WITH_PROOF: "yes"}

    def signal(self, twin: Attempt) -> tuple[int, dict[str, Any]]:
        """Say that the last attempt is done."""
        root = self._folder / f"attempt-{self._count}"
        said = self._run(
            root, ["-m", "phase_gate.cli", "signal", "--reason", "done", "--json"], dict(twin.base.environment)
        )
        return said.returncode, json.loads(said.stdout)


@pytest.fixture(scope="module")
def proving_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProvingBench]:
    bench = ProvingBench(tmp_path_factory.mktemp("proving-bench"))
    yield bench
    bench.close()


@pytest.mark.sampled(60)
@pytest.mark.parametrize("twin", list(TWINS.items()), ids=lambda twin: twin[0])
def test_opens(proving_bench: ProvingBench, twin: tuple[str, Attempt]) -> None:
    proving_bench.check_twin(twin[1])
    code, said = proving_bench.signal(twin[1])
    assert code == 0, (said.get("reason"), said.get("findings"))
    assert said.get("metrics", {}).get("targets_disproven", 0) == 0
