"""Take many walks, several at once."""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from phase_gate.values import Value
from tests.walks.session import start_server
from tests.walks.walk import WORKFLOWS, Outcome, make_walk, shrink, take
from tests.warm import WarmServer


class Order(Value):
    """A walk to take: whose dead end is made as short as it can be."""

    workflow: str
    seed: int
    shrinks: bool = True


def take_many(orders: list[Order], jobs: int) -> Iterator[Outcome]:
    """Yield how each walk ended, in their order."""
    if jobs == 1:
        yield from map(take_one, orders)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(take_one, orders)


def take_all(*, walks: int, jobs: int) -> str:
    """Take so many walks of every workflow; return their figures."""
    lines = []
    for workflow in WORKFLOWS:
        outcomes = list(take_many([Order(workflow=workflow, seed=seed) for seed in range(walks)], jobs))
        ends = [show(outcome) for outcome in outcomes if outcome.problem]
        assert not ends, "\n".join(ends)
        lines.append(f"\n  {workflow}: {summarise(outcomes)}")
    return "".join(lines)


def take_one(order: Order) -> Outcome:
    outcome = take(make_walk(order.workflow, order.seed), warm_server())
    return shrink(outcome, warm_server()) if outcome.problem and order.shrinks else outcome


@cache
def warm_server() -> WarmServer:
    """Return the one server of this process."""
    return start_server(Path(tempfile.mkdtemp(prefix="phase-gate-walks-")))


def summarise(outcomes: list[Outcome]) -> str:
    """Return the figures of some walks in a line."""
    steps = [outcome.finish.steps for outcome in outcomes if outcome.finish]
    lengths = [len(outcome.walk.steps) for outcome in outcomes]
    by_person = sum(bool(outcome.finish and outcome.finish.by_person) for outcome in outcomes)
    found = f"median {statistics.median(steps):.0f}, worst {max(steps)}" if steps else "none"
    return (
        f"{len(outcomes)} walks of {min(lengths)} to {max(lengths)} actions, {len(outcomes) - len(steps)} dead ends; "
        f"steps to the exit: {found}; {by_person} needed a person"
    )


def show(outcome: Outcome) -> str:
    """Return a walk without an exit as a shell session, and how to repeat it."""
    line = "-" * 100
    return f"{line}\n{outcome.session}\n{outcome.problem}\n--walk '{outcome.walk}'\n{line}"
