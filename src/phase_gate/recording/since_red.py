"""Has anything changed since RED that a run could have read? If not, something else made the tests green."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from phase_gate.gate.measuring import GREEN_WITHOUT_CHANGE
from phase_gate.gate.state import State
from phase_gate.project import Project
from phase_gate.storage.objects import ObjectStore
from phase_gate.storage.tree.fingerprint import Tree


def is_as_in_red(project: Project, objects: ObjectStore, state: State, tree: Tree, *, began: float) -> bool:
    """Tell whether a run began on the very files that RED left: those of the tree, and all others that nobody ignores.

    :param tree: as the run found it.
    """
    if state.freeze.red_bodies is None or not state.freeze.red_exited:
        return False
    red = objects.load(state.freeze.red_bodies)
    if red.get("tree") != tree.shown or any(
        tree.beside.get(path) != content for path, content in red["beside"].items()
    ):
        return False
    since = objects.kept_at(state.freeze.red_bodies)
    if state.measurement is not None:
        # What the run before has written is no change. Whatever it saw, nothing may have changed since.
        saw = any(row["slug"] == GREEN_WITHOUT_CHANGE for row in state.measurement.findings)
        since = datetime.fromisoformat(state.last_run.at).timestamp() if saw and state.last_run is not None else None
    if since is None:
        return False
    others = project.list_files(lambda path: path not in tree.files)
    return not _are_written(project.root, others, since, began)


def _are_written(root: Path, paths: Iterable[str], since: float, before: float) -> bool:
    for path in paths:
        try:
            changed = os.stat(root / path).st_ctime
        except OSError:
            continue
        if since < changed < before:
            return True
    return False
