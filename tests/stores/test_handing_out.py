"""No task is handed out twice: workers as processes, some of them killed. All of it with `python -m tests.stores`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.stores.handing_out import Handed, run_workers
from tests.stores.kinds import make_bare


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
def test_with_a_git_remote(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    bare = make_bare(tmp_path / "remote.git")
    environment = {**os.environ, "PHASE_GATE_STORE": f"git:{bare}#shop"}
    check(run_workers(tmp_path, tasks=10, workers=3, kills=1, environment=environment, is_shared=True))
