"""Hand out a list of tasks to workers that are processes, some of them killed: who got what, and whether any twice.

Workers are processes on several machines where tasks are shared, and on one machine where they lie in a state folder.
Each asks for the next task again and again, and writes down what it got before it asks for another one.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from multiprocessing import get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from phase_gate.codec import to_json
from phase_gate.gate.order import Entry, How, entry_events
from phase_gate.gate.state import Event
from phase_gate.project import Project
from phase_gate.stores import choosing
from phase_gate.tasks.board import TaskBoard
from phase_gate.tasks.model import TaskSpec
from phase_gate.tasks.next_task import NextOptions, Nothing, hand_out
from phase_gate.tasks.rules import set_limits
from phase_gate.tasks.start import verification_workflow
from phase_gate.values import Value
from phase_gate.workflow.model_json import workflow_to_json

#: Seconds without a task that was handed out: however busy the machine is, one of 20 workers comes sooner.
_LONGEST = 600.0


class Handed(Value):
    """What came of it."""

    tasks: int
    workers: int
    #: Workers that were killed with -9.
    killed: int
    #: How often an attempt of each task began, by the ledgers.
    begun: Mapping[str, int]
    #: What each worker wrote down, as pairs of worker and task.
    told: tuple[tuple[str, str], ...]
    #: The worker that each ledger names.
    owners: Mapping[str, str]
    seconds: float

    @property
    def twice(self) -> list[str]:
        """The tasks that were handed out twice, to whomever."""
        by_ledger = [task for task, times in self.begun.items() if times > 1]
        counted = Counter(task for _, task in self.told)
        return sorted({*by_ledger, *(task for task, times in counted.items() if times > 1)})

    @property
    def never(self) -> list[str]:
        return sorted(task for task, times in self.begun.items() if not times)

    @property
    def mistaken(self) -> list[tuple[str, str]]:
        """What a worker believes to have, and the ledger gives to another one."""
        return [(worker, task) for worker, task in self.told if self.owners.get(task) != worker]


def make_project(root: Path) -> Path:
    root.mkdir(parents=True)
    (root / "phase-gate.yaml").write_text("verification: {}\n", encoding="utf-8")
    (root / "check.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    return root


def open_board(root: Path, environment: Mapping[str, str]) -> TaskBoard:
    return TaskBoard(Project.find(root, environment=environment), wanted=None, owner="worker")


def take_many(root: Path, number: int, environment: Mapping[str, str]) -> None:
    """Take a list of tasks as `verify start` does, without a look at the files for each."""
    board = open_board(root, environment)
    workflow = verification_workflow(board.project)
    rules, phase = workflow_to_json(workflow), workflow.first
    memory: dict[str, Any] = {"git": None, "files": {}, "texts": {}}
    for index in range(number):
        spec = TaskSpec(
            name=f"part {index:04}",
            files=(f"part_{index:04}.py",),
            action="write it",
            verify=f"{sys.executable} check.py {index}",
            done="it is written",
        )
        store = board.session(spec.slug).store
        with store.transaction() as change:
            change.record(
                *entry_events(change.state, Entry(phase, How.BEGIN), workflow, run=None, allow_non_interactive=False)
            )
            data = {
                "spec": to_json(spec),
                "limits": set_limits(spec, {}, {}),
                # A worker here only takes tasks: none may lose one because the machine is slow.
                "untimed": True,
                "flags": [],
                "memory": store.keep("evidence", memory),
                "attachments": [],
                "rules": store.objects.keep(rules),
                **({"place": board.place} if board.place else {}),
            }
            change.record(Event(kind="task-taken", data=data))


def work(root: Path, name: str, log: Path, environment: Mapping[str, str]) -> None:
    """Take one task after the other, until there is none."""
    choosing._opened.clear()  # connections are the parent's
    with log.open("a", encoding="utf-8") as file:
        while True:
            board = open_board(root, environment)
            found = hand_out(board, NextOptions(by=name, show=lambda text: None))
            if isinstance(found, Nothing):
                return
            file.write(f"{found.task}\n")
            file.flush()


class _Workers:
    def __init__(self, folder: Path, roots: list[Path], environment: Mapping[str, str]) -> None:
        self.folder, self.roots, self.environment = folder, roots, environment
        self.running: dict[str, ForkProcess] = {}
        self.started = 0

    def start(self) -> None:
        name = f"worker-{self.started}"
        root = self.roots[self.started % len(self.roots)]
        self.started += 1
        # Forked: a worker of its own, without the time that an interpreter takes to start.
        process = get_context("fork").Process(
            target=work, args=(root, name, self.folder / f"{name}.log", self.environment)
        )
        process.start()
        self.running[name] = process

    def told(self) -> list[tuple[str, str]]:
        return [
            (log.stem, task)
            for log in sorted(self.folder.glob("worker-*.log"))
            for task in log.read_text(encoding="utf-8").split()
        ]


#: Machines that share a store: several workers on each.
_MACHINES = 4


@contextlib.contextmanager
def _in(environment: Mapping[str, str]) -> Iterator[None]:
    """Have these variables: a database's own library reads them from the process."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def run_workers(
    folder: Path, *, tasks: int, workers: int, kills: int, environment: Mapping[str, str], is_shared: bool
) -> Handed:
    """Take a list, let workers have it, kill some of them, and count."""
    with _in(dict(environment)):
        return _run_workers(folder, tasks, workers, kills, dict(environment), is_shared=is_shared)


