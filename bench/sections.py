"""What is measured, one function a section: each returns rows of ratios to its first row."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.contenders import ACTIVE, AGAIN, BARE, INACTIVE, JUNIT, Contender, present
from bench.measure import Take, interleave, ratios, take_memory, take_seconds
from bench.suites import write_suite, write_tree

PASS = "python -c pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured, and how."""

    folder: Path
    #: Sizes of suites; the slope is taken between the first two.
    sizes: tuple[int, ...] = (1000, 2000, 10_000)
    files: int = 10_000
    #: Sizes of the suites that a proof is measured in.
    proven: tuple[int, ...] = (20, 500, 10_000)
    #: How many targets a step has whose proof is measured.
    targets: tuple[int, ...] = (1, 5, 20)
    rounds: int = 5
    take: Take = take_seconds
    unit: str = "time"
    contenders: tuple[Contender, ...] = tuple(present())

    def suite(self, tests: int) -> Path:
        place = self.folder / f"suite-{tests}"
        return place if place.exists() else write_suite(place, tests)

    def compare(self, contenders: Sequence[Contender], folder: Path, *more: str, take: Take | None = None) -> Rows:
        chosen = take or self.take
        return interleave(
            {each.name: partial(chosen, each.command(*more), folder) for each in contenders},
            rounds=self.rounds,
            warm_up={each.name: partial(take_seconds, each.command(*more), folder) for each in contenders},
        )


Rows = dict[str, list[float]]
Table = dict[str, float]
Section = tuple[str, Table]


def start_up(plan: Plan) -> Iterator[Section]:
    rows = plan.compare([BARE, AGAIN, INACTIVE], plan.suite(1), "--collect-only")
    yield f"start-up with --collect-only, one test: {plan.unit} beside bare", ratios(rows, BARE.name)
    rows = plan.compare([BARE, AGAIN, ACTIVE, JUNIT], plan.suite(1))
    yield f"a run of one test: {plan.unit} beside bare", ratios(rows, BARE.name)


def each_test(plan: Plan) -> Iterator[Section]:
    """Whole runs at each size, and what one more test costs between the first two."""
    found = {}
    for size in plan.sizes:
        found[size] = plan.compare(plan.contenders, plan.suite(size))
        yield f"a run of {size:,} tests: {plan.unit} beside bare", ratios(found[size], BARE.name)
    less, more = (found[size] for size in plan.sizes[:2])
    slopes = {name: [b - a for a, b in zip(less[name], more[name], strict=True)] for name in less}
    yield f"each test more: {plan.unit} beside bare", ratios(slopes, BARE.name)


def workers(plan: Plan) -> Iterator[Section]:
    """The same with two workers."""
    size = plan.sizes[-1]
    rows = plan.compare(plan.contenders, plan.suite(size), "-p", "xdist.plugin", "-n", "2", take=take_seconds)
    yield f"{size:,} tests with -n 2: time beside bare", ratios(rows, BARE.name)


def memory(plan: Plan) -> Iterator[Section]:
    size = plan.sizes[-1]
    rows = plan.compare(plan.contenders, plan.suite(size), take=take_memory)
    yield f"{size:,} tests: peak memory beside bare", ratios(rows, BARE.name)


def commands(plan: Plan) -> Iterator[Section]:
    """What a question costs, beside an interpreter that does nothing."""
    folder = plan.suite(1)
    take_seconds(ACTIVE.command(), folder)  # so that there is a state to look at
    gate = [sys.executable, "-m", "phase_gate.cli"]
    asked = {
        PASS: [sys.executable, "-c", "pass"],
        **{name: [*gate, *name.split()] for name in ("status", "check", "hook stop")},
    }
    rows = interleave(
        {name: partial(plan.take, command, folder) for name, command in asked.items()}, rounds=plan.rounds
    )
    yield f"a command: {plan.unit} beside {PASS}", ratios(rows, PASS)


_FINGERPRINT = """\
import os, sys, time
from pathlib import Path
from phase_gate.project import Project
project = Project.find(Path.cwd(), environment=dict(os.environ))
project.take_tree()
start = time.perf_counter()
project.take_tree()
print(time.perf_counter() - start)
"""


