"""Which files changed since a run: since the last one that failed, to show what was tried; since the last one at all.

Caches: they may be lost or lie damaged at any time, and then nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from phase_gate.storage import cache
from phase_gate.values import Value, field

#: Names that are kept: enough to see what was tried.
_NAMED = 20
#: Files of a project for which the last run's are kept at all: beyond that every run would feel it.
_MOST = 20_000
_FAILED, _LEFT = "last-files.json", "left-files.json"


class _Left(Value):
    """What a run left: the digest of it, and path -> content id."""

    tree: str
    files: Mapping[str, str] = field(default_factory=dict)


def changed_since(folder: Path, files: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the files that are not what they were at the last failing run; None if that is not known."""
    before = cache.load(folder / "cache" / _FAILED)
    return _differing(before, files)[:_NAMED] if isinstance(before, dict) else None


def save(folder: Path, files: Mapping[str, str]) -> None:
    """Keep the ids of all contents as a failing run left them, with best effort."""
    cache.save(folder / "cache" / _FAILED, dict(files))


def changed_since_left(folder: Path, tree: str, files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that are not what the last run left; none if that is not known.

    :param tree: the digest of what it left.
    """
    before = cache.load_value(_Left, folder / "cache" / _LEFT)
    return _differing(before.files, files) if before is not None and before.tree == tree else ()


def save_left(folder: Path, tree: str, files: Mapping[str, str]) -> None:
    """Keep the ids of all contents as a run left them, with best effort, where there are not too many."""
    before = cache.load_value(_Left, folder / "cache" / _LEFT)
    if len(files) <= _MOST and (before is None or before.tree != tree):
        cache.save(folder / "cache" / _LEFT, _Left(tree=tree, files=files))


def _differing(before: Mapping[str, object], files: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in before.keys() | files.keys() if before.get(name) != files.get(name)))
