"""Files that runs have imported and that the tree does not show: ignored by git, or behind a link.

Their contents are looked at by ourselves: no exclude file, filter or link can hide an edit of code that ran.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

#: Larger ones, built libraries mostly, are told by size and time: hashing them would be felt in every command.
_LARGE = 16 * 1024 * 1024


def take_beside(top: str, paths: Iterable[str]) -> dict[str, str]:
    """Return path -> content id of those that are there. The tree does not show them."""
    found: dict[str, str] = {}
    for path in paths:
        full = os.path.join(top, path)
        try:
            status = os.stat(full)
            found[path] = f"size:{status.st_size}:{status.st_mtime_ns}" if status.st_size > _LARGE else _hash(full)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            found[path] = UNREADABLE
    return found


def is_shown(path: str, files: Mapping[str, str]) -> bool:
    """Tell whether the tree has the content of a file; of a link it has only where it leads."""
    return not files.get(path, LINK).startswith(LINK)


def changed_before(top: str, path: str, at: float) -> bool:
    """Tell whether a file is there and was last written before that time: what a run makes for itself was not."""
    try:
        # A file's change time can't be set by hand, unlike its modification time.
        return os.stat(os.path.join(top, path)).st_ctime < at
    except OSError:
        return False


def _hash(full: str) -> str:
    import hashlib

    with open(full, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- what stands for the content of a file in a fingerprint: mostly its hash, and these where it has none of its own


#: What a file has instead of a hash if it can't be read.
UNREADABLE = "unreadable"
#: Before the hash of a link's target: a file with the very text of the link is another thing.
LINK = "link:"
