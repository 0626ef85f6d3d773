"""Files that a filter of the repository's own stands before: git can't say what they are without running it.

Their contents are compared by their own bytes. Whether one is as it was committed is known from git's index, which has
what `stat` said of the file when git last took it for that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise

from phase_gate.storage.tree.git import foreign_filters, run_git

#: Characters of names in one call: Windows allows 32,767 for a whole command line.
MAX_NAMES = 24_000

#: What `ls-files --debug` adds to an entry. git keeps 32 bits of each number.
_STAT = (
    r"  ctime: (?P<ctime>\d+:\d+)\n  mtime: (?P<mtime>\d+:\d+)\n  dev: \d+\tino: (?P<ino>\d+)\n"
    r"  uid: \d+\tgid: \d+\n  size: (?P<size>\d+)\tflags: [0-9a-f]+\n"
)
_BITS = 0xFFFFFFFF


def find_filtered(folder: str, foreign: Collection[str], paths: Iterable[str]) -> set[str]:
    """Return the paths that one of these filters stands before."""
    given = "\0".join(paths)
    if not given or not foreign:
        return set()
    said = os.fsdecode(run_git(folder, "check-attr", "-z", "--stdin", "filter", given=os.fsencode(given))).split("\0")
    return {path for path, name in zip(said[::3], said[2::3], strict=False) if name in foreign}


def as_indexed(folder: str, paths: Iterable[str]) -> dict[str, str]:
    """Return path -> blob of the files behind such filters that are as git's index has them; nothing of the others."""
    filtered = find_filtered(folder, foreign_filters(folder), paths)
    found: dict[str, str] = {}
    for batch in in_batches(sorted(filtered)):
        said = os.fsdecode(run_git(folder, "ls-files", "-z", "-v", "-s", "-c", "-m", "--debug", "--", *batch))
        found.update(_read_index(folder, said))
    return found


def _read_index(folder: str, said: str) -> Iterator[tuple[str, str]]:
    entries = said.split("\0")
    blobs: dict[str, tuple[str, re.Match[str]]] = {}
    modified = set()
    # What is told of an entry stands before the next one.
    for entry, following in pairwise(entries):
        before, told = re.match(_STAT, entry), re.match(_STAT, following)
        meta, _, path = entry[0 if before is None else before.end() :].partition("\t")
        tag, _mode, blob, _stage = meta.split(" ")
        if tag == "H" and told is not None:
            blobs[path] = blob, told
        else:
            modified.add(path)
    for path, (blob, known) in blobs.items():
        if path not in modified or _is_same(os.path.join(folder, path), known):
            yield path, blob


def _is_same(path: str, known: re.Match[str]) -> bool:
    """Tell whether the file is the one that git looked at.

    git itself can't tell if that was in the second in which it wrote the index, and would run the filter. It has the
    times to the nanosecond, and does not use them.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return False
    facts = {
        "ctime": _time(status.st_ctime_ns),
        "mtime": _time(status.st_mtime_ns),
        "ino": str(status.st_ino & _BITS),
        "size": str(status.st_size & _BITS),
    }
    return all(known[name] == fact for name, fact in facts.items())


def _time(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{seconds & _BITS}:{rest}"


def in_batches(paths: Iterable[str]) -> Iterator[list[str]]:
    """Yield the paths in lists that are short enough for a command line."""
    batch: list[str] = []
    length = 0
    for path in paths:
        length += len(os.fsencode(path)) + 3
        if batch and length >= MAX_NAMES:
            yield batch
            batch, length = [], len(os.fsencode(path)) + 3
        batch.append(path)
    if batch:
        yield batch
