"""How writers of a task take turns: by a kernel lock on one machine, and by a second try across machines.

The system releases the lock when its holder dies. It is on a separate file: the state file is replaced on every write,
and a lock on the replaced file would protect nothing. A small file next to it names the holder, for people only.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from phase_gate.bound import os, time
from phase_gate.errors import MovedError, StateError, StorageError
from phase_gate.storage.files import REAL, FileSystem, load_json, refuse, remove_file, save_cache
from phase_gate.workflow.settings import DEFAULT_LOCK_TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")

#: Seconds between two tries of a waiting process: 50 of them leave the holder enough processor time.
_TRIES_EVERY = 0.02
#: Seconds to wait by default: `is_free` holds a lock for a moment, and a run that starts then must not fail.
_MOMENT = 0.5
#: Errors of file systems without locks.
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})


@contextlib.contextmanager
def hold_lock(
    path: Path, files: FileSystem = REAL, *, timeout: float = DEFAULT_LOCK_TIMEOUT, command: str = ""
) -> Iterator[None]:
    """Hold the lock of a task. Raises StateError with the holder's name after `timeout` seconds."""
    lock, holder = KernelLock(path, files), path.with_suffix(".holder")
    lock.acquire(timeout=timeout)
    try:
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        save_cache(holder, {"pid": os.getpid(), "host": host_name(), "since": since, "command": command}, files)
        yield
    finally:
        try:
            if lock.is_held:
                remove_file(holder, files)
        finally:
            lock.let_go()  # even after Ctrl-C in the line above


def host_name() -> str:
    """Return this machine's name, without `socket`, whose import takes longer than locking."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def is_free(path: Path, files: FileSystem = REAL) -> bool:
    """Return whether the lock on `path` is free. A missing file counts as free."""
    lock = KernelLock(path, files, is_check=True)
    try:
        files.stat(path)
        files.acquire(lock)
    except FileNotFoundError:
        return True
    except OSError:
        return False  # held, or unknown, which counts as held
    lock.let_go()
    return True


class KernelLock:
    """The operating system's exclusive lock on a file: of a task, of a drive, or of a run.

    A run whose record is open and whose lock is free was killed.
    """

    def __init__(self, path: Path, files: FileSystem = REAL, *, is_check: bool = False) -> None:
        """Make a lock that is not held yet.

        :param is_check: share the lock with other checks, and make no file.
        """
        self._path, self._files, self._is_check = path, files, is_check
        self._handle: Any = None

    @property
    def is_held(self) -> bool:
        """Whether this process holds the lock. A forked child does not."""
        return self._handle is not None

    def acquire(self, *, timeout: float = _MOMENT) -> None:
        """Acquire the lock. Raises StateError if another process does not release it in time."""
        end = time.monotonic() + timeout
        while True:
            try:
                return self._files.acquire(self)
            except BlockingIOError:
                left = end - time.monotonic()
                if left <= 0:
                    problem = f"{self._path.name} was not free within {timeout:g} s{self._describe_holder()}"
                    remedy = "wait for that run to end, or end it, then run again"
                    raise StateError(problem, remedy, slug="lock-timeout") from None
                time.sleep(min(left, _TRIES_EVERY))
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise refuse(self._path, error) from error
                raise StorageError(
                    f"{self._path.name} can't be locked: {error}",
                    remedy="name a folder on a local disk with --phase-dir, --dir or PHASE_GATE_DIR",
                ) from error

    def take(self) -> None:
        """Try once. Raises BlockingIOError if another process has it, OSError if locking fails."""
        self._handle = _lock(self._path, is_check=self._is_check)
        _held.add(self)

    def release(self, *, has_ended: bool = True) -> None:
        """Release the lock of a run or a drive.

        :param has_ended: if False, the record is still open, and the unlocked file stays to show that the run is lost.
        """
        # In this order: after the release, the file may be another process's lock.
        if has_ended and self.is_held:
            remove_file(self._path, self._files)
        self.let_go()

    def let_go(self) -> None:
        """Release the lock. Its file stays."""
        _held.discard(self)
        handle, self._handle = self._handle, None
        if handle is not None:
            _unlock(handle)

    def _describe_holder(self) -> str:
        who = load_json(self._path.with_suffix(".holder"), self._files)
        try:
            return f": held by pid {who['pid']} on {who['host']} since {who['since']} ({who['command']})"
        except (KeyError, TypeError):
            return ""


#: The locks that this process holds.
_held: set[KernelLock] = set()


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


# --- the operating system's lock on a file, acquired immediately or not at all


if sys.platform == "win32":

    def _lock(path: Path, *, is_check: bool) -> Any:  # this system has no shared lock
        from filelock import FileLock, Timeout

        lock = FileLock(path, timeout=0, blocking=False, fallback_to_soft=False)
        try:
            lock.acquire()
        except Timeout:
            raise BlockingIOError(errno.EWOULDBLOCK, "another process holds it") from None
        return lock

    def _unlock(lock: Any) -> None:
        lock.release()

else:
    import fcntl

    def _lock(path: Path, *, is_check: bool) -> tuple[int, os.stat_result]:
        creates, how = (0, fcntl.LOCK_SH) if is_check else (os.O_CREAT, fcntl.LOCK_EX)
        descriptor = os.open(path, os.O_RDWR | creates | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            status = os.fstat(descriptor)
            if not status.st_nlink:
                # The last holder removed the file, so this lock protects nothing.
                raise BlockingIOError(errno.EWOULDBLOCK, "another process held it")
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor, status

    def _unlock(lock: tuple[int, os.stat_result]) -> None:
        """Close the file, which releases the lock."""
        # A test may have closed our descriptor (`os.closerange`), and another file may have its number now.
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(lock[0]), lock[1]):
                os.close(lock[0])

    def _release_in_child() -> None:
        """Close inherited locks: otherwise a child would keep them after its parent's death."""
        for lock in tuple(_held):
            lock.let_go()

    os.register_at_fork(after_in_child=_release_in_child)
