"""No task of a database is handed out twice."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from phase_gate.stores.address import StoreAddress
from tests.stores.handing_out import run_workers
from tests.stores.test_handing_out import check


def test_with_a_database(tmp_path: Path, address: Callable[..., StoreAddress]) -> None:
    given = address()
    environment = {**os.environ, "PHASE_GATE_STORE": f"{given.place}#{given.project}"}
    check(run_workers(tmp_path, tasks=16, workers=4, kills=2, environment=environment, is_shared=True))
