"""Kill -9 at random times during real runs of pytest, with and without workers."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.faults.children import Children
from tests.faults.invariants import (
    assert_chain_holds,
    assert_life_goes_on,
    assert_locks_free,
    assert_streak_has_evidence,
)
from tests.faults.operations import PYTEST, Project, green_once

#: The run lasts for a while, so that a kill may come at any time of it.
SLOW_TESTS = """\
import time

import pytest


@pytest.mark.parametrize("number", range(8))
def test_slow(number):
    time.sleep(0.05)
"""
WORKERS = ("-p", "xdist.plugin", "-n", "2")


def kill_at_random(place: Path, *, times: int, workers: bool, seed: int) -> dict[str, int]:
    """Return how many runs died before they began, in the middle, and after their end was written."""
    chance = random.Random(seed)
    children = Children(place / "children")
    found = {"before": 0, "lost": 0, "ended": 0}
    try:
        project = Project(place, children)
        green_once(project)
        project.write({"test_slow.py": SLOW_TESTS})
        words = (*PYTEST, "--phase=green", *(WORKERS if workers else ()))
        command = [sys.executable, "-m", *words]
        began = time.monotonic()
        done = subprocess.run(command, cwd=project.root, env=project.environment(), capture_output=True, check=False)
        lasts = time.monotonic() - began
        assert done.returncode in (0, 10), done.stdout
        project.keep()
        for _ in range(times):
            project.restore()
            before = project.store.look().serial
            process = subprocess.Popen(
                command,
                cwd=project.root,
                env=project.environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(chance.uniform(0.3, 1.1) * lasts)
            process.send_signal(signal.SIGKILL)
            process.wait()
            # Not a word yet to those who come later: whatever is there now has to do.
            store = project.store
            assert_chain_holds(project)
            assert_locks_free(store)
            assert_streak_has_evidence(store)
            opened = store.look()
            is_lost = bool(opened.state.open_runs)
            found["lost" if is_lost else "before" if opened.serial == before else "ended"] += 1
            assert_life_goes_on(project, is_damaged=False, is_lost=is_lost)
    finally:
        children.close()
    return found
