"""Content ids of files: hashes, cached by size, times and inode.

An id is git's name for the same bytes, so that files can be compared with a commit without reading the commit's blobs.
git's filters, index and settings are not used, so that they can't hide an edit.

The cache may be lost or damaged at any time. Then every file is read.
"""

from __future__ import annotations

import contextlib
import stat
from json import dumps, loads

from phase_gate.bound import blake2b, os, sha1, time
from phase_gate.errors import StorageError
from phase_gate.storage.files import REAL, exists, make_folder, read_bytes, write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: The id of a file that can't be read.
UNREADABLE = "unreadable"
#: Precedes the hash of a link's target: a file with the link's text as its content is different.
LINK = "link:"

#: Increase it whenever the same file gets another id.
SCHEMA = 2
#: The coarsest file times (FAT) have a resolution of two seconds.
RACY_NS = 2_000_000_000
#: Larger untracked files are compared by size and time, because hashing takes too long.
LARGE = 64 * 1024 * 1024
#: Bytes to read at a time.
_PART = 1 << 20
#: Bound at import, because a test may leave it mocked.
_open = open


class Contents:
    """The content ids of files below a folder. Files that are unchanged since an earlier process are not read again."""

    def __init__(self, top: str, file: Path | None = None, *, key: bytes | None = None) -> None:
        """Load the cache.

        :param file: the cache file.
        :param key: signs the cache, if one is set.
        """
        #: Taken before any file is read: a file that changes later may change again with the same times.
        self._started = _now_ns()
        self._below, self._file, self._key = os.path.join(top, ""), file, key or b""
        self._written, self._known = self._load()
        self._seen: dict[str, list[int | str]] = {}
        self._is_stale = False

    def find(self, path: str, *, is_new: bool = False, follow: bool = False) -> str | None:
        """Return the content id of a file; None if it is missing.

        :param is_new: git does not track the file.
        :param follow: use the content of a link's target, not the target's name.
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
        """Save the cache, and make its folder inside an existing state folder. Failures are ignored."""
        file = self._file
        if file is None or not (self._is_stale or self._seen.keys() != self._known.keys()):
            return
        document = dumps([SCHEMA, self._started, self._seen], separators=(",", ":")).encode("ascii")
        # Failing costs only speed. No fsync either, because a damaged cache is ignored.
        with contextlib.suppress(StorageError):
            # Never make the state folder itself: a run that records nothing leaves no trace.
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
        """Return a signature, which only a holder of the key can make if one is set."""
        key = blake2b(self._below.encode("utf-8", "surrogatepass") + b"\0" + self._key, digest_size=32).digest()
        return blake2b(document, key=key, digest_size=32).hexdigest().encode("ascii")


def name_blob(content: bytes) -> str:
    """Return the content id of bytes."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def is_shown(path: str, files: Mapping[str, str]) -> bool:
    """Return whether a tree includes a file's content. For a link it only has the target's name."""
    return not files.get(path, LINK).startswith(LINK)


def changed_before(top: str, path: str, at: float) -> bool:
    """Return whether a file exists and last changed before that time, so that the run did not create it."""
    try:
        # The change time can't be set by hand, unlike the modification time.
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