def fingerprint(plan: Plan) -> Iterator[Section]:
    """A look at the whole tree, beside git's own."""
    with tempfile.TemporaryDirectory(dir=plan.folder) as name:
        folder = write_tree(Path(name), plan.files)
        ours = [sys.executable, "-c", _FINGERPRINT]
        git = ["git", "status", "--porcelain"]
        rows = interleave(
            {
                "git status": partial(take_seconds, git, folder),
                "git status again (control)": partial(take_seconds, git, folder),
                "a fingerprint, without the interpreter's start": partial(_printed, ours, folder),
            },
            rounds=plan.rounds,
        )
        yield f"{plan.files:,} files of 8 KB: time beside git status", ratios(rows, "git status")


def _printed(command: list[str], folder: Path) -> float:
    from bench.measure import run

    return float(run(command, folder).stdout)


_ENDING = """\
import time

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish():
    start = time.perf_counter()
    result = yield
    print(f"ended in {time.perf_counter() - start}")
    return result
"""


def run_end(plan: Plan) -> Iterator[Section]:
    """What the end of a run takes, beside the whole run of bare pytest."""
    size = plan.sizes[-1]
    folder = plan.suite(size)
    (folder / "ending.py").write_text(_ENDING, encoding="utf-8")
    rows = interleave(
        {
            "a whole run of bare pytest": partial(take_seconds, BARE.command(), folder),
            **{
                f"the end of a run: {each.name}": partial(_ended, each.command("-p", "ending", "-s"), folder)
                for each in (BARE, ACTIVE, JUNIT)
            },
        },
        rounds=plan.rounds,
    )
    yield f"{size:,} tests: time at the end, beside the whole run", ratios(rows, "a whole run of bare pytest")


def _ended(command: list[str], folder: Path) -> float:
    from bench.measure import run

    return float(run(command, folder).stdout.rpartition("ended in ")[2].split()[0])


def proof(plan: Plan) -> Iterator[Section]:
    """What a proof takes, beside one run of the whole suite; and how often it starts pytest."""
    from bench.proof import TARGETS, take_proof

    starts: Table = {}
    for size in plan.proven:
        folder = plan.suite(size)
        suite = "one run of the suite"

        def prove(folder: Path = folder, name: str = f"{size:,} tests") -> float:
            found = take_proof(folder)
            starts[name] = found["starts"]
            return float(found["seconds"])

        prove()  # so that its tests are part of the suite
        rows = interleave({suite: partial(take_seconds, BARE.command(), folder), "a proof": prove}, rounds=plan.rounds)
        yield f"a proof of {TARGETS} targets in {size:,} tests: time beside {suite}", ratios(rows, suite)
    yield f"a proof of {TARGETS} targets: starts of pytest", starts
    found = {f"{each} targets": take_proof(plan.suite(plan.proven[0]), each) for each in plan.targets}
    yield "a proof: starts of pytest", {name: float(each["starts"]) for name, each in found.items()}
    yield "a proof: processor seconds", {name: float(each["processor"]) for name, each in found.items()}


def keeping(plan: Plan) -> Iterator[Section]:
    """What keeping the project's files takes when RED exits: for git by a commit's name, else by their content."""
    from bench.proof import keep

    for size in plan.proven:
        committed = write_tree(plan.folder / f"kept-{size}", size, size=2000)
        loose = plan.folder / f"loose-{size}"
        shutil.copytree(committed, loose, ignore=shutil.ignore_patterns(".git"))
        taken = {
            "all committed": [keep(committed) for _ in range(plan.rounds)],
            "nothing in git": [keep(loose) for _ in range(plan.rounds)],
        }
        yield (
            f"files kept when RED exits, {size:,} of 2 KB: milliseconds",
            {name: 1000 * statistics.median(each["seconds"] for each in rows) for name, rows in taken.items()},
        )
        yield (
            f"files kept when RED exits, {size:,} of 2 KB: KB before the store compresses them",
            {name: rows[0]["bytes"] / 1000 for name, rows in taken.items()},
        )


SECTIONS: dict[str, Callable[[Plan], Iterator[Section]]] = {
    "start-up": start_up,
    "each-test": each_test,
    "workers": workers,
    "memory": memory,
    "run-end": run_end,
    "commands": commands,
    "fingerprint": fingerprint,
    "proof": proof,
    "keeping": keeping,
}