def _run_workers(
    folder: Path, tasks: int, workers: int, kills: int, environment: Mapping[str, str], *, is_shared: bool
) -> Handed:
    first = make_project(folder / "machine-0")
    take_many(first, tasks, environment)
    roots = [first]
    if is_shared:
        for number in range(1, min(workers, _MACHINES)):
            roots.append(folder / f"machine-{number}")
            shutil.copytree(first, roots[-1], ignore=shutil.ignore_patterns(".phase-gate"))
    crew = _Workers(folder, roots, environment)
    began = time.monotonic()
    for _ in range(workers):
        crew.start()
    killed = handed = 0
    moved = began
    #: A worker is killed each time when so many more tasks were handed out.
    step = max(1, tasks // (kills + 1))
    try:
        while crew.running:
            if len(crew.told()) > handed:
                handed, moved = len(crew.told()), time.monotonic()
            elif time.monotonic() - moved > _LONGEST:
                raise TimeoutError(f"{handed} of {tasks} tasks, and no other one for {_LONGEST:g} s")
            for name, process in list(crew.running.items()):
                if process.exitcode is not None:
                    assert process.exitcode == 0, f"{name} ended with {process.exitcode}"
                    del crew.running[name]
            if crew.running and killed < kills and len(crew.told()) >= step * (killed + 1):
                name = random.choice(list(crew.running))
                process = crew.running.pop(name)
                process.kill()
                process.join()
                killed += 1
                crew.start()
            time.sleep(0.02)
    finally:
        for process in crew.running.values():
            process.kill()
            process.join()
    seconds = time.monotonic() - began
    begun, owners = _read_ledgers(first, environment)
    return Handed(
        tasks=tasks,
        workers=workers,
        killed=killed,
        begun=begun,
        told=tuple(crew.told()),
        owners=owners,
        seconds=seconds,
    )


def _read_ledgers(root: Path, environment: Mapping[str, str]) -> tuple[dict[str, int], dict[str, str]]:
    board = open_board(root, environment)
    names = [row.task for row in board.overview.rows]
    begun: dict[str, int] = {}
    owners: dict[str, str] = {}
    for task in names:
        text = (root / ".phase-gate" / "tasks" / task / "ledger.jsonl").read_text(encoding="utf-8")
        found = [line["data"] for line in map(json.loads, text.splitlines()) if line["kind"] == "attempt-began"]
        begun[task] = len(found)
        for data in found:
            owners[task] = data["by"]
    return begun, owners
