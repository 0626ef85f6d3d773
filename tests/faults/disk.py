"""A disk that forgets: what a power failure may leave of a folder, by what was synced and what was not.

Real files are written, and beside them is kept which bytes were fsynced and which names were followed by a sync of
their folder. From that come the images that a disk may show after the power is back: unsynced bytes absent, half
there, zeros or garbage; unsynced names there or not, in many combinations.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from phase_gate.storage.files import FileSystem

Image = dict[str, bytes]


class Killed(BaseException):
    """The process is dead from here on. Not an Exception: nobody may handle it."""


class Node:
    """One file, whatever it is called."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = self.synced = data


class Forgetful(FileSystem):
    """The file system of one folder, with a memory of what the disk is sure of."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names: dict[Path, Node | None] = {root: None}  # None is a folder
        self.sure: dict[Path, Node | None] = {root: None}
        #: What happened to names since their folder was synced: (folder, added, removed).
        self.pending: list[tuple[Path, Path | None, Path | None]] = []
        self.open_files: dict[int, Node] = {}
        self.count, self.die_at = 0, 0
        self.after_call: Callable[[], None] = lambda: None

    def adopt(self) -> None:
        """Take the folder as it is for synced."""
        self.names = {path: None if path.is_dir() else Node(path.read_bytes()) for path in self.root.rglob("*")}
        self.names[self.root] = None
        self.sure, self.pending = dict(self.names), []

    def _step(self) -> None:
        self.count += 1
        if self.die_at and self.count >= self.die_at:
            raise Killed

    def open(self, path: Path, flags: int) -> int:
        self._step()
        is_new = path not in self.names
        descriptor = super().open(path, flags)
        if flags & (os.O_WRONLY | os.O_RDWR):
            if is_new:
                self.names[path] = Node()
                self.pending.append((path.parent, path, None))
            node = self.names[path]
            assert node is not None
            if flags & os.O_TRUNC:
                node.data = b""
            self.open_files[descriptor] = node
            self.after_call()
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        self._step()
        self.open_files[descriptor].data += data
        taken = super().write(descriptor, data)
        self.after_call()
        return taken

    def truncate(self, descriptor: int, size: int) -> None:
        self._step()
        node = self.open_files[descriptor]
        node.data = node.data[:size]
        super().truncate(descriptor, size)
        self.after_call()

    def fsync(self, descriptor: int) -> None:
        self._step()
        node = self.open_files[descriptor]
        node.synced = node.data  # no need to ask the real disk
        self.after_call()

    def close(self, descriptor: int) -> None:
        self.open_files.pop(descriptor, None)
        super().close(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        self._step()
        super().replace(source, target)
        self.names[target] = self.names.pop(source)
        self.pending.append((target.parent, target, source))
        self.after_call()

    def fsync_folder(self, folder: Path) -> None:
        self._step()
        for place, added, removed in self.pending:
            if place == folder:
                self._settle(self.sure, added, removed)
        self.pending = [row for row in self.pending if row[0] != folder]
        self.after_call()

    def _settle(self, names: dict[Path, Node | None], added: Path | None, removed: Path | None) -> None:
        node = names.pop(removed, None) if removed is not None else None
        if added is not None:
            # A name that was made and renamed since: it is about the node that it has now, or had last.
            names[added] = self.names.get(added, node)

    def make_folder(self, folder: Path) -> None:
        self._step()
        super().make_folder(folder)
        self.names[folder] = None
        self.pending.append((folder.parent, folder, None))
        self.after_call()

    def unlink(self, path: Path) -> None:
        self._step()
        super().unlink(path)
        self.names.pop(path, None)
        self.pending.append((path.parent, None, path))
        self.after_call()

    # --- after the power failure

    def images(self) -> Iterator[Image]:
        """Yield what may be there when the power is back."""
        seen: set[tuple[tuple[str, bytes], ...]] = set()
        for chosen in self._choices():
            names = dict(self.sure)
            for (_, added, removed), is_there in zip(self.pending, chosen, strict=True):
                if is_there:
                    self._settle(names, added, removed)
            # A file whose folder is not there is not there.
            reached = {path: node for path, node in names.items() if self._is_reached(path, names)}
            for damage in _DAMAGES:
                image = {
                    str(path.relative_to(self.root)): damage(node.synced, node.data)
                    for path, node in reached.items()
                    if node is not None
                }
                key = tuple(sorted(image.items()))
                if key not in seen:
                    seen.add(key)
                    yield image

    def _choices(self) -> Iterator[tuple[bool, ...]]:
        """Yield which of the pending names made it: any combination of a few, else none, all, one, all but one."""
        number = len(self.pending)
        if number <= 4:
            yield from itertools.product((False, True), repeat=number)
            return
        for is_there in (False, True):
            yield (is_there,) * number
            for odd in range(number):
                yield tuple(is_there is not (index == odd) for index in range(number))

    def _is_reached(self, path: Path, names: dict[Path, Node | None]) -> bool:
        return path == self.root or (path.parent in names and self._is_reached(path.parent, names))


def _garbage(synced: bytes, data: bytes) -> bytes:
    """The first sector of what is new never came, the rest did: line ends and all."""
    tail = data[len(synced) :]
    return synced + b"\0" * min(len(tail), 64) + tail[64:] if data.startswith(synced) else data[: len(data) // 2]


#: What becomes of bytes that were not synced, from those that were and all of them.
_DAMAGES: tuple[Callable[[bytes, bytes], bytes], ...] = (
    lambda synced, data: synced,
    lambda synced, data: data,
    lambda synced, data: data[: (len(synced) + len(data)) // 2],
    lambda synced, data: synced + b"\0" * max(0, len(data) - len(synced)),
    _garbage,
)
