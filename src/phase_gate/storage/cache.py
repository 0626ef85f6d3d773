"""Small JSON files that are only caches: an unreadable file counts as missing."""

from __future__ import annotations

import contextlib
from json import dumps, loads
from pathlib import Path

from phase_gate.codec import from_json, to_json
from phase_gate.errors import StorageError
from phase_gate.storage.files import REAL, FileSystem, make_folder, read_bytes, write_atomically
from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T", bound=Value)


def load(path: Path, files: FileSystem = REAL) -> Any:
    """Return the JSON document in a file; None if it is missing or damaged."""
    try:
        return loads(read_bytes(path, files) or b"null")
    except (StorageError, ValueError, RecursionError):
        return None


def load_value(kind: type[T], path: Path, files: FileSystem = REAL) -> T | None:
    """Return the value in a file; None if it is missing, damaged or of another kind."""
    try:
        return from_json(kind, load(path, files))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def save(path: Path, document: Value | object, files: FileSystem = REAL) -> None:
    """Write a document or a value, and make the folder for it. Failures are ignored."""
    document = to_json(document) if isinstance(document, Value) else document
    with contextlib.suppress(StorageError):
        make_folder(files, path.parent)
        data = dumps(document, separators=(",", ":")).encode("ascii")
        write_atomically(files, path, data, durable=False)
