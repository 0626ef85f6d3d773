"""No task is handed out twice: workers as processes, some of them killed. All of it with `python -m tests.stores`."""

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
from tests.stores.conftest import HAS_DATABASE
from tests.stores.handing_out import Handed, run_workers
from tests.stores.kinds import KINDS, make_bare


def check(handed: Handed) -> None:
    assert handed.twice == []
    assert handed.never == []
    assert handed.mistaken == []
    assert len(handed.begun) == handed.tasks
    # What no worker wrote down was handed to one that was killed before it could.
    assert handed.tasks - len(handed.told) <= handed.killed


def test_with_a_state_folder(tmp_path: Path) -> None:
    check(run_workers(tmp_path, tasks=24, workers=4, kills=2, environment=os.environ, is_shared=False))


@pytest.mark.sweep
@pytest.mark.skipif("git-file" not in KINDS, reason="git is not installed")
def test_with_a_git_remote(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    bare = make_bare(tmp_path / "remote.git")
    environment = {**os.environ, "PHASE_GATE_STORE": f"git:{bare}#shop"}
    check(run_workers(tmp_path, tasks=10, workers=3, kills=1, environment=environment, is_shared=True))


@pytest.mark.skipif(not HAS_DATABASE, reason="PostgreSQL is not installed")
def test_with_a_database(tmp_path: Path, address: Callable[..., StoreAddress]) -> None:
    given = address()
    environment = {**os.environ, "PHASE_GATE_STORE": f"{given.place}#{given.project}"}
    check(run_workers(tmp_path, tasks=16, workers=4, kills=2, environment=environment, is_shared=True))


@pytest.mark.sweep
@pytest.mark.skipif(not HAS_DATABASE, reason="PostgreSQL is not installed")
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
