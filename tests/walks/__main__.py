"""`python -m tests.walks`: take many walks; say how many steps there were to the exit, and show every dead end."""

from __future__ import annotations

import argparse
import time

from tests.walks.many import Order, show, summarise, take_many, warm_server
from tests.walks.walk import WORKFLOWS, read_walk, take


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.walks", description=__doc__)
    parser.add_argument("--walks", type=int, default=20, metavar="N", help="walks of each workflow")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the first walk's seed")
    parser.add_argument("--workflow", action="append", choices=list(WORKFLOWS), help="only this one; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--walk", metavar="STEPS", help="take this one walk, as it is printed, and show the session")
    parser.add_argument("--no-shrink", action="store_true", help="show dead ends as they were found")
    arguments = parser.parse_args()
    if arguments.walk:
        outcome = take(read_walk(arguments.walk), warm_server())
        print(show(outcome) if outcome.problem else f"{outcome.session}\n{outcome.finish}")
        return bool(outcome.problem)
    dead_ends = 0
    for workflow in arguments.workflow or WORKFLOWS:
        began, outcomes = time.perf_counter(), []
        seeds = range(arguments.seed, arguments.seed + arguments.walks)
        orders = [Order(workflow=workflow, seed=seed, shrinks=not arguments.no_shrink) for seed in seeds]
        for outcome in take_many(orders, arguments.jobs):
            outcomes.append(outcome)
            if outcome.problem:
                print(show(outcome), flush=True)
                dead_ends += 1
        print(f"{workflow}: {summarise(outcomes)} ({time.perf_counter() - began:.0f} s)", flush=True)
    return bool(dead_ends)


if __name__ == "__main__":
    raise SystemExit(main())
