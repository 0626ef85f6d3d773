"""Measure commands side by side: interleaved rounds, ratios within a round, medians over rounds.

Machines are noisy: a time by itself says nothing, a ratio to what ran a second before says something. For small
differences see `instructions`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

#: Measures one command in a folder.
Take = Callable[[Sequence[str], Path], float]


def take_seconds(command: Sequence[str], folder: Path) -> float:
    """Return the seconds that a command took."""
    start = time.perf_counter()
    run(command, folder)
    return time.perf_counter() - start


def take_memory(command: Sequence[str], folder: Path) -> float:
    """Return the most memory that a command had, in MiB."""
    process = subprocess.Popen(command, cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / 1024


def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with nothing of this machine's own settings; a closed gate is as good an end as an open one."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 10), done.stdout + done.stderr
    return done


def _environment(folder: Path) -> dict[str, str]:
    # Without compiled files every start would compile what an installation has compiled long ago.
    dropped = ("PHASE_GATE_", "PYTEST_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {
        **kept,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(folder), kept.get("PYTHONPATH")))),
        "XDG_STATE_HOME": str(folder / ".user-state"),
    }


def interleave(
    measures: Mapping[str, Callable[[], float]],
    *,
    rounds: int,
    warm_up: Mapping[str, Callable[[], float]] | None = None,
) -> dict[str, list[float]]:
    """Return each one's values, round by round, after one round to warm up; each round begins with another one.

    :param warm_up: what to do in that first round, where measuring takes much longer than doing.
    """
    names = list(measures)
    values: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        (warm_up or measures)[name]()
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
