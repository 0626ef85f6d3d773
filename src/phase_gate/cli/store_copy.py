"""`phase-gate store copy`: tasks from one place to another, verified; a copy that was broken off goes on."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._store import FOLDER, SHARED, find_place
from phase_gate.errors import NotAllowedError
from phase_gate.project import Project
from phase_gate.stores.copying import Place, copied_to_json, copy_task, list_tasks
from phase_gate.visible import count, show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    places = f"{FOLDER}, {SHARED}, or a store's address"
    parser.add_argument("source", metavar="FROM", help=places)
    parser.add_argument("target", metavar="TO", help=places)


def run(call: Call) -> Answer:
    project = call.project()
    source, target = find_place(project, call.arguments.source), find_place(project, call.arguments.target)
    return copy_all(project, source, target, task=call.arguments.task)


def copy_all(project: Project, source: Place, target: Place, *, task: str | None) -> Answer:
    """Copy one task, or all of them."""
    if _is_same(source, target):
        raise NotAllowedError("both places are the same", remedy=f"phase-gate store copy {FOLDER} {SHARED}")
    tasks = list_tasks(source)
    if task is not None and task not in tasks:
        raise NotAllowedError(f"{source.shown} has no task {task}", remedy="name one that it has, or leave --task out")
    done = []
    for name in tasks if task is None else (task,):
        with tempfile.TemporaryDirectory() as scratch:
            done.append(copy_task(name, source, target, key=project.key, scratch=Path(scratch)))
    rows = [f"{each.task}: {count(each.lines, 'line')}, {each.lines - each.known} of them new" for each in done]
    return Answer(
        text=show_rows((*rows, f"copied from {source.shown} to {target.shown}: {count(len(done), 'task')}, verified")),
        document={"from": source.shown, "to": target.shown, "tasks": [copied_to_json(each) for each in done]},
    )


def _is_same(one: Place, other: Place) -> bool:
    if one.folder is not None and other.folder is not None:
        return one.folder.resolve() == other.folder.resolve()
    return (one.folder, one.shown) == (other.folder, other.shown)
