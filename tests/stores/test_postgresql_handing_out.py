"""No task of a database is handed out twice, and the example works on it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.stores.address import StoreAddress
from tests.conftest import ROOT
from tests.docs.blocks import Session
from tests.stores.handing_out import run_workers
from tests.stores.test_handing_out import check


def test_with_a_database(tmp_path: Path, address: Callable[..., StoreAddress]) -> None:
    given = address()
    environment = {**os.environ, "PHASE_GATE_STORE": f"{given.place}#{given.project}"}
    check(run_workers(tmp_path, tasks=16, workers=4, kills=2, environment=environment, is_shared=True))


@pytest.mark.sweep
def test_the_example_on_a_database(tmp_path: Path, address: Callable[..., StoreAddress]) -> None:
    session, given = Session(tmp_path), address()
    shutil.copytree(ROOT / "examples" / "fleet", session.folder, dirs_exist_ok=True)
    # The tables are there, and a writer may not make them.
    script = (session.folder / "fleet.sh").read_text(encoding="utf-8").replace("phase-gate store init\n", "")
    session.write("fleet.sh", script)
    done = subprocess.run(
        ["sh", "fleet.sh", f"{given.place}#{given.project}"],
        cwd=session.folder,
        env={**session.environment(), "PGPASSFILE": os.environ["PGPASSFILE"]},
        capture_output=True,
        text=True,
        timeout=900,  # some fifty starts of Python, on a machine that may be busy
        check=False,
    )
    assert "5 tasks: 5 approved" in done.stdout, done.stdout + done.stderr
