"""Run the sweeps as a whole: `python -m tests.faults [--jobs N] [--step N] [--kinds ...] [--operations ...]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.faults.operations import OPERATIONS, Operation
from tests.faults.points import ERRORS, KILLS
from tests.faults.sweep import Sweeper, Swept


def sweep_operation(index: int, kind: str, ways: tuple[bool, ...], step: int) -> list[Swept]:
    """Sweep one operation with one kind, once and for good, in a folder of its own."""
    operation: Operation = OPERATIONS[index]
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        sweeper = Sweeper(operation, Path(place))
        try:
            return [sweeper.sweep(kind, for_good=for_good, step=step) for for_good in ways]
        finally:
            sweeper.close()


def _ways(kind: str, *, once: bool) -> tuple[bool, ...]:
    return (False,) if once or kind in KILLS else (False, True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--step", type=int, default=1, help="visit every Nth point only")
    parser.add_argument("--kinds", nargs="+", choices=(*ERRORS, *KILLS), default=(*ERRORS, *KILLS))
    parser.add_argument("--operations", nargs="+", default=[each.name for each in OPERATIONS])
    parser.add_argument("--once", action="store_true", help="leave out faults that stay for good")
    given = parser.parse_args()
    chosen = [index for index, each in enumerate(OPERATIONS) if each.name in given.operations]
    failed = False
    print("| operation | fault | points | went on from | acknowledged |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    with ProcessPoolExecutor(given.jobs) as pool:
        tasks = [
            pool.submit(sweep_operation, index, kind, _ways(kind, once=given.once), given.step)
            for index in chosen
            for kind in given.kinds
        ]
        visited = 0
        for task in tasks:
            for swept in task.result():
                name = f"{swept.kind}{', for good' * swept.for_good}"
                print(
                    f"| {swept.operation} | {name} | {swept.visited} | {swept.went_on} | {swept.acknowledged} |",
                    flush=True,
                )
                visited += swept.visited
                failed |= bool(swept.problems)
                for problem in swept.problems:
                    print(problem, file=sys.stderr, flush=True)
    print(f"\n{visited} fault points visited")
    return 1 if failed or not visited else 0


if __name__ == "__main__":
    sys.exit(main())
