"""Which files changed since the last run: a cache, so a missing or damaged one means that the changes are unknown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from phase_gate.storage import cache
from phase_gate.storage.tree.fingerprint import changed_paths
from phase_gate.values import Value, field

#: Above this number of files they are not saved, because every run would become slower.
_MOST = 20_000
#: How many names are shown: enough to see what was tried.
_NAMED = 20
_LAST = Path("cache", "last-files.json")


class _LastRun(Value):
    """The files after a run: their digest, and path -> content id."""

    tree: str
    files: Mapping[str, str] = field(default_factory=dict)


def changed_before_run(folder: Path, files: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the first files that changed since the last run, to show them; None if that is unknown."""
    before = cache.load_value(_LastRun, folder / _LAST)
    return None if before is None else changed_paths(before.files, files)[:_NAMED]


def changed_since_last_run(folder: Path, tree: str, files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that changed since the last run; empty if that is unknown.

    :param tree: the digest of the files after that run.
    """
    before = cache.load_value(_LastRun, folder / _LAST)
    return changed_paths(before.files, files) if before is not None and before.tree == tree else ()


def save_last_run(folder: Path, tree: str, files: Mapping[str, str]) -> None:
    """Save the content ids after a run, unless there are too many files. Failures are ignored."""
    before = cache.load_value(_LastRun, folder / _LAST)
    if len(files) <= _MOST and (before is None or before.tree != tree):
        cache.save(folder / _LAST, _LastRun(tree=tree, files=files))
