"""A file system that fails: its Nth call raises an error, takes half, or kills the process.

`prepare` patches the class in a child of the warm server, in the plugin and in the command. The child can't import this
project's tests, so this file imports nothing of them.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, cast

#: Every method that can fail; `stream` is counted by the reads that go through it.
CALLS = (
    *("open", "stat", "write", "truncate", "fsync", "close", "replace", "fsync_folder", "make_folder", "unlink"),
    *("list_folder", "acquire"),
)
#: What a disk that is full or read-only refuses; everything else goes on there.
_CHANGING = frozenset(
    {"open-to-write", "write", "truncate", "fsync", "replace", "fsync_folder", "make_folder", "unlink"}
)
_REFUSED = {"ENOSPC": _CHANGING - {"unlink", "truncate"}, "EROFS": _CHANGING}

ERRORS = ("EIO", "ENOSPC", "EACCES", "EROFS", "EINTR", "short")
KILLS = ("kill-before", "kill-after", "kill-half")

#: Interrupted calls in a row: no storm of signals lasts forever.
_STORM = 100


def applies(kind: str, call: str) -> bool:
    """Tell whether this can happen to that call at all."""
    if kind in ("short", "kill-half"):
        return call == "write"
    return call in _REFUSED.get(kind, (call,))


class Faults:
    """Counts the calls of this process, and does what the plan says at the Nth.

    :param plan: `at`, `kind`, `for_good` (from then on), and `log`, the file for calls and hits.
    """

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.at, self.kind, self.for_good = plan["at"], plan["kind"], plan["for_good"]
        self._log = os.open(plan["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
        self._pid, self._count, self._hits = os.getpid(), 0, 0

    def run(self, call: str, action: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if os.getpid() != self._pid:
            return action(*arguments, **options)  # a process that was forked from this one
        self._count += 1
        self._note(f"call {call}")
        due = self._count == self.at or (self.for_good and self._count > self.at)
        if not due or not applies(self.kind, call) or (self.kind == "EINTR" and self._hits >= _STORM):
            return action(*arguments, **options)
        self._hits += 1
        self._note(f"hit {call}")
        if self.kind in ("short", "kill-half"):
            files, descriptor, data = arguments
            taken = action(files, descriptor, data[: max(1, len(data) // 2)])
            if self.kind == "kill-half":
                os.kill(self._pid, signal.SIGKILL)
            return taken
        if self.kind == "kill-after" or call == "close":  # the descriptor is gone, whatever close returns
            with contextlib.suppress(OSError):  # it may be right to fail: what is looked at is not there
                action(*arguments, **options)
        if self.kind in KILLS:
            os.kill(self._pid, signal.SIGKILL)
        code = getattr(errno, self.kind)
        raise OSError(code, os.strerror(code))

    def _note(self, text: str) -> None:
        os.write(self._log, f"{text}\n".encode())


class _Reads(io.RawIOBase):
    """A file whose reads can fail, too."""

    def __init__(self, descriptor: int, faults: Faults) -> None:
        self._raw, self._faults = io.FileIO(descriptor, "rb"), faults

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._raw.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        return cast(int, self._faults.run("read", self._raw.readinto, buffer))

    def close(self) -> None:
        self._raw.close()
        super().close()


def prepare(order: dict[str, Any]) -> None:
    """In the child: let every file system of this process fail as planned."""
    if "plan" not in order:
        return
    from phase_gate.storage.files import FileSystem

    faults = Faults(order["plan"])

    def patch(name: str) -> None:
        real = getattr(FileSystem, name)

        def call(self: FileSystem, *arguments: Any, **options: Any) -> Any:
            writes = name == "open" and arguments[1] & (os.O_WRONLY | os.O_RDWR)
            return faults.run("open-to-write" if writes else name, real, self, *arguments, **options)

        setattr(FileSystem, name, call)

    for name in CALLS:
        patch(name)

    def stream(self: FileSystem, descriptor: int) -> BinaryIO:
        return cast(BinaryIO, io.BufferedReader(_Reads(descriptor, faults)))

    FileSystem.stream = stream  # type: ignore[method-assign]
