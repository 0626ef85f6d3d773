"""Run the sweeps as a whole, and print what they visited.

`python -m tests.faults [--jobs N] [--step N] [--once] [--kinds ...] [--operations ...]
[--only faults|power|kills|verification|leftovers]`
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.faults.kills import kill_at_random
from tests.faults.leftovers import find_rows, leave_rows
from tests.faults.operations import OPERATIONS, Operation
from tests.faults.points import ERRORS, KILLS
from tests.faults.power import fail_everywhere
from tests.faults.sweep import Sweeper, Swept
from tests.faults.verifications import STEPS, Walk


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
    parser.add_argument("--only", choices=("faults", "power", "kills", "verification", "leftovers"))
    parser.add_argument("--times", type=int, default=20, help="kills at random times, without workers and with them")
    parser.add_argument("--once", action="store_true", help="leave out faults that stay for good")
    given = parser.parse_args()
    are_well = [
        sweep_all(given) if given.only in (None, "faults") else True,
        fail_all(given.step) if given.only in (None, "power") else True,
        kill_all(given.times) if given.only in (None, "kills") else True,
        kill_steps(given.step) if given.only in (None, "verification") else True,
        leave_all(given.jobs, given.step) if given.only in (None, "leftovers") else True,
    ]
    return 0 if all(are_well) else 1


def sweep_all(given: argparse.Namespace) -> bool:
    """Fail and die at every file operation."""
    chosen = [index for index, each in enumerate(OPERATIONS) if each.name in given.operations]
    problems: list[str] = []
    visited = 0
    print("| operation | fault | points | went on from | acknowledged |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    with ProcessPoolExecutor(given.jobs) as pool:
        tasks = [
            pool.submit(sweep_operation, index, kind, _ways(kind, once=given.once), given.step)
            for index in chosen
            for kind in given.kinds
        ]
        for swept in (each for task in tasks for each in task.result()):
            name = f"{swept.kind}{', for good' * swept.for_good}"
            row = (swept.operation, name, swept.visited, swept.went_on, swept.acknowledged)
            print(f"| {' | '.join(map(str, row))} |", flush=True)
            visited += swept.visited
            problems += swept.problems
    print(f"\n{visited} fault points visited, {len(problems)} problems\n", flush=True)
    print(*problems, sep="\n", file=sys.stderr, flush=True)
    return bool(visited) and not problems


def leave_all(jobs: int, step: int) -> bool:
    """Leave replaced whatever a run's end calls, and leave everything else behind."""
    rows = find_rows()[::step]
    print(f"{len(rows)} things that a test may leave behind\n", flush=True)
    problems: list[str] = []
    counts = Counter[str]()
    with ProcessPoolExecutor(jobs) as pool:
        for found, problem in pool.map(leave_rows, [rows[start::jobs] for start in range(jobs)]):
            counts += found
            problems += problem
    print("| recorded | not recorded, and said so | pytest gave up | problems |")
    print("| --- | --- | --- | --- |")
    print(f"| {counts['recorded']} | {counts['refused']} | {counts['crashed']} | {len(problems)} |\n", flush=True)
    print(*problems, sep="\n", file=sys.stderr, flush=True)
    return bool(rows) and not problems


def kill_steps(step: int) -> bool:
    """Kill every step of the verification gate."""
    print("| step | kill | points |")
    print("| --- | --- | --- |", flush=True)
    problems: list[str] = []
    for index, (name, _, _) in enumerate(STEPS):
        for kind in KILLS:
            with tempfile.TemporaryDirectory(prefix="faults-") as place:
                walk = Walk(Path(place))
                try:
                    killed = walk.kill_during(index, kind=kind, step=step)
                finally:
                    walk.close()
            print(f"| {name} | {kind} | {killed.visited} |", flush=True)
            problems += killed.problems
    print(*problems, sep="\n", file=sys.stderr, flush=True)
    return not problems


def fail_all(step: int) -> bool:
    """Let the power fail everywhere."""
    print("| step | moments | images |")
    print("| --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        counts = fail_everywhere(Path(place), step=step)
    for name, count in counts.items():
        print(f"| {name} | {count.moments} | {count.images} |")
    print(f"\n{sum(count.images for count in counts.values())} images recovered from\n", flush=True)
    return all(count.images for count in counts.values())


def kill_all(times: int) -> bool:
    """Kill real runs at random times."""
    for workers in (False, True):
        with tempfile.TemporaryDirectory(prefix="faults-") as place:
            found = kill_at_random(Path(place), times=times, workers=workers, seed=times)
        print(f"{times} kills {'with two workers' if workers else 'without workers'}: {found}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
