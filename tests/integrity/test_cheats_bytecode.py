"""Bytecode that nobody should believe, one by one; and the ordinary kind."""

from __future__ import annotations

import pytest

from tests.integrity.bench import ProvingBench, Workbench
from tests.integrity.cheats_bytecode import BYTECODE, BYTECODE_TWINS
from tests.integrity.rows import Attempt, Row


@pytest.mark.cheats(50)
@pytest.mark.processes
@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", BYTECODE, ids=lambda row: row.name)
def test_refuses(proving_bench: ProvingBench, row: Row) -> None:
    # A sandbox has no bytecode of the project: what runs there is what lies there.
    proving_bench.check_disproven(row)


@pytest.mark.parametrize("twin", BYTECODE_TWINS.values(), ids=BYTECODE_TWINS)
def test_opens(bench: Workbench, twin: Attempt) -> None:
    bench.check_twin(twin)
