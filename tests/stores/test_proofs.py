"""A sample of `python -m tests.stores`: the same functions with small numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.stores import proofs
from tests.stores.handing_out import workers_at_once
from tests.stores.kinds import KINDS, Server

pytestmark = pytest.mark.processes

_LONG = pytest.mark.sweep


@pytest.fixture(params=[kind for kind in ("git-file", "postgresql") if kind in KINDS])
def server(request: pytest.FixtureRequest, tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> Iterator[Server]:
    with KINDS[request.param](tmp_path) as server:
        yield server


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        pytest.param(partial(proofs.writers_at_once, writers=2, changes=2), "4 acknowledged; lost 0", id="writers"),
        pytest.param(partial(proofs.killed_at_every_step, every=15), "lost 0, doubled 0", id="killed"),
        pytest.param(partial(proofs.failing_at_every_step, every=5), "lost 0, doubled 0", id="answers-lost"),
        pytest.param(partial(proofs.runs_at_once, runs=3), "lost 0", id="runs", marks=_LONG),
        pytest.param(partial(workers_at_once, tasks=10, workers=3, kills=1), "0 twice", id="handing-out", marks=_LONG),
    ],
)
def test_a_proof(server: Server, tmp_path: Path, proof: Any, said: str) -> None:
    assert said in proof(server, tmp_path / "machines")


def test_handing_out_with_a_state_folder(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    assert "0 twice" in workers_at_once(None, tmp_path / "machines", tasks=24, workers=4, kills=2)
