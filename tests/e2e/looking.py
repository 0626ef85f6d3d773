"""Look at what a run left: the state, the history, the buckets. In this process, for a command costs a start."""

from __future__ import annotations

import re
from typing import Any

from phase_gate.cli.story import collect_runs
from phase_gate.gate.state import State
from phase_gate.storage.paths import task_folder
from phase_gate.storage.store import TaskStore
from tests.support import Project

#: The end of pytest's summary line: `5 passed, 1 skipped in 0.12s`.
_SUMMARY = re.compile(r"^(?:=+ )?(?P<counts>\d+ [a-z].*) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$", re.M)


def store_of(project: Project, task: str = "default") -> TaskStore:
    return TaskStore(task_folder(project.root / ".phase-gate", task), task=task)


def state_of(project: Project, task: str = "default") -> State:
    return store_of(project, task).look().state


def history_of(project: Project, task: str = "default") -> list[dict[str, Any]]:
    """Return what `history --json` lists, oldest first."""
    store = store_of(project, task)
    return list(collect_runs(store.lines(), task, lost=store.lost_runs(store.look().state)))


def last_run(project: Project, task: str = "default") -> dict[str, Any]:
    return history_of(project, task)[-1]


def buckets_of(project: Project) -> dict[str, str]:
    """Return every test of the last complete run with its bucket."""
    store = store_of(project)
    latest = store.look().state.snapshots.latest
    assert latest is not None, "there is a complete run"
    files = store.objects.load(latest.inventory)["files"]
    ids = [f"{path}::{name}" if name else path for path, file in files.items() for name in file["ids"]]
    assert len(ids) == len(set(ids)), "an id stands in one file, once"
    odd: dict[str, str] = store.objects.load(latest.outcomes)
    assert set(odd) <= set(ids), "what has an outcome was collected"
    return {test_id: odd.get(test_id, "passed") for test_id in ids}


def summary_of(output: str) -> dict[str, int]:
    """Return the numbers of pytest's own summary line, warnings left out."""
    found = _SUMMARY.findall(output)
    assert found, f"no summary line in:\n{output}"
    counts: dict[str, int] = {}
    for part in found[-1].split(", "):
        number, _, name = part.partition(" ")
        if not name.startswith("warning"):
            counts["errors" if name == "error" else name] = int(number)
    return counts
