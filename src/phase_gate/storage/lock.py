"""The lock that protects a task's state.

A kernel lock on a sidecar: the state file is swapped on every write, and a lock on the swapped-out file would guard
nothing. It is free as soon as its holder is dead. Who holds it stands in a small file beside it, for people only.
"""

from __future__ import annotations

import contextlib
import errno
import stat
import sys
from collections.abc import Iterator
from json import dumps, loads
from pathlib import Path

from phase_gate.bound import os, time
from phase_gate.errors import LockTimeoutError, StorageError
from phase_gate.storage.files import REAL, FileSystem, read_bytes, refuse, remove_file
from phase_gate.storage.process_identity import ProcessIdentity
from phase_gate.workflow.settings import DEFAULT_LOCK_TIMEOUT

#: Until when a waiter asks how often, in seconds. In a crowd first less often, for 50 that ask every 5 ms leave no
#: processor for the one that holds the lock; then more and more often, so that the one that waits longest is next.
_PATIENCE = ((0.05, 0.005), (1.0, 0.06), (3.0, 0.03), (float("inf"), 0.015))
_CROWD_INTERVAL = 0.03
#: For so long a process that had to wait gives way before it asks again: one that polls is asleep when a lock becomes
#: free, so one that asks at once would always be first, and 49 others would wait until it has had enough.
_CROWDED_FOR = 1.0
#: What file systems say that have no locks.
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})


@contextlib.contextmanager
def hold_lock(
    path: Path, files: FileSystem = REAL, *, timeout: float = DEFAULT_LOCK_TIMEOUT, command: str = ""
) -> Iterator[None]:
    """Hold the kernel lock on `path`; raises LockTimeoutError with the holder's name after `timeout` seconds."""
    if path.is_symlink() or path.is_dir():
        raise refuse(path, OSError("not a plain file"))
    lock = lock_on(path)
    try:
        _give_way()
        try:
            files.acquire(lock)
        except LockedError:
            _waited.at = time.monotonic()
            _wait_for(lock, timeout, files)
    except LockedError:
        raise LockTimeoutError(
            f"{path.name} was not free within {timeout:g} s{_describe_holder(path, files)}",
            remedy="wait for that run to end, or end it, then run again",
        ) from None
    except (OSError, NotImplementedError) as error:
        raise _refuse_lock(path, error) from error
    holder, process = holder_file(path), ProcessIdentity()
    try:
        with contextlib.suppress(OSError):
            # Never through a link: what it points to is not ours.
            descriptor = files.open(holder, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            try:
                files.write(descriptor, dumps(_myself(command)).encode())
            finally:
                files.close(descriptor)
        yield
    finally:
        try:
            if process.is_this():
                remove_file(holder, files)
        finally:
            lock.release()  # even if Ctrl-C comes right here


class _Waited:
    """When this process last found a lock held by another process."""

    at = -_CROWDED_FOR


_waited = _Waited()


def _give_way() -> None:
    """Let those go first who wait already, if there were any lately."""
    if time.monotonic() - _waited.at < _CROWDED_FOR:
        time.sleep(_CROWD_INTERVAL)


def _wait_for(lock: KernelLock, timeout: float, files: FileSystem) -> None:
    began = time.monotonic()
    while (left := timeout - (waited := time.monotonic() - began)) > 0:
        interval = next(each for until, each in _PATIENCE if waited < until)
        time.sleep(min(interval, left))
        with contextlib.suppress(LockedError):
            files.acquire(lock)
            return
    raise LockedError


def holder_file(path: Path) -> Path:
    return path.with_suffix(".holder")


def is_free(path: Path, files: FileSystem = REAL) -> bool:
    """Tell whether the kernel lock on `path` is free. A missing file is free."""
    try:
        files.stat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False  # doubt: what can't be looked at may be held
    lock = lock_on(path)
    try:
        files.acquire(lock)
    except (OSError, NotImplementedError):
        return False  # held, or in doubt: a lock that can't be asked may be held
    lock.release()
    return True


class RunLock:
    """Held while a run lives: an open record whose lock is free belongs to a run that is lost."""

    def __init__(self, path: Path, files: FileSystem = REAL) -> None:
        self._path, self._files = path, files
        self._lock = lock_on(path)

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


def _myself(command: str) -> dict[str, object]:
    return {
        "pid": os.getpid(),
        "host": host_name(),
        "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": command,
    }


def host_name() -> str:
    """Return this machine's name; importing `socket` for it would cost more than the rest of a lock."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def _describe_holder(path: Path, files: FileSystem) -> str:
    try:
        who = loads(read_bytes(holder_file(path), files) or b"")
        return f": held by pid {who['pid']} on {who['host']} since {who['since']} ({who['command']})"
    except (StorageError, ValueError, KeyError, TypeError, RecursionError):
        return ""


# --- an exclusive lock of the operating system on a file: free as soon as its holder is dead


class LockedError(BlockingIOError):
    """Another process holds the lock."""

    def __init__(self) -> None:
        super().__init__(errno.EWOULDBLOCK, "another process holds it")


class KernelLock:
    """Taken at once or not at all; waiting is the caller's business."""

    def acquire(self) -> None:
        """Take it. Raises LockedError if another process has it, OSError if the lock can't be tried."""
        raise NotImplementedError

    def release(self) -> bool:
        """Let it go; False in a forked child, which has nothing to let go."""
        raise NotImplementedError


def lock_on(path: Path) -> KernelLock:
    """Return the lock on that file, not taken yet."""
    if sys.platform == "win32":
        return _FileLock(path)
    return _Flock(path)


if sys.platform == "win32":

    class _FileLock(KernelLock):
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

    # Bound here: a forked child lets go in the middle of a test, which may have patched them.
    from os import close, fstat
    from os.path import samestat

    #: Descriptors of the locks that this process has, each with what its file was.
    _held: dict[int, os.stat_result] = {}

    class _Flock(KernelLock):
        def __init__(self, path: Path) -> None:
            self._path = path
            self._descriptor = -1
            self._file: os.stat_result | None = None
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
                    raise LockedError  # the last holder removed the file: this lock guards nothing
                _close_to_others(descriptor, status, folder)
            except BlockingIOError:
                os.close(descriptor)
                raise LockedError from None
            except BaseException:
                os.close(descriptor)
                raise
            _held[descriptor] = status
            self._descriptor, self._file, self._process = descriptor, status, ProcessIdentity()

        def release(self) -> bool:
            if self._process is not None and not self._process.is_this():
                return False
            # Another lock of ours may have the number by now, if a test has closed this one.
            if self._file is not None and _held.get(self._descriptor) is self._file:
                del _held[self._descriptor]
                _close(self._descriptor, self._file)
            self._descriptor, self._file = -1, None
            return True

    def _close(descriptor: int, file: os.stat_result) -> None:
        """Let a lock go. Closed, not unlocked: that is what the end of a process does, too."""
        # A test may have closed what it did not open (`os.closerange`), and another file may have the number now.
        with contextlib.suppress(OSError):
            if samestat(fstat(descriptor), file):
                close(descriptor)

    def _permissions(folder: os.stat_result) -> int:
        """Return who may open the lock: those who may write to its folder: opening it is enough to hold it."""
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
        for descriptor, file in _held.items():
            _close(descriptor, file)
        _held.clear()

    os.register_at_fork(after_in_child=_let_go_in_child)


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
