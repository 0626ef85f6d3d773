"""Fault points: the Nth call of the file system fails, takes half, or kills the process.

`install` patches the methods of the class, so that every instance is covered, in the plugin and in the command. It is
imported into a child process by `children.py`, and never into the process that sweeps.
"""

from __future__ import annotations

import atexit
import errno
import io
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, cast

#: Every method of the seam; `stream` is counted by the reads that go through it.
CALLS = (
    "open",
    "stat",
    "write",
    "truncate",
    "fsync",
    "close",
    "replace",
    "fsync_folder",
    "make_folder",
    "unlink",
    "list_folder",
    "acquire",
)
READ = "read"
#: What a disk that is full or read-only refuses; everything else goes on there.
CHANGING = frozenset(
    {"open-to-write", "write", "truncate", "fsync", "replace", "fsync_folder", "make_folder", "unlink"}
)
FULL = CHANGING - {"unlink", "truncate"}

ERRORS = ("EIO", "ENOSPC", "EACCES", "EROFS", "EINTR", "short")
KILLS = ("kill-before", "kill-after", "kill-half")


#: Calls that are interrupted one after the other where it is for good.
STORM = 100


def applies(kind: str, call: str) -> bool:
    """Tell whether this can happen to that call at all."""
    if kind in ("short", "kill-half"):
        return call == "write"
    return call in {"ENOSPC": FULL, "EROFS": CHANGING}.get(kind, (call,))


class Points:
    """Counts the calls of this process, and does what the plan says at the Nth."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.at: int = plan["at"]
        self.kind: str = plan["kind"]
        self.for_good: bool = plan["for_good"]
        self.log = os.open(plan["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
        self.pid, self.count, self.hits = os.getpid(), 0, 0

    def run(self, call: str, action: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if os.getpid() != self.pid:
            return action(*arguments, **options)  # a process that was forked from this one
        self.count += 1
        self._note(f"call {call}")
        due = self.count == self.at or (self.for_good and self.count > self.at)
        if not due or not applies(self.kind, call) or self._is_over():
            return action(*arguments, **options)
        self._note(f"hit {self.count} {call}")
        if self.kind == "kill-before":
            self._die()
        if self.kind == "kill-after":
            try:
                action(*arguments, **options)
            finally:
                self._die()
        if self.kind in ("short", "kill-half"):
            files, descriptor, data = arguments
            taken = action(files, descriptor, data[: max(1, len(data) // 2)])
            if self.kind == "kill-half":
                self._die()
            return taken
        if call == "close":
            action(*arguments, **options)  # the descriptor is gone whatever close says
        code = getattr(errno, self.kind)
        raise OSError(code, os.strerror(code))

    def _is_over(self) -> bool:
        """Python itself begins an interrupted call anew, and no storm of signals lasts for ever."""
        self.hits += 1
        return self.kind == "EINTR" and self.hits > STORM

    def _note(self, text: str) -> None:
        os.write(self.log, f"{text}\n".encode())

    def _die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class CountedReads(io.RawIOBase):
    """A file whose reads are fault points too."""

    def __init__(self, descriptor: int, points: Points) -> None:
        self._raw, self._points = io.FileIO(descriptor, "rb"), points

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._raw.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        return cast(int, self._points.run(READ, self._raw.readinto, buffer))

    def close(self) -> None:
        self._raw.close()
        super().close()


def install(plan: Mapping[str, Any]) -> None:
    """Let this process run under a plan."""
    from phase_gate.storage.files import FileSystem

    points = Points(plan)

    def patch(name: str) -> None:
        real = getattr(FileSystem, name)

        def call(self: FileSystem, *arguments: Any, **options: Any) -> Any:
            kind = name
            if name == "open" and arguments[1] & (os.O_WRONLY | os.O_RDWR):
                kind = "open-to-write"
            return points.run(kind, real, self, *arguments, **options)

        setattr(FileSystem, name, call)

    for name in CALLS:
        patch(name)

    def stream(self: FileSystem, descriptor: int) -> BinaryIO:
        return cast(BinaryIO, io.BufferedReader(CountedReads(descriptor, points)))

    FileSystem.stream = stream  # type: ignore[method-assign]
    atexit.register(points._note, "end")
