"""Packed segments of a ledger: what its file held before, compressed.

`ledger.jsonl` would grow for ever. From a certain size on, its older lines move into a file in `packed/`, byte for
byte, and the first row of what stays says so: which segment comes before, the line that it ends with, and what opening
needs of the very first line. A segment may begin with such a row, too. So all lines can be read in order, and the chain
of hashes goes on over them; opening reads none of it.

A segment is whole on the disk before the file that names it takes the old one's place, and it never changes. One that
nothing names is left over from a process that died in between, and counts for nothing.
"""

from __future__ import annotations

import contextlib
import json
import zlib

from phase_gate.errors import TamperedError
from phase_gate.storage.files import FileSystem, make_folder, read_bytes, write_atomically
from phase_gate.storage.ledger import GENESIS, PACKED_ROW, REPAIR, Line, canonical, digest, read_chain
from phase_gate.values import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

#: In a task's folder.
FOLDER = "packed"
#: Of a large ledger that was never packed, one segment takes about so many bytes: each is read into memory as a whole.
PIECE = 4 * 1024 * 1024
#: More than any segment has; a few kilobytes that unpack to more are made to fill the memory.
MAX_SIZE = 64 * PIECE
#: Rows with which a cycle, or a verify task, begins.
_BEGAN = (b'"kind":"cycle-began"', b'"kind":"task-taken"')
#: Once in hundreds of runs: size over speed.
_LEVEL = 9


class Before(Value):
    """What comes before the rows of a file, as its first row says it."""

    #: The segment's name, and the number and hash of its last line.
    file: str
    seq: int
    head: str
    #: From the ledger's first line.
    lineage: str
    key_check: str | None
    #: Bytes of the file when it was written, this row among them: all of them are whole.
    size: int
    #: Bytes of this row.
    length: int = 0


def read_before(row: bytes, key: bytes | None, *, name: str) -> Before | None:
    """Return what a file's first row says of what comes before it; None if it is the ledger's first line.

    Raises TamperedError for one that we did not write.
    """
    if not row.endswith(PACKED_ROW):
        return None
    try:
        document = json.loads(row)
        written, data = document.pop("hash"), document["data"]
        if written != digest(document, key):
            raise ValueError("its hash is wrong")
        return Before(**data, length=len(row))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TamperedError(f"{name}:1: it does not say what comes before", remedy=REPAIR) from error


def _row_of(before: Before, key: bytes | None) -> bytes:
    names = ("file", "seq", "head", "lineage", "key_check", "size")
    body: dict[str, Any] = {"kind": "packed", "data": {name: getattr(before, name) for name in names}}
    return canonical({**body, "hash": digest(body, key)}) + b"\n"


