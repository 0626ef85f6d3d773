"""What changed since a task of the verification gate was taken, from git, and whose changes those are.

Only looks. What an executor claims to have changed is compared with this, never used instead of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from pytest_phase_gate.core.verification import Status, Verification
from pytest_phase_gate.core.verification_judging import Look
from pytest_phase_gate.core.verification_stats import Overview
from pytest_phase_gate.evidence.git import look_since
from pytest_phase_gate.evidence.scene import Scene
from pytest_phase_gate.storage.git import try_git
from pytest_phase_gate.storage.tree import Tree, compile_globs

#: What runs leave behind in a project that does not ignore it.
_LEFTOVERS = compile_globs(("**/__pycache__/**", "**/.*/**", "*.pyc", ".coverage*", "node_modules/**"))


def remember_files(scene: Scene, tree: Tree) -> dict[str, Any]:
    """Return how things are when a task is taken, for `look_at`."""
    return {"git": look_since(scene, None).now, "files": dict(tree.files)}


def list_matcher(files: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a path is one of those that a task lists: a path, a folder, or a glob from the root."""
    plain = {each.rstrip("/") for each in files if not set(each) & set("*?")}
    globs = compile_globs([f"/{each.removeprefix('/')}" for each in files if set(each) & set("*?")])
    folders = tuple(f"{each}/" for each in plain)
    return lambda path: path in plain or path.startswith(folders) or globs(path)


def look_at(
    scene: Scene, verification: Verification, tree: Tree, before: Any, *, others: Callable[[], Overview]
) -> Look:
    """Return what changed since the task was taken.

    :param before: what `remember_files` gave.
    :param others: asked only where something changed that this task does not list.
    """
    changed = _changed(scene, tree, before)
    is_listed = list_matcher(verification.spec.files)
    is_paper = set(verification.papers)
    state_file = scene.configuration.verification.state_file
    foreign = [path for path in changed if not is_listed(path) and path not in is_paper and path != state_file]
    theirs: dict[str, str] = {}
    if foreign:
        theirs = _whose(foreign, others(), verification.spec.slug)
        foreign = [path for path in foreign if path not in theirs]
    untracked = _untracked(scene, foreign)
    return Look(
        tree=tree.digest,
        changed=tuple(changed),
        unlisted=tuple(path for path in foreign if path not in untracked),
        untracked=tuple(path for path in untracked if not _LEFTOVERS(path)),
        theirs=tuple((path, task) for path, task in theirs.items() if task),
    )


def _changed(scene: Scene, tree: Tree, before: Any) -> list[str]:
    files: frozenset[str] | None = None
    if before["git"] is not None:
        files = look_since(scene, before["git"]).files
    if files is None:
        # No git, or not the one that was there: the sources themselves are compared.
        was = before["files"]
        files = frozenset(path for path in {*was, *tree.files} if was.get(path) != tree.files.get(path))
    return sorted(files)


def _whose(paths: Iterable[str], overview: Overview, task: str) -> dict[str, str]:
    """Return the paths that another task lists which has begun, with that task; papers of any task with no name."""
    rows = [row for row in overview.rows if row.task != task]
    papers = {paper for row in rows for paper in row.papers}
    begun = [(row.task, list_matcher(row.files)) for row in rows if row.status is not Status.PENDING]
    found: dict[str, str] = {}
    for path in paths:
        owner = next((name for name, is_listed in begun if is_listed(path)), None)
        if owner is not None or path in papers:
            found[path] = owner or ""
    return found


def _untracked(scene: Scene, paths: list[str]) -> dict[str, None]:
    """Return the new files that are no sources: nobody added them, and nobody imports them."""
    candidates = [path for path in paths if not path.endswith(".py") and os.path.lexists(scene.root / path)]
    if not candidates:
        return {}
    listed = try_git(scene.root, "ls-files", "-z", "--", *candidates)
    if listed is None:
        return {}
    tracked = set(os.fsdecode(listed).split("\0"))
    return {path: None for path in candidates if path not in tracked}
