"""The lock that protects a task's state: a kernel lock on a sidecar, free as soon as its holder is dead.

On a sidecar, for the state file is swapped on every write, and a lock on the swapped-out file would guard nothing. Who
holds it stands in a small file, for people only.
"""

from __future__ import annotations

import contextlib
import errno
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from phase_gate.bound import os, time
from phase_gate.errors import LockTimeoutError, StorageError
from phase_gate.storage import cache
from phase_gate.storage.files import REAL, FileSystem, refuse, remove_file
from phase_gate.workflow.settings import DEFAULT_LOCK_TIMEOUT

#: Until when a waiter asks how often, in seconds. In a crowd first less often, for 50 that ask every 5 ms leave no
#: processor for the one that holds the lock; then more and more often, so that the one that waits longest is next.
_PATIENCE = ((0.05, 0.005), (1.0, 0.06), (3.0, 0.03), (float("inf"), 0.015))
#: A process that had to wait gives way for so long before it asks again: one that polls is asleep when a lock becomes
#: free, so one that asks at once would always be first.
_GIVES_WAY = 0.03
_CROWDED_FOR = 1.0
#: What file systems say that have no locks.
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})

#: When this process last found a lock held by another process.
_waited = [float("-inf")]


class LockedError(BlockingIOError):
    """Another process holds the lock."""

    def __init__(self) -> None:
        super().__init__(errno.EWOULDBLOCK, "another process holds it")


@contextlib.contextmanager
def hold_lock(
    path: Path, files: FileSystem = REAL, *, timeout: float = DEFAULT_LOCK_TIMEOUT, command: str = ""
) -> Iterator[None]:
    """Hold the kernel lock on `path`; raises LockTimeoutError with the holder's name after `timeout` seconds."""
    if path.is_symlink() or path.is_dir():
        raise refuse(path, OSError("not a plain file"))
    lock, holder, process = KernelLock(path), holder_file(path), os.getpid()
    try:
        _wait_for(lock, timeout, files)
    except LockedError:
        raise LockTimeoutError(
            f"{path.name} was not free within {timeout:g} s{_describe_holder(holder, files)}",
            remedy="wait for that run to end, or end it, then run again",
        ) from None
    except (OSError, NotImplementedError) as error:
        raise _refuse_lock(path, error) from error
    try:
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        cache.save(holder, {"pid": process, "host": host_name(), "since": since, "command": command}, files)
        yield
    finally:
        try:
            if os.getpid() == process:
                remove_file(holder, files)
        finally:
            lock.release()  # even if Ctrl-C comes right here


def _wait_for(lock: KernelLock, timeout: float, files: FileSystem) -> None:
    began = time.monotonic()
    if began - _waited[0] < _CROWDED_FOR:
        time.sleep(_GIVES_WAY)
    while True:
        try:
            files.acquire(lock)
            return
        except LockedError:
            _waited[0] = time.monotonic()
        waited = _waited[0] - began
        if waited >= timeout:
            raise LockedError
        time.sleep(min(timeout - waited, next(each for until, each in _PATIENCE if waited < until)))


def holder_file(path: Path) -> Path:
    return path.with_suffix(".holder")


def _describe_holder(holder: Path, files: FileSystem) -> str:
    who = cache.load(holder, files)
    try:
        return f": held by pid {who['pid']} on {who['host']} since {who['since']} ({who['command']})"
    except (KeyError, TypeError):
        return ""


