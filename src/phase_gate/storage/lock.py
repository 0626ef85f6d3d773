"""The lock that protects a task's state: a kernel lock, which the system releases when its holder dies.

It is on a separate file: the state file is replaced on every write, and a lock on the replaced file would protect
nothing. A small file next to it names the holder, for people only.
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

#: Seconds between two tries of a waiting process: 50 of them leave the holder enough processor time.
_TRIES_EVERY = 0.02
#: Errors of file systems without locks.
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})


class LockedError(BlockingIOError):
    """Another process holds the lock."""

    def __init__(self) -> None:
        super().__init__(errno.EWOULDBLOCK, "another process holds it")


@contextlib.contextmanager
def hold_lock(
    path: Path, files: FileSystem = REAL, *, timeout: float = DEFAULT_LOCK_TIMEOUT, command: str = ""
) -> Iterator[None]:
    """Hold the kernel lock on `path`. Raises LockTimeoutError with the holder's name after `timeout` seconds."""
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
            lock.release()  # even after Ctrl-C in the line above


def _wait_for(lock: KernelLock, timeout: float, files: FileSystem) -> None:
    end = time.monotonic() + timeout
    while True:
        try:
            return files.acquire(lock)
        except LockedError:
            left = end - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(left, _TRIES_EVERY))


def holder_file(path: Path) -> Path:
    return path.with_suffix(".holder")


def _describe_holder(holder: Path, files: FileSystem) -> str:
    who = cache.load(holder, files)
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
    except (OSError, NotImplementedError):
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
        except (OSError, NotImplementedError) as error:
            raise _refuse_lock(self._path, error) from error

    def release(self, *, has_ended: bool = True) -> None:
        """Release the lock.

        :param has_ended: if False, the record is still open, and the unlocked file stays to show that the run is lost.
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
        """A lock that is acquired immediately or not at all. Callers wait if they want to."""

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
        """A lock that is acquired immediately or not at all. Callers wait if they want to."""

        def __init__(self, path: Path) -> None:
            self._path, self._descriptor, self._process = path, -1, os.getpid()
            self._file: os.stat_result | None = None

        def acquire(self) -> None:
            """Acquire the lock. Raises LockedError if another process has it, OSError if locking fails."""
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, _permissions(os.stat(self._path.parent)))
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                status = os.fstat(descriptor)
                if not status.st_nlink:
                    raise BlockingIOError  # the last holder removed the file, so this lock protects nothing
            except BaseException as error:
                os.close(descriptor)
                if isinstance(error, BlockingIOError):
                    raise LockedError from None
                raise
            self._descriptor, self._file, self._process = descriptor, status, os.getpid()
            _held.add(self)

        def release(self) -> bool:
            """Release the lock. Return False in a forked child, which does not have it."""
            if self._process != os.getpid():
                return False
            _held.discard(self)
            self.close()
            return True

        def close(self) -> None:
            """Close the file, which releases the lock."""
            # A test may have closed our descriptor (`os.closerange`), and another file may have its number now.
            with contextlib.suppress(OSError):
                if self._file is not None and os.path.samestat(os.fstat(self._descriptor), self._file):
                    os.close(self._descriptor)
            self._file = None

    #: The locks that this process holds.
    _held: set[KernelLock] = set()

    def _release_in_child() -> None:
        """Close inherited locks: otherwise a child would keep them after its parent's death."""
        for lock in _held:
            lock.close()
        _held.clear()

    os.register_at_fork(after_in_child=_release_in_child)

    def _permissions(folder: os.stat_result) -> int:
        """Return the mode of a lock file: users who may write to its folder may open it, and so lock it."""
        mode = folder.st_mode
        if mode & stat.S_ISVTX:
            mode &= ~stat.S_IWOTH  # like /tmp: others may add files, but not touch ours
        # The read bit is twice the write bit, so three times the write bit is both.
        return 0o600 | (mode & (stat.S_IWGRP | stat.S_IWOTH)) * 3

# --- whether a folder is on a network file system, where locks are unreliable


#: File systems on which `flock` may be local, ignored, or block forever.
NETWORK_TYPES = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "glusterfs"})

_MOUNT_TABLE = Path("/proc/self/mounts")


def network_warning(folder: Path, table: Path = _MOUNT_TABLE) -> str:
    """Return a warning if the folder is on a network file system, otherwise an empty text."""
    kind = filesystem_type(folder, table)
    if kind not in NETWORK_TYPES:
        return ""
    return f"{folder} is on {kind}: locks may not work between machines; PHASE_GATE_DIR can name a local folder"


def filesystem_type(folder: Path, table: Path = _MOUNT_TABLE) -> str:
    """Return the type of the folder's file system from the mount table; empty if that is unknown."""
    try:
        rows = table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    path = os.path.join(os.path.realpath(folder), "")
    best = kind = ""
    for _, mount, its_kind, *_ in (words for row in rows if len(words := row.split(" ")) > 2):
        place = os.path.join(mount.replace("\\040", " "), "")
        # The last of equally long ones wins, because it is mounted over the others.
        if path.startswith(place) and len(place) >= len(best):
            best, kind = place, its_kind
    return kind
