"""Remember the ids of contents by what `stat` says of the files, so that what is as it was is not read again.

It may be lost, or lie damaged, at any time: then everything is read, as it would be without one.
"""

from __future__ import annotations

import contextlib
import os
import time
from json import dumps, loads

from phase_gate.errors import StorageError
from phase_gate.storage.files import REAL, exists, make_folder, read_bytes, write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

#: File systems with the coarsest times (FAT) count in steps of two seconds.
RACY_NS = 2_000_000_000
CACHE_SCHEMA = 1


class StatCache:
    """What an earlier look remembers, and what the next one will."""

    def __init__(self, file: Path | None) -> None:
        #: Before anything is looked at: what changes meanwhile may change again without its times showing it.
        self._started = _now_ns()
        self._file = file
        self._loaded: tuple[int, dict[str, list[int | str]]] | None = None
        self._fresh: dict[str, list[int | str]] = {}
        self._is_stale = False

    def find(self, path: str, status: os.stat_result) -> str | None:
        """Return the id that the file had, if it is as it was; None if it has to be read."""
        if self._loaded is None:
            self._loaded = _load(self._file)
        written, known = self._loaded
        entry = known.get(path)
        is_settled = max(status.st_mtime_ns, status.st_ctime_ns) + RACY_NS <= written
        if is_settled and entry is not None and entry[:-1] == _facts(status):
            self._fresh[path] = entry
            return str(entry[-1])
        return None

    def add(self, path: str, status: os.stat_result, content: str) -> None:
        """Remember the id of what was read. `status` is from before it was read."""
        self._is_stale = True
        self._fresh[path] = [*_facts(status), content]

    def save(self, state_folder: Path | None) -> None:
        """Write it, with best effort; its folder is made if it lies in a state folder that is there."""
        file = self._file
        if file is None or self._loaded is None:
            return  # nothing was asked for
        if not self._is_stale and self._fresh.keys() == self._loaded[1].keys():
            return

        document = {"schema": CACHE_SCHEMA, "written_ns": self._started, "files": self._fresh}
        # Only speed is lost if it fails. No fsync either: a torn cache is damaged, and a damaged one is ignored.
        with contextlib.suppress(StorageError):
            # The state folder itself is never made: a run that only looks leaves no trace.
            if state_folder is not None and state_folder in file.parents and exists(state_folder):
                make_folder(REAL, file.parent)
            write_atomically(REAL, file, dumps(document, separators=(",", ":")).encode("ascii"), durable=False)


def _facts(status: os.stat_result) -> list[int | str]:
    return [status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns]


def _now_ns() -> int:
    return time.time_ns()


def _load(file: Path | None) -> tuple[int, dict[str, list[int | str]]]:
    if file is None:
        return 0, {}

    try:
        document = loads(read_bytes(file) or b"")
        if document["schema"] != CACHE_SCHEMA:
            return 0, {}
        known = {path: entry for path, entry in document["files"].items() if isinstance(entry, list)}
        return int(document["written_ns"]), known
    except (StorageError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
        return 0, {}
