"""Which files changed since a run: since the last one that failed, to show what was tried; since the last one at all.

Caches: they may be lost or lie damaged at any time, and then nothing is known.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from json import dumps, loads
from pathlib import Path

from phase_gate.errors import StorageError
from phase_gate.storage.files import REAL, make_folder, read_bytes, write_atomically

#: Names that are kept: enough to see what was tried.
_NAMED = 20
#: Files of a project for which the last run's are kept at all: beyond that every run would feel it.
_MOST = 20_000
_FAILED, _LEFT = "last-files.json", "left-files.json"


def changed_since(folder: Path, files: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the files that are not what they were at the last failing run; None if that is not known."""
    before = _load(folder, _FAILED)
    return None if before is None else _differing(before, files)[:_NAMED]


def save(folder: Path, files: Mapping[str, str]) -> None:
    """Keep the ids of all contents as a failing run left them, with best effort."""
    _write(folder, _FAILED, files)


def changed_since_left(folder: Path, tree: str, files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that are not what the last run left; none if that is not known.

    :param tree: the digest of what it left.
    """
    before = _load(folder, _LEFT)
    left = None if before is None or before.get("tree") != tree else before.get("files")
    return _differing(left, files) if isinstance(left, dict) else ()


def save_left(folder: Path, tree: str, files: Mapping[str, str]) -> None:
    """Keep the ids of all contents as a run left them, with best effort, where there are not too many."""
    before = _load(folder, _LEFT)
    if len(files) <= _MOST and (before is None or before.get("tree") != tree):
        _write(folder, _LEFT, {"tree": tree, "files": dict(files)})


def _differing(before: Mapping[str, object], files: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in before.keys() | files.keys() if before.get(name) != files.get(name)))


def _load(folder: Path, name: str) -> dict[str, object] | None:
    try:
        found = loads(read_bytes(folder / "cache" / name) or b"null")
    except (StorageError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _write(folder: Path, name: str, document: Mapping[str, object]) -> None:
    with contextlib.suppress(StorageError):
        make_folder(REAL, folder / "cache")
        data = dumps(dict(document), separators=(",", ":")).encode("ascii")
        write_atomically(REAL, folder / "cache" / name, data, durable=False)
