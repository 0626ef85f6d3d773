"""Walk a folder that git knows nothing of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from phase_gate.errors import TooManyFilesError
from phase_gate.storage.tree.git import is_linked_worktree

#: Never walked into: histories, caches, environments, outputs, and our own state.
SKIPPED_FOLDERS = frozenset(
    (
        *(".git", ".hg", ".svn", ".phase-gate"),
        *("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"),
        *(".tox", ".nox", ".venv", "venv", "node_modules", "site-packages"),
        *(".eggs", "build", "dist"),
    )
)
#: A folder with one of these is an environment or a cache, whatever its name.
SKIP_MARKS = frozenset(("pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"))
#: What a walk takes.
WALKED_SUFFIXES = (".py", ".cfg", ".ini", ".toml")

#: Files and folders that a walk looks at: a second or two, and more than any project has that is not a whole disk.
MAX_LOOKED_AT = 500_000
#: Files that are hashed the first time: as many sources as a very large project has.
MAX_SOURCES = 50_000


def walk_sources(top: str) -> list[str]:
    """Return the sources and configurations below a folder, by their paths from there."""
    found = [path for path, _ in walk(top, _is_source)]
    if len(found) > MAX_SOURCES:
        raise refuse_to_walk(top, f"{MAX_SOURCES:,} sources")
    return found


def _is_source(path: str) -> bool:
    return path.endswith(WALKED_SUFFIXES) or path.rpartition("/")[2] == "phase-gate.yaml"


def walk(top: str, keep: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield the wanted files as relative and full path; links to folders are not followed.

    Raises TooManyFilesError where there are more than any project has: the root is wrong, or git should look.
    """
    folders = [("", top)]
    looked_at = 0
    while folders:
        prefix, folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
        except OSError:
            continue
        looked_at += len(entries)
        if looked_at > MAX_LOOKED_AT:
            raise refuse_to_walk(top, f"{MAX_LOOKED_AT:,} files and folders")
        # The root was asked for: it is looked at even if it is an environment or a worktree.
        if prefix and (not SKIP_MARKS.isdisjoint(entry.name for entry in entries) or is_linked_worktree(folder)):
            continue
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in SKIPPED_FOLDERS and not name.endswith(".egg-info"):
                    folders.append((f"{prefix}{name}/", entry.path))
            elif keep(prefix + name):
                yield prefix + name, entry.path


def refuse_to_walk(top: str, what: str) -> TooManyFilesError:
    """Return the error that names the folder, and what to do about it."""
    return TooManyFilesError(
        f"{top} has more than {what}, and git knows nothing of them",
        remedy="if this is not your project, put a phase-gate.yaml into the folder that is; if it is, `git init` there",
    )
