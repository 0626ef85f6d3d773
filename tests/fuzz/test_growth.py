"""No input is slow: a megabyte within seconds of processor time. `python -m tests.fuzz` tries some thousand."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.fuzz.growth import grow, known_rows
from tests.fuzz.targets import all_targets


@pytest.mark.sweep
def test_what_took_minutes_takes_seconds() -> None:
    """In a process without threads, which forks one child an input."""
    command = [sys.executable, "-m", "tests.fuzz", "--known"]
    # With the extras, which our own fixtures take away.
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" soon") == len(known_rows())


def test_every_target_grows() -> None:
    for name in all_targets():
        rows = list(grow(name, size=1_000))
        assert len({row.name for row in rows}) == len(rows) > 5
        assert all(len(row.data) >= 1_000 for row in rows)
