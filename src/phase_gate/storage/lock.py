"""How writers of a task take turns: by a kernel lock on one machine, and by a second try across machines.

The system releases the lock when its holder dies. It is on a separate file: the state file is replaced on every write,
and a lock on the replaced file would protect nothing. A small file next to it names the holder, for people only.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from phase_gate.bound import os, time
from phase_gate.errors import MovedError, StateError, StorageError
from phase_gate.storage.files import REAL, FileSystem, load_json, refuse, remove_file, save_cache
from phase_gate.workflow.settings import DEFAULT_LOCK_TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")

#: Seconds between two tries of a waiting process: 50 of them leave the holder enough processor time.
_TRIES_EVERY = 0.02
#: Errors of file systems without locks.
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})


@contextlib.contextmanager
def hold_lock(
    path: Path, files: FileSystem = REAL, *, timeout: float = DEFAULT_LOCK_TIMEOUT, command: str = ""
) -> Iterator[None]:
    """Hold the kernel lock on `path`. Raises StateError with the holder's name after `timeout` seconds."""
    if path.is_symlink() or path.is_dir():
        raise refuse(path, OSError("not a plain file"))
    lock, holder = KernelLock(path), path.with_suffix(".holder")
    try:
        _wait_for(lock, timeout, files)
    except BlockingIOError:
        raise StateError(
            f"{path.name} was not free within {timeout:g} s{_describe_holder(holder, files)}",
            remedy="wait for that run to end, or end it, then run again",
            slug="lock-timeout",
        ) from None
    except OSError as error:
        raise _refuse_lock(path, error) from error
    try:
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        save_cache(holder, {"pid": os.getpid(), "host": host_name(), "since": since, "command": command}, files)
        yield
    finally:
        try:
            if lock.is_held:
                remove_file(holder, files)
        finally:
            lock.release()  # even after Ctrl-C in the line above


def _wait_for(lock: KernelLock, timeout: float, files: FileSystem) -> None:
    end = time.monotonic() + timeout
    while True:
        try:
            return files.acquire(lock)
        except BlockingIOError:
            left = end - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(left, _TRIES_EVERY))


def _describe_holder(holder: Path, files: FileSystem) -> str:
    who = load_json(holder, files)
    try:
        return f": held by pid {who['pid']} on {who['host']} since {who['since']} ({who['command']})"
    except (KeyError, TypeError):
        return ""


def host_name() -> str:
    """Return this machine's name, without `socket`, whose import takes longer than locking."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def is_free(path: Path, files: FileSystem = REAL) -> bool:
    """Return whether the kernel lock on `path` is free. A missing file counts as free."""
    try:
        files.stat(path)
        lock = KernelLock(path)
        files.acquire(lock)
    except FileNotFoundError:
        return True
    except OSError:
        return False  # held, or unknown, which counts as held
    lock.release()
    return True


class RunLock:
    """Locked while a run is alive. A run whose record is open and whose lock is free was killed."""

    def __init__(self, path: Path, files: FileSystem = REAL) -> None:
        self._path, self._files = path, files
        self._lock = KernelLock(path)

    def acquire(self) -> None:
        try:
            self._files.acquire(self._lock)
        except OSError as error:
            raise _refuse_lock(self._path, error) from error

    def release(self, *, has_ended: bool = True) -> None:
        """Release the lock.

        :param has_ended: if False, the record is still open, and the unlocked file stays to show that the run is lost.
        """
        # In this order: after the release, the file may be another process's lock.
        if has_ended and self._lock.is_held:
            remove_file(self._path, self._files)
        self._lock.release()


def _refuse_lock(path: Path, error: OSError) -> StorageError:
    if error.errno not in _NO_LOCKS:
        return refuse(path, error)
    return StorageError(
        f"{path.name} can't be locked: {error}",
        remedy="name a folder on a local disk with --phase-dir or PHASE_GATE_DIR",
    )


# --- changing a task once more where another machine was first


#: How often a change is tried when others are always first.
_TRIES = 40
#: The wait before the next try, in seconds at least, and in durations of a try at most. It doubles each time, and most
#: of it is random, so that the members of a crowd are first in turns.
_FIRST_WAIT, _LONGEST_IN_TRIES = 0.05, 4


def again_if_moved(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that changes a task: call it again, on the new state, if another machine was first.

    For functions with one transaction that decide inside it. Without a shared store they are called once.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for number in range(_TRIES):
            began = time.monotonic()
            try:
                return function(*args, **kwargs)
            except MovedError:
                _wait(number, time.monotonic() - began)
        raise StorageError(
            f"other machines were first {_TRIES} times in a row",
            remedy="try again when fewer of them write",
            slug="store-busy",
        )

    return call


def _wait(number: int, took: float) -> None:
    import random  # here: most changes are the first

    longest = max(_FIRST_WAIT, took) * min(2**number, _LONGEST_IN_TRIES)
    time.sleep(longest * random.uniform(0.1, 1.0))


# --- an exclusive lock of the operating system on a file


if sys.platform == "win32":

    class KernelLock:
        """A lock that is acquired immediately or not at all. Callers wait if they want to."""

        def __init__(self, path: Path) -> None:
            from filelock import FileLock

            self._lock = FileLock(path, timeout=0, blocking=False, fallback_to_soft=False)

        @property
        def is_held(self) -> bool:
            return self._lock.is_locked

        def acquire(self) -> None:
            from filelock import Timeout

            try:
                self._lock.acquire()
            except Timeout:
                raise BlockingIOError(errno.EWOULDBLOCK, "another process holds it") from None

        def release(self) -> None:
            self._lock.release()

else:
    import fcntl

    class KernelLock:
        """A lock that is acquired immediately or not at all. Callers wait if they want to."""

        def __init__(self, path: Path) -> None:
            self._path, self._descriptor = path, -1
            self._file: os.stat_result | None = None

        @property
        def is_held(self) -> bool:
            """Whether this process holds the lock. A forked child does not."""
            return self._file is not None

        def acquire(self) -> None:
            """Acquire the lock. Raises BlockingIOError if another process has it, OSError if locking fails."""
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, _permissions(os.stat(self._path.parent)))
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                status = os.fstat(descriptor)
                if not status.st_nlink:
                    # The last holder removed the file, so this lock protects nothing.
                    raise BlockingIOError(errno.EWOULDBLOCK, "another process held it")
            except BaseException:
                os.close(descriptor)
                raise
            self._descriptor, self._file = descriptor, status
            _held.add(self)

        def release(self) -> None:
            """Close the file, which releases the lock."""
            _held.discard(self)
            # A test may have closed our descriptor (`os.closerange`), and another file may have its number now.
            with contextlib.suppress(OSError):
                if self._file is not None and os.path.samestat(os.fstat(self._descriptor), self._file):
                    os.close(self._descriptor)
            self._file = None

    #: The locks that this process holds.
    _held: set[KernelLock] = set()

    def _release_in_child() -> None:
        """Close inherited locks: otherwise a child would keep them after its parent's death."""
        for lock in tuple(_held):
            lock.release()

    os.register_at_fork(after_in_child=_release_in_child)

    def _permissions(folder: os.stat_result) -> int:
        """Return the mode of a lock file: users who may write to its folder may open it, and so lock it."""
        mode = folder.st_mode
        if mode & stat.S_ISVTX:
            mode &= ~stat.S_IWOTH  # like /tmp: others may add files, but not touch ours
        # The read bit is twice the write bit, so three times the write bit is both.
        return 0o600 | (mode & (stat.S_IWGRP | stat.S_IWOTH)) * 3
