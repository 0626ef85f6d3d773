"""Files beside the tests that git does not track yet: data that a test reads may be new."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_phase_gate.storage.git import try_git

#: Outputs of Python, pytest and editors, wherever they lie.
_NOT_DATA = frozenset({"__pycache__", ".pytest_cache", ".phase-gate", ".hypothesis", ".mypy_cache", ".ruff_cache"})


def list_untracked(root: Path, folders: tuple[str, ...], *, state_folder: Path) -> tuple[str, ...]:
    """Return paths relative to the root, sorted."""
    existing = [folder for folder in folders if (root / folder).is_dir()]
    if not existing:
        return ()
    listed = try_git(root, "ls-files", "-z", "-o", "--exclude-standard", "--", *existing)
    if listed is not None:
        return tuple(sorted(path for path in os.fsdecode(listed).split("\0") if path and not _is_output(path)))
    found: list[str] = []
    for folder in existing:
        for path in (root / folder).rglob("*"):
            relative = path.relative_to(root).as_posix()
            if path.is_file() and not _is_output(relative) and not path.is_relative_to(state_folder):
                found.append(relative)
    return tuple(sorted(found))


def _is_output(path: str) -> bool:
    name = path.rpartition("/")[2]
    return (
        bool(_NOT_DATA & set(path.split("/")))
        or name.endswith((".pyc", ".pyo", ".swp", ".swo", "~"))
        or name.startswith((".#", "#"))
        or name == ".DS_Store"
    )
