"""`python -m tests.soak`: the whole of it; says what it did, and ends with 1 at the first thing that does not hold."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.soak.contention import runs_at_once, updates_at_once, waiting_is_bounded
from tests.soak.long_life import a_long_life_costs_nothing
from tests.soak.machine import drive
from tests.walks.many import take_all

Part = Callable[[Path], str]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--only", metavar="WORD", default="", help="only the parts with this word in their names")
    parser.add_argument("--stories", type=int, default=100, help="stories of the model, 30 steps each")
    parser.add_argument("--walks", type=int, default=40, help="random walks of each workflow")
    arguments = parser.parse_args()
    parts: dict[str, Part] = {
        "50 processes x 20 updates": lambda folder: updates_at_once(folder, processes=50, updates=20),
        "12 runs on one task": lambda folder: runs_at_once(folder, runs=12, tasks=1),
        "12 runs on 12 tasks": lambda folder: runs_at_once(folder, runs=12, tasks=12),
        "12 waiters in vain": lambda folder: waiting_is_bounded(folder, waiters=12),
        "100,000 events": lambda folder: a_long_life_costs_nothing(folder, events=100_000),
        "the model": lambda folder: drive(stories=arguments.stories, steps=30, derandomize=False),
        "the walks": lambda folder: take_all(walks=arguments.walks, jobs=2),
    }
    for name, part in parts.items():
        if arguments.only in name:
            with tempfile.TemporaryDirectory(prefix="phase-gate-soak-") as folder:
                root = Path(folder) / "root"
                root.mkdir()
                began = time.perf_counter()
                print(f"{name}: {part(root)} ({time.perf_counter() - began:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
