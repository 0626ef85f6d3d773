"""Tell files by their contents: hashed by ourselves, and remembered by what `stat` says of them.

An id is the name that git has for the same bytes, so that what is as a commit has it can be told without reading it.
No filter, index or setting of a repository is asked: nothing can hide an edit.

What is remembered may be lost, or lie damaged, at any time: then everything is read.
"""

from __future__ import annotations

import contextlib
import stat
from json import dumps, loads

from phase_gate.bound import os, time
from phase_gate.errors import StorageError
from phase_gate.hashing import blake2b, sha1
from phase_gate.storage.files import REAL, exists, make_folder, read_bytes, write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: What a file has instead of a hash if it can't be read.
UNREADABLE = "unreadable"
#: Before the hash of a link's target: a file with the very text of the link is another thing.
LINK = "link:"

#: Bump it whenever the same file gets another id.
SCHEMA = 2
#: File systems with the coarsest times (FAT) count in steps of two seconds.
RACY_NS = 2_000_000_000
#: Larger files that git does not track are compared by size and time: hashing one takes too long.
LARGE = 64 * 1024 * 1024
#: Bytes that are read at once.
_PART = 1 << 20
#: Bound now: a test may leave it mocked.
_open = open


class Contents:
    """The ids of what is in the files below a folder. What is as an earlier look saw it is not read again."""

    def __init__(self, top: str, file: Path | None = None, *, key: bytes | None = None) -> None:
        """Take what an earlier look remembers.

        :param file: where it is remembered.
        :param key: signs it, where one is set.
        """
        #: Before anything is looked at: what changes meanwhile may change again without its times showing it.
        self._started = _now_ns()
        self._below, self._file, self._key = os.path.join(top, ""), file, key or b""
        self._written, self._known = self._load()
        self._seen: dict[str, list[int | str]] = {}
        self._is_stale = False

    def find(self, path: str, *, is_new: bool = False, follow: bool = False) -> str | None:
        """Return the id of what is in a file; None if there is none.

        :param is_new: git does not track it.
        :param follow: look at what a link leads to, instead of where that is.
        """
        full = self._below + path
        try:
            status = os.stat(full) if follow else os.lstat(full)
            if stat.S_ISLNK(status.st_mode):
                return LINK + name_blob(os.fsencode(os.readlink(full)))
            if not stat.S_ISREG(status.st_mode):
                return None
            if is_new and status.st_size > LARGE:
                return f"size:{status.st_size}:{status.st_mtime_ns}"
            facts = [status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns]
            known = self._known.get(path)
            is_settled = max(status.st_mtime_ns, status.st_ctime_ns) + RACY_NS <= self._written
            if is_settled and known is not None and known[:-1] == facts:
                self._seen[path] = known
                return str(known[-1])
            found = _hash_file(full)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return UNREADABLE
        self._is_stale = True
        self._seen[path] = [*facts, found]
        return found

    def save(self, state_folder: Path | None) -> None:
        """Remember it, with best effort; the folder for it is made if it lies in a state folder that is there."""
        file = self._file
        if file is None or not (self._is_stale or self._seen.keys() != self._known.keys()):
            return
        document = dumps([SCHEMA, self._started, self._seen], separators=(",", ":")).encode("ascii")
        # Only speed is lost if it fails. No fsync either: a torn file is damaged, and a damaged one is ignored.
        with contextlib.suppress(StorageError):
            # The state folder itself is never made: a run that only looks leaves no trace.
            if state_folder is not None and state_folder in file.parents and exists(state_folder):
                make_folder(REAL, file.parent)
            write_atomically(REAL, file, self._sign(document) + document, durable=False)

    def _load(self) -> tuple[int, Mapping[str, list[int | str]]]:
        try:
            text = (None if self._file is None else read_bytes(self._file)) or b""
            signature, document = text[:64], text[64:]
            if signature != self._sign(document):
                return 0, {}
            schema, written, known = loads(document)
        except (StorageError, ValueError):
            return 0, {}
        return (written, known) if schema == SCHEMA else (0, {})

    def _sign(self, document: bytes) -> bytes:
        """Return what only our own writing has; with a key, what only who has the key can make."""
        key = blake2b(self._below.encode("utf-8", "surrogatepass") + b"\0" + self._key, digest_size=32).digest()
        return blake2b(document, key=key, digest_size=32).hexdigest().encode("ascii")


def name_blob(content: bytes) -> str:
    """Return the id of some bytes."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def is_shown(path: str, files: Mapping[str, str]) -> bool:
    """Tell whether a tree has the content of a file; of a link it has only where it leads."""
    return not files.get(path, LINK).startswith(LINK)


def changed_before(top: str, path: str, at: float) -> bool:
    """Tell whether a file is there and was last written before that time: what a run makes for itself was not."""
    try:
        # A file's change time can't be set by hand, unlike its modification time.
        return os.stat(os.path.join(top, path)).st_ctime < at
    except OSError:
        return False


def _hash_file(path: str) -> str:
    with _open(path, "rb") as file:
        hashed = sha1(b"blob %d\0" % os.fstat(file.fileno()).st_size, usedforsecurity=False)
        while part := file.read(_PART):
            hashed.update(part)
    return hashed.hexdigest()


def _now_ns() -> int:
    return time.time_ns()