class Packed:
    """The segments of one task."""

    def __init__(self, folder: Path, files: FileSystem) -> None:
        self.folder, self._files = folder / FOLDER, files

    def content(self, file: str) -> bytes:
        """Return what a segment holds. Raises TamperedError if it is gone or damaged."""
        place = f"{FOLDER}/{file}"
        if "/" in file or "\\" in file or not file.endswith(".z"):
            raise TamperedError(f"{file[:40]!a} can't be a segment's name", remedy=REPAIR)
        packed = read_bytes(self.folder / file, self._files)
        if packed is None:
            raise TamperedError(f"{place} is gone", remedy=REPAIR)
        try:
            unpacking = zlib.decompressobj()
            content = unpacking.decompress(packed, MAX_SIZE)
        except zlib.error as error:
            raise TamperedError(f"{place} is damaged", remedy=REPAIR) from error
        if not unpacking.eof:
            raise TamperedError(f"{place} is damaged", remedy=REPAIR)
        return content

    def lines(self, before: Before, key: bytes | None) -> Iterator[Line]:
        """Yield every line up to the one that a file says it follows. Raises TamperedError where one does not."""
        head, seq = GENESIS, 0
        for segment in self._in_order(before, key):
            for line in self._read_segment(segment, (seq, head), key):
                head, seq = line.hash, line.seq
                yield line
            if (seq, head) != (segment.seq, segment.head):
                raise TamperedError(f"{FOLDER}/{segment.file} does not end with the line that is named", remedy=REPAIR)

    def _read_segment(self, segment: Before, after: tuple[int, str], key: bytes | None) -> Iterator[Line]:
        place = f"{FOLDER}/{segment.file}"
        rows = self.content(segment.file).splitlines(keepends=True)
        before = read_before(rows[0], key, name=place) if rows else None
        start = 0 if before is None else before.length
        rows = rows if before is None else rows[1:]
        return read_chain(rows, key=key, after=after, start=start, name=place, file=segment.file)

    def _in_order(self, before: Before, key: bytes | None) -> list[Before]:
        """Return the segments, the oldest first."""
        found: list[Before] = []
        following: Before | None = before
        while following is not None:
            if found and following.seq >= found[-1].seq:
                raise TamperedError(f"{FOLDER}/{following.file} comes before itself", remedy=REPAIR)
            found.append(following)
            content = self.content(following.file)
            first = content[: content.find(b"\n") + 1]
            following = read_before(first, key, name=f"{FOLDER}/{following.file}")
        return found[::-1]

    def since_began(self, content: bytes, key: bytes | None) -> Iterator[bytes]:
        """Yield the rows since the present cycle or verify task began, those of the newest file first."""
        while True:
            began = max(content.rfind(row) for row in _BEGAN)
            yield content[content.rfind(b"\n", 0, began) + 1 :] if began > 0 else content
            if began > 0:
                return
            before = read_before(content[: content.find(b"\n") + 1], key, name="ledger.jsonl")
            if before is None:
                return
            content = self.content(before.file)

    def recover(self, key: bytes | None) -> Iterator[Line]:
        """Yield the lines of the oldest segments, as far as they are there and follow each other.

        For a repair, where a segment is lost that would have told what comes before it.
        """
        found: dict[str, Before | None] = {}
        try:
            names = self._files.list_folder(self.folder)
        except FileNotFoundError:
            return
        for file in sorted(names):
            with contextlib.suppress(TamperedError):
                content = self.content(file)
                before = read_before(content[: content.find(b"\n") + 1], key, name=file)
                found["" if before is None else before.file] = _named(file)
        segment = found.get("")
        head, seq = GENESIS, 0
        while segment is not None:
            for line in self._read_segment(segment, (seq, head), key):
                head, seq = line.hash, line.seq
                yield line
            segment = found.get(segment.file)

    def pack(
        self, content: bytes, *, keep: int, lineage: str, key_check: str | None, key: bytes | None
    ) -> tuple[bytes, int] | None:
        """Write the older lines of a ledger's file into segments.

        Return what the file is to hold from now on, and how many bytes of the old one are not in it; None where there
        is nothing to pack.

        :param content: the file, whole transactions only.
        :param keep: bytes at its end that stay, or a little more.
        """
        first = content[: content.find(b"\n") + 1]
        named = read_before(first, key, name="ledger.jsonl")
        prefix = b"" if named is None else first
        cut = begin = len(prefix)
        ends = list(_ends(content, begin, len(content) - keep))
        for end in ends:
            if end - cut >= PIECE or end == ends[-1]:
                piece = content[cut:end]
                last = json.loads(piece[piece.rstrip(b"\n").rfind(b"\n") + 1 :])
                file = f"{last['seq']:012d}-{last['hash'][:16]}.z"
                make_folder(self._files, self.folder)
                write_atomically(self._files, self.folder / file, zlib.compress(prefix + piece, _LEVEL))
                named = Before(
                    file=file, seq=last["seq"], head=last["hash"], lineage=lineage, key_check=key_check, size=0
                )
                prefix, cut = _row_of(named, key), end
        if cut == begin or named is None:
            return None
        prefix = _sized(named, len(content) - cut, key)
        return prefix + content[cut:], cut - len(prefix)


def _named(file: str) -> Before:
    return Before(file=file, seq=0, head="", lineage="", key_check=None, size=0)


def _sized(before: Before, rest: int, key: bytes | None) -> bytes:
    """Return the row of a file with so many bytes behind it: its own length is part of what it says."""
    size = 0
    while True:
        row = _row_of(replace(before, size=size), key)
        if size == len(row) + rest:
            return row
        size = len(row) + rest


def _ends(content: bytes, begin: int, limit: int) -> Iterator[int]:
    """Yield where transactions end, up to a place."""
    while begin < limit:
        end = content.find(b"\n", begin) + 1
        if not end or end > limit:
            return
        # Signs in a text are escaped: without this one it is the last line of its transaction.
        if b'"more":true' not in content[begin:end]:
            yield end
        begin = end
