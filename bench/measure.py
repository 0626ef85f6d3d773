"""Measure commands side by side: interleaved rounds, ratios within a round, medians over rounds.

Machines are noisy: a time by itself says nothing, a ratio to what ran a second before says something. Instruction
counts are repeatable and slow; they are for small differences.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


def run_once(command: Sequence[str], folder: Path, *, keep_state: bool = False, expects: int = 0) -> float:
    """Return the seconds that one run took."""
    if not keep_state:
        shutil.rmtree(folder / ".phase-gate", ignore_errors=True)
    start = time.perf_counter()
    _run(command, folder, expects)
    return time.perf_counter() - start


def count_instructions(command: Sequence[str], folder: Path) -> float:
    """Return the instructions that one run took, counted by valgrind."""
    shutil.rmtree(folder / ".phase-gate", ignore_errors=True)
    done = _run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command], folder, 0)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None, done.stderr
    return float(found.group(1))


def _run(command: Sequence[str], folder: Path, expects: int) -> subprocess.CompletedProcess[str]:
    # Without compiled files every start would compile what an installation has compiled long ago.
    dropped = ("PHASE_GATE_", "PYTEST_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    environment = {
        **kept,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(folder), kept.get("PYTHONPATH")))),
        "XDG_STATE_HOME": str(folder / ".user-state"),
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == expects, done.stdout + done.stderr
    return done


def interleave(measures: Mapping[str, Callable[[], float]], *, rounds: int) -> dict[str, list[float]]:
    """Return each one's values, round by round, after one round to warm up; each round begins with another one."""
    names = list(measures)
    values: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        measures[name]()
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            values[name].append(measures[name]())
    return values


def ratios(values: Mapping[str, Sequence[float]], base: str) -> dict[str, float]:
    """Return the median over rounds of each one's ratio to the base in the same round."""
    return {
        name: statistics.median(value / reference for value, reference in zip(row, values[base], strict=True))
        for name, row in values.items()
    }
