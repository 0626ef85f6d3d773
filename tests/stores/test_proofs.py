"""Many machines, kills and faults on real servers: a sample of them, or all with `tox -e stores`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.stores import proofs
from tests.stores.database import LARGE
from tests.stores.handing_out import workers_at_once
from tests.stores.kinds import KINDS
from tests.support import needs_fork

pytestmark = [pytest.mark.processes, pytest.mark.timeout(proofs.LIMIT)]

_LONG = pytest.mark.sweep


@pytest.mark.parametrize(
    "proof",
    [
        pytest.param(
            partial(proofs.writers_at_once, writers=50 if LARGE else 2, changes=20 if LARGE else 2), id="writers"
        ),
        pytest.param(partial(proofs.killed_at_every_step, every=1 if LARGE else 15), id="killed", marks=needs_fork),
        pytest.param(partial(proofs.failing_at_every_step, every=1 if LARGE else 5), id="answers-lost"),
        pytest.param(partial(proofs.runs_at_once, runs=12 if LARGE else 3), id="runs", marks=_LONG),
        pytest.param(
            partial(
                workers_at_once,
                tasks=1000 if LARGE else 10,
                workers=20 if LARGE else 3,
                kills=20 if LARGE else 1,
            ),
            id="handing-out",
            marks=(_LONG, needs_fork),
        ),
    ],
)
@pytest.mark.parametrize("kind", [kind for kind in ("git-file", "postgresql") if LARGE or kind in KINDS])
def test_a_proof(tmp_path: Path, clean_environment: pytest.MonkeyPatch, kind: str, proof: Any) -> None:
    with KINDS[kind](tmp_path) as server:
        print(proof(server, tmp_path / "machines"))


@needs_fork
def test_handing_out_with_a_state_folder(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    tasks, workers, kills = (1000, 20, 20) if LARGE else (24, 4, 2)
    print(workers_at_once(None, tmp_path / "machines", tasks=tasks, workers=workers, kills=kills))


if LARGE:

    @pytest.mark.parametrize(
        ("kind", "proof"),
        [
            ("git-ssh", partial(proofs.writers_at_once, writers=12, changes=20)),
            ("git-ssh", partial(proofs.runs_at_once, runs=12)),
            ("postgresql", partial(proofs.server_killed, times=10, writers=8, changes=20)),
        ],
    )
    def test_a_large_proof(tmp_path: Path, clean_environment: pytest.MonkeyPatch, kind: str, proof: Any) -> None:
        with KINDS[kind](tmp_path) as server:
            print(proof(server, tmp_path / "machines"))
