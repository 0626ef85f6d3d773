"""Which files changed between two runs that failed, to show what was tried.

A cache: it may be lost or lie damaged at any time, and then nothing is known. Only runs that fail pay for it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

from phase_gate.errors import StorageError
from phase_gate.storage.files import REAL, make_folder, read_bytes, write_atomically

#: Names that are kept: enough to see what was tried.
_NAMED = 20


def changed_since(folder: Path, files: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the files that are not what they were at the last failing run; None if that is not known."""
    path = _path(folder)
    try:
        before = json.loads(read_bytes(path) or b"null")
    except (StorageError, ValueError, RecursionError):
        return None
    if not isinstance(before, dict):
        return None
    different = {name for name in before.keys() | files.keys() if before.get(name) != files.get(name)}
    return tuple(sorted(different)[:_NAMED])


def save(folder: Path, files: Mapping[str, str]) -> None:
    """Keep the ids of all contents, with best effort."""
    with contextlib.suppress(StorageError):
        make_folder(REAL, _path(folder).parent)
        data = json.dumps(dict(files), separators=(",", ":")).encode("ascii")
        write_atomically(REAL, _path(folder), data, durable=False)


def _path(folder: Path) -> Path:
    return folder / "cache" / "last-files.json"