def host_name() -> str:
    """Return this machine's name; importing `socket` for it would cost more than the rest of a lock."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def is_free(path: Path, files: FileSystem = REAL) -> bool:
    """Tell whether the kernel lock on `path` is free. A missing file is free."""
    try:
        files.stat(path)
        lock = KernelLock(path)
        files.acquire(lock)
    except FileNotFoundError:
        return True
    except (OSError, NotImplementedError):
        return False  # held, or in doubt: a lock that can't be asked may be held
    lock.release()
    return True


class RunLock:
    """Held while a run lives: an open record whose lock is free belongs to a run that is lost."""

    def __init__(self, path: Path, files: FileSystem = REAL) -> None:
        self._path, self._files = path, files
        self._lock = KernelLock(path)

    def acquire(self) -> None:
        try:
            self._files.acquire(self._lock)
        except (OSError, NotImplementedError) as error:
            raise _refuse_lock(self._path, error) from error

    def release(self, *, has_ended: bool = True) -> None:
        """Let it go.

        :param has_ended: False: the record is still open, so the free lock stays, and tells that the run is lost.
        """
        if self._lock.release() and has_ended:
            remove_file(self._path, self._files)


def _refuse_lock(path: Path, error: OSError | NotImplementedError) -> StorageError:
    if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
        return refuse(path, error)
    return StorageError(
        f"{path.name} can't be locked: {error}",
        remedy="name a folder on a local disk with --phase-dir or PHASE_GATE_DIR",
    )


# --- an exclusive lock of the operating system on a file


if sys.platform == "win32":

    class KernelLock:
        """Taken at once or not at all; waiting is the caller's business."""

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

    class KernelLock:
        """Taken at once or not at all; waiting is the caller's business."""

        def __init__(self, path: Path) -> None:
            self._path, self._descriptor, self._process = path, -1, os.getpid()
            self._file: os.stat_result | None = None

        def acquire(self) -> None:
            """Take it. Raises LockedError if another process has it, OSError if the lock can't be tried."""
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, _permissions(os.stat(self._path.parent)))
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                status = os.fstat(descriptor)
                if not status.st_nlink:
                    raise BlockingIOError  # the last holder removed the file: this lock guards nothing
            except BaseException as error:
                os.close(descriptor)
                if isinstance(error, BlockingIOError):
                    raise LockedError from None
                raise
            self._descriptor, self._file, self._process = descriptor, status, os.getpid()
            _held.add(self)

        def release(self) -> bool:
            """Let it go; False in a forked child, which has nothing to let go."""
            if self._process != os.getpid():
                return False
            _held.discard(self)
            self.close()
            return True

        def close(self) -> None:
            """Close the file, which is what the end of a process does, too."""
            # A test may have closed what it did not open (`os.closerange`), and another file may have the number now.
            with contextlib.suppress(OSError):
                if self._file is not None and os.path.samestat(os.fstat(self._descriptor), self._file):
                    os.close(self._descriptor)
            self._file = None

    #: The locks that this process has.
    _held: set[KernelLock] = set()

    def _let_go_in_child() -> None:
        """Close what a child has inherited: else it would keep its parent's locks beyond the parent's death."""
        for lock in _held:
            lock.close()
        _held.clear()

    os.register_at_fork(after_in_child=_let_go_in_child)

    def _permissions(folder: os.stat_result) -> int:
        """Return who may open the lock: those who may write to its folder, for opening it is enough to hold it."""
        mode = folder.st_mode
        if mode & stat.S_ISVTX:
            mode &= ~stat.S_IWOTH  # as /tmp: others may put files there, and not touch ours
        # To write is one bit, to read the one above it: three times the bit is both.
        return 0o600 | (mode & (stat.S_IWGRP | stat.S_IWOTH)) * 3

# --- which kind of file system a folder is on: locks on a network file system promise less than they seem to


#: Types for which `flock` may be local, ignored, or block for ever.
NETWORK_TYPES = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "glusterfs"})

_MOUNT_TABLE = Path("/proc/self/mountinfo")


def network_warning(folder: Path, table: Path = _MOUNT_TABLE) -> str:
    """Return a warning if the folder is on a network file system; empty elsewhere, or where it is unknown."""
    kind = filesystem_type(folder, table)
    if kind not in NETWORK_TYPES:
        return ""
    return f"{folder} is on {kind}: locks may not hold between machines; PHASE_GATE_DIR can name a local folder"


def filesystem_type(folder: Path, table: Path = _MOUNT_TABLE) -> str:
    """Return the type of the file system that the folder is on, from the mount table; empty if there is none."""
    try:
        rows = table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    path = os.path.realpath(folder)
    best, kind = "", ""
    for row in rows:
        fields, _, rest = row.partition(" - ")
        words = fields.split()
        if len(words) < 5 or not rest:
            continue
        mount = words[4].replace("\\040", " ")
        # The last of equally long ones wins: it was mounted over the others.
        if (path == mount or path.startswith(mount.rstrip("/") + "/")) and len(mount) >= len(best):
            best, kind = mount, rest.split()[0]
    return kind
