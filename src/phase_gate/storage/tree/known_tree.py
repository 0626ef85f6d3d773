"""Remember the fingerprint of a listing of git's: where the listing is the known one, so is the tree.

To make a fingerprint of 10,000 files takes as long as ten starts of an interpreter; to compare a digest of what git
lists takes a third of one. A listing says which files there are, and what is in those that are as git's index has
them. The others (edited, not tracked, not looked at by git, ignored and yet wanted) are told by what `stat` says of
them, by the rule of every stat cache: none may have changed shortly before it was looked at.

Not kept where a listing does not say it all: with submodules, other repositories inside, or filters that the repository
brings along. It may be lost, or lie damaged, at any time: then everything is looked at.
"""

from __future__ import annotations

import contextlib
import os
import time
from json import dumps, loads

from phase_gate._version import __version__
from phase_gate.errors import StorageError
from phase_gate.hashing import blake2b
from phase_gate.storage.files import REAL, exists, make_folder, read_bytes, write_atomically
from phase_gate.storage.ledger import digest
from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any

#: Bump it whenever the same listing gives another tree.
SCHEMA = 1
#: File systems with the coarsest times (FAT) count in steps of two seconds.
RACY_NS = 2_000_000_000
#: Files that may have to be looked at: with more of them there is little to gain.
_MOST = 1_000


class KnownTree(Value):
    digest: str
    #: Imported files that the tree does not show: their contents are looked at every time.
    hidden: tuple[str, ...]


class TreeMemory:
    """What an earlier look remembers of one listing, and what the next one will."""

    def __init__(self, file: Path, top: str, listing: bytes, settings: object, *, key: bytes | None = None) -> None:
        """Take a listing.

        :param settings: all else that decides which of the listed files count.
        :param key: signs what is kept, where one is set.
        """
        #: Before anything is looked at: what changes meanwhile may change again without its times showing it.
        self._started = now_ns()
        self._file, self._top, self._secret = file, top, key
        told = dumps([SCHEMA, __version__, top, _user(), settings])
        self._name = blake2b(listing, key=blake2b(told.encode(), digest_size=32).digest()).hexdigest()

    def find(self) -> KnownTree | None:
        """Return the tree of this listing, if it is known and nothing that the listing leaves open has changed."""
        try:
            document = loads(read_bytes(self._file) or b"")
            written = document.pop("digest")
            if document["listing"] != self._name or written != digest(document, self._secret):
                return None
            if not all(self._facts(path) == facts for path, facts in document["looked_at"].items()):
                return None
            return KnownTree(digest=document["tree"], hidden=tuple(document["hidden"]))
        except (StorageError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None

    def keep(
        self,
        tree: str,
        files: Mapping[str, str],
        *,
        looked_at: Iterable[str],
        hidden: Iterable[str],
        state_folder: Path | None,
    ) -> None:
        """Remember the tree of this listing, with best effort, if it can be told again by `stat`.

        :param looked_at: the files whose contents the listing does not tell.
        """
        facts = {path: self._facts(path) for path in looked_at}
        # One that is there and does not count, or counts and is gone, changed while it was looked at.
        if len(facts) > _MOST or any((fact is None) == (path in files) for path, fact in facts.items()):
            return
        if any(max(fact[1], fact[3]) + RACY_NS > self._started for fact in facts.values() if fact is not None):
            return
        document: dict[str, Any] = {
            "listing": self._name,
            "tree": tree,
            "looked_at": facts,
            "hidden": list(hidden),
        }
        document["digest"] = digest(document, self._secret)
        with contextlib.suppress(StorageError):
            # The state folder itself is never made: a run that only looks leaves no trace.
            if state_folder is not None and state_folder in self._file.parents and exists(state_folder):
                make_folder(REAL, self._file.parent)
            write_atomically(REAL, self._file, dumps(document).encode("ascii"), durable=False)

    def _facts(self, path: str) -> list[int] | None:
        try:
            status = os.lstat(os.path.join(self._top, path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return [0, now_ns(), 0, 0]  # as nothing before: it has to be looked at
        return [status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns]


def _user() -> int:
    """Return who asks: one user may read what another may not."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def now_ns() -> int:
    return time.time_ns()
