"""An exclusive lock of the operating system on a file: free as soon as its holder is dead.

By `flock` where there is one, and by filelock where there is none. Not by filelock everywhere: importing it puts a hook
on everything that the interpreter audits, and each test of the user's suite would pay for that.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from pathlib import Path
from typing import Protocol

from phase_gate.storage.process_identity import ProcessIdentity


class LockedError(BlockingIOError):
    """Somebody else holds the lock."""

    def __init__(self) -> None:
        super().__init__(errno.EWOULDBLOCK, "somebody else holds it")


class KernelLock(Protocol):
    """Taken at once or not at all; waiting is the caller's business."""

    def acquire(self) -> None:
        """Take it. Raises LockedError if somebody else has it, OSError where it can't be asked."""

    def release(self) -> bool:
        """Let it go; False in a forked child, which has nothing to let go."""


def lock_on(path: Path) -> KernelLock:
    """Return the lock on that file, not taken yet."""
    if sys.platform == "win32":
        return _FileLock(path)
    return _Flock(path)


if sys.platform == "win32":

    class _FileLock:
        def __init__(self, path: Path) -> None:
            from filelock import FileLock

            self._lock = FileLock(path, timeout=0, blocking=False, fallback_to_soft=False)

        def acquire(self) -> None:
            from filelock import Timeout

            try:
                self._lock.acquire()
            except Timeout:
                raise LockedError from None

        def release(self) -> bool:
            self._lock.release()
            return True

else:
    import fcntl

    #: Descriptors of the locks that this process has.
    _held: set[int] = set()

    class _Flock:
        def __init__(self, path: Path) -> None:
            self._path = path
            self._descriptor = -1
            self._process: ProcessIdentity | None = None

        def acquire(self) -> None:
            folder = os.stat(self._path.parent)
            descriptor = os.open(
                self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, _permissions(folder)
            )
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                status = os.fstat(descriptor)
                if not status.st_nlink:
                    raise LockedError  # whoever held it took the file away: this is the lock on nothing
                _close_to_others(descriptor, status, folder)
            except BlockingIOError:
                os.close(descriptor)
                raise LockedError from None
            except BaseException:
                os.close(descriptor)
                raise
            _held.add(descriptor)
            self._descriptor, self._process = descriptor, ProcessIdentity()

        def release(self) -> bool:
            if self._process is not None and not self._process.is_this():
                return False
            if self._descriptor in _held:
                _held.discard(self._descriptor)
                # Closed, not unlocked: that is what the end of a process does, too.
                os.close(self._descriptor)
            self._descriptor = -1
            return True

    def _permissions(folder: os.stat_result) -> int:
        """Return who may open the lock: those who may write to its folder, for whoever can open it can hold it."""
        mode = folder.st_mode
        if mode & stat.S_ISVTX:
            mode &= ~stat.S_IWOTH  # as /tmp: others may put files there, and not touch ours
        # To write is one bit, to read the one above it: three times the bit is both.
        return 0o600 | (mode & (stat.S_IWGRP | stat.S_IWOTH)) * 3

    def _close_to_others(descriptor: int, status: os.stat_result, folder: os.stat_result) -> None:
        """Take away what an older version allowed, and what is meant for another group than the folder's."""
        allowed = _permissions(folder)
        if status.st_gid != folder.st_gid:
            allowed &= ~0o060
        closed = stat.S_IMODE(status.st_mode) & allowed | 0o600
        if closed != stat.S_IMODE(status.st_mode):
            # Another member of the group made it, or the file system has no permissions: then it stays as it is.
            with contextlib.suppress(OSError):
                os.fchmod(descriptor, closed)

    def _let_go_in_child() -> None:
        """A child has the same locks open: left alone, it would keep them beyond its parent's death."""
        for descriptor in _held:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        _held.clear()

    os.register_at_fork(after_in_child=_let_go_in_child)
