"""Write down which tree a phase of a pipeline speaks of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.pipeline.begin import require_pipeline
from phase_gate.pipeline.order import rules_of
from phase_gate.pipeline.provider import tree_of
from phase_gate.storage.files import REAL, make_folder, write_atomically
from phase_gate.storage.root import place_below
from phase_gate.storage.store import now
from phase_gate.storage.tree.fingerprint import compile_globs
from phase_gate.storage.tree.git import head_of
from phase_gate.task import Task
from phase_gate.values import Value
from phase_gate.workflow.model import SNAPSHOT


class WrittenSnapshot(Value):
    path: str
    document: Mapping[str, Any]


def write_snapshot(task: Task, output: str | None = None) -> WrittenSnapshot:
    """Write the snapshot of the present phase.

    :param output: where, if the workflow's path is a pattern.
    """
    pipeline = require_pipeline(task)
    project, state, rules = task.project, task.state, rules_of(task.rules)
    wanted = [each for each in rules.artifacts.values() if each.schema == SNAPSHOT]
    if not wanted:
        raise NotAllowedError(
            f"workflow {state.workflow} has no artifact with `schema: {SNAPSHOT}`", remedy="there is nothing to write"
        )
    path = output or wanted[0].path
    if any(character in path for character in "*?["):
        raise UsageError(f"{path} is a pattern, no file", remedy="name the file: --output FILE")
    if not compile_globs([wanted[0].path])(path):
        raise UsageError(f"{path} is not where {wanted[0].name} is looked for", remedy=f"use {wanted[0].path}")
    files = project.take_tree(new_data=False).files
    document = {
        "tree": tree_of(files, rules),
        "files": len(files),
        "commit": head_of(project.root),
        "task": state.task,
        "cycle": state.cycle,
        "phase": state.phase,
        "attempt": pipeline.attempts.get(state.phase or "", 0),
        "at": now(),
    }
    target = place_below(project.root, path, setting=f"artifact {wanted[0].name}")
    make_folder(REAL, target.parent)
    write_atomically(REAL, target, (json.dumps(document, indent=2) + "\n").encode())
    return WrittenSnapshot(path=path, document=document)
