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
from collections.abc import Mapping
from multiprocessing import get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from phase_gate.codec import to_json
from phase_gate.gate.order import Entry, entry_events
from phase_gate.gate.state import Event
from phase_gate.project import Project
from phase_gate.stores import choosing
from phase_gate.tasks.board import TaskBoard
from phase_gate.tasks.rules import set_limits
from phase_gate.tasks.start import Nothing, hand_out
from phase_gate.tasks.work import WORKFLOW, TaskSpec
from tests.stores.kinds import Server
from tests.stores.proofs import at

#: Seconds without a task that was handed out: however busy the machine is, one of 20 workers comes sooner.
_LONGEST = 600.0
#: Machines that share a store: several workers on each.
_MACHINES = 4


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
    workflow = board.project.workflow(WORKFLOW)
    rules, phase = to_json(workflow), workflow.first
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
                *entry_events(change.state, Entry(phase, "begin"), workflow, run=None, allow_non_interactive=False)
            )
            data = {
                "spec": to_json(spec),
                "limits": set_limits(spec, {}),
                # A worker here only takes tasks: none may lose one because the machine is slow.
                "untimed": True,
                "flags": [],
                "memory": store.keep("evidence", memory),
                "attachments": [],
                "rules": store.objects.keep(rules),
                **({"place": board.place} if board.place else {}),
            }
            change.record(Event(kind="task-taken", data=data))


def work(root: Path, log: Path) -> None:
    """Take one task after the other, until there is none."""
    choosing._opened.clear()  # connections are the parent's
    with log.open("a", encoding="utf-8") as file:
        while True:
            found = hand_out(open_board(root, os.environ), by=log.stem, show=lambda text: None)
            if isinstance(found, Nothing):
                return
            file.write(f"{found.task}\n")
            file.flush()


def told(folder: Path) -> list[tuple[str, str]]:
    """Return what the workers wrote down, as pairs of worker and task."""
    logs = sorted(folder.glob("worker-*.log"))
    return [(log.stem, task) for log in logs for task in log.read_text(encoding="utf-8").split()]


def workers_at_once(server: Server | None, folder: Path, *, tasks: int, workers: int, kills: int) -> str:
    """Take a list, let workers have it, kill some of them with -9, and count: each task once, to one worker.

    :param server: None for a state folder, which all workers share.
    """
    with at(server) if server is not None else contextlib.nullcontext():
        roots = [make_project(folder / "machine-0")]
        take_many(roots[0], tasks, os.environ)
        for number in range(1, min(workers, _MACHINES) if server is not None else 1):
            roots.append(folder / f"machine-{number}")
            shutil.copytree(roots[0], roots[-1], ignore=shutil.ignore_patterns(".phase-gate"))
        began = time.monotonic()
        killed = _run(folder, roots, tasks, workers, kills)
        seconds = time.monotonic() - began
        begun = _read_ledgers(roots[0])
    seen = told(folder)
    # What no worker wrote down was handed to one that was killed before it could.
    assert len(begun) == tasks
    assert tasks - len(seen) <= killed
    assert [task for task, owners in begun.items() if len(owners) != 1] == []
    assert [task for task, times in Counter(task for _, task in seen).items() if times > 1] == []
    assert [(worker, task) for worker, task in seen if begun[task] != [worker]] == []
    return f"{tasks} tasks handed out in {seconds:.0f} s, 0 twice; {killed} workers killed"


def _run(folder: Path, roots: list[Path], tasks: int, workers: int, kills: int) -> int:
    running: dict[str, ForkProcess] = {}
    started = killed = handed = 0

    def start() -> None:
        nonlocal started
        # Forked: a worker of its own, without the time that an interpreter takes to start.
        arguments = (roots[started % len(roots)], folder / f"worker-{started}.log")
        running[f"worker-{started}"] = process = get_context("fork").Process(target=work, args=arguments)
        process.start()
        started += 1

    for _ in range(workers):
        start()
    moved = time.monotonic()
    # A worker is killed each time when so many more tasks were handed out.
    step = max(1, tasks // (kills + 1))
    try:
        while running:
            if len(told(folder)) > handed:
                handed, moved = len(told(folder)), time.monotonic()
            elif time.monotonic() - moved > _LONGEST:
                raise TimeoutError(f"{handed} of {tasks} tasks, and no other one for {_LONGEST:g} s")
            for name, process in list(running.items()):
                if process.exitcode is not None:
                    assert process.exitcode == 0, f"{name} ended with {process.exitcode}"
                    del running[name]
            if running and killed < kills and handed >= step * (killed + 1):
                process = running.pop(random.choice(list(running)))
                process.kill()
                process.join()
                killed += 1
                start()
            time.sleep(0.02)
    finally:
        for process in running.values():
            process.kill()
            process.join()
    return killed


def _read_ledgers(root: Path) -> dict[str, list[str]]:
    """Return who began an attempt of each task."""
    found: dict[str, list[str]] = {}
    for row in open_board(root, os.environ).overview.rows:
        text = (root / ".phase-gate" / "tasks" / row.task / "ledger.jsonl").read_text(encoding="utf-8")
        lines = map(json.loads, text.splitlines())
        found[row.task] = [line["data"]["by"] for line in lines if line["kind"] == "attempt-began"]
    return found
