"""File operations for the state folder. Every access to state files goes through the class `FileSystem`.

A write is acknowledged after the file and its folder are fsynced. Tests replace `FileSystem` by one that fails, dies
or loses data at the Nth call, or patch its methods; in production this costs one attribute access per call.
"""

from __future__ import annotations

import contextlib
import errno
import stat
import sys
from json import dumps, loads
from pathlib import Path

from phase_gate.bound import os, time
from phase_gate.codec import from_json, to_json
from phase_gate.errors import StorageError
from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, BinaryIO, TypeVar

    from phase_gate.storage.lock import KernelLock

    T = TypeVar("T", bound=Value)

#: Windows refuses to replace a file that a scanner or reader has open (access denied, sharing, lock violation).
_SHARING_ERRORS = frozenset({5, 32, 33})
#: Seconds before each retry, about 1.5 in total: scanners close a file within that time.
_REPLACE_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
#: Errors from opening a link, or a folder, where a file is expected; None for errors of our own checks. Any other
#: error has another cause.
_LINK_ERRORS = frozenset({errno.ELOOP, errno.EMLINK, None})
_FOLDER_ERRORS = frozenset({errno.EISDIR, errno.EINVAL, None})
#: Errors of places that the user, or any user, may not write to.
NOT_ALLOWED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
#: Opening a named pipe would block forever.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


class FileSystem:
    """The operating system's calls, one method each."""

    def open(self, path: Path, flags: int) -> int:
        if not _NO_FOLLOW and path.is_symlink():  # Windows has no flag against following links
            raise OSError(errno.ELOOP, "symbolic link")
        descriptor = os.open(path, flags | _NO_FOLLOW | _BINARY, 0o666)
        if flags & os.O_CREAT and os.name != "nt" and not os.fstat(descriptor).st_mode & 0o400:
            os.fchmod(descriptor, 0o600)  # a test set a umask that locks out even the owner
        return descriptor

    def stream(self, descriptor: int) -> BinaryIO:
        """Return a readable stream. Closing it closes the descriptor."""
        return os.fdopen(descriptor, "rb")

    def stat(self, path: Path, *, follow: bool = False) -> os.stat_result:
        return os.stat(path, follow_symlinks=follow)

    def write(self, descriptor: int, data: bytes) -> int:
        return os.write(descriptor, data)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def fsync(self, descriptor: int) -> None:
        if sys.platform == "darwin":
            # On macOS, plain fsync leaves the data in the drive's cache.
            import fcntl

            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        for pause in (*_REPLACE_PAUSES, None):
            try:
                os.replace(source, target)
                return
            except OSError as error:
                if pause is None or getattr(error, "winerror", None) not in _SHARING_ERRORS:
                    raise
                time.sleep(pause)

    def fsync_folder(self, folder: Path) -> None:
        if os.name == "nt":
            return  # Windows can't open a folder, and journals the rename
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def make_folder(self, folder: Path) -> None:
        os.mkdir(folder)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def list_folder(self, folder: Path) -> list[str]:
        return os.listdir(folder)

    def acquire(self, lock: KernelLock) -> None:
        lock.take()


#: The file system that storage uses by default.
REAL = FileSystem()


@contextlib.contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Raise StorageError, with the file, the cause and a remedy, for an error of the operating system."""
    try:
        yield
    except OSError as error:
        raise refuse(path, error) from error


def exists(path: Path, files: FileSystem = REAL) -> bool:
    """Return whether a path exists. Raises StorageError if that can't be determined."""
    with refusing(path), contextlib.suppress(FileNotFoundError):
        files.stat(path)
        return True
    return False


def open_file(path: Path, files: FileSystem = REAL) -> BinaryIO | None:
    """Open a file for reading; None if it is missing. Raises StorageError for a link, a folder or a pipe."""
    with refusing(path):
        try:
            descriptor = files.open(path, os.O_RDONLY | _NO_WAIT)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a regular file")
        return files.stream(descriptor)


def read_bytes(path: Path, files: FileSystem = REAL, *, offset: int = 0, limit: int = -1) -> bytes | None:
    """Return a file's content from `offset`, at most `limit` bytes; None if it is missing. Raises as `open_file`."""
    stream = open_file(path, files)
    if stream is None:
        return None
    with refusing(path), stream:
        stream.seek(offset)
        return stream.read(limit)


def refuse(path: Path, error: OSError) -> StorageError:
    """Return an error with the file, the cause and a remedy."""
    if error.errno in _LINK_ERRORS and path.is_symlink():
        return StorageError(
            f"{path.name} is a symbolic link, and state files are never read or written through links",
            remedy=f"replace {path} with the file itself, or remove it",
        )
    if (error.errno in _FOLDER_ERRORS or os.name == "nt") and path.is_dir():
        return StorageError(f"{path.name} is a folder, not a file", remedy=f"move {path} out of the way")
    if isinstance(error, NotADirectoryError | FileExistsError):
        place = next(each for each in (path, *path.parents) if each.exists())
        return StorageError(f"{place.name} is a file, not a folder", remedy=f"move {place} out of the way")
    cause = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return StorageError(f"{path.name} could not be written: {cause}", remedy="free some disk space, then run again")
    if error.errno in NOT_ALLOWED:
        return StorageError(
            f"{path.name} can't be used: {cause}",
            remedy=f"make {path.parent} writable, or name another state folder: --phase-dir for pytest,"
            " --dir for phase-gate, or PHASE_GATE_DIR for both",
        )
    return StorageError(f"{path.name} could not be read or written: {cause}", remedy=f"check {path}, then run again")


def write_atomically(files: FileSystem, path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file's content. Readers, and a crash, see either the old or the new content."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with refusing(path):
        try:
            with _opened(files, temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
                _write_all(files, descriptor, data)
                if durable:
                    files.fsync(descriptor)
            if stat.S_ISLNK(_mode(files, path)):
                raise OSError(errno.ELOOP, "symbolic link")
            files.replace(temporary, path)
        except OSError:
            remove_file(temporary, files)
            raise
        if durable:
            files.fsync_folder(path.parent)


def append_durably(files: FileSystem, path: Path, data: bytes) -> None:
    """Append to a file, or leave it unchanged if that fails."""
    with refusing(path), _opened(files, path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as descriptor:
        before = os.fstat(descriptor).st_size
        if not before:
            # Before the data, because nothing may fail after it is written. An existing empty file counts, too: the
            # process that made it may have died at this point.
            files.fsync_folder(path.parent)
        try:
            _write_all(files, descriptor, data)
            files.fsync(descriptor)
        except OSError:
            # Data that was not acknowledged must not show up later. If this fails, too, opening cuts it off.
            with contextlib.suppress(OSError):
                files.truncate(descriptor, before)
            raise


def cut_off(files: FileSystem, path: Path, size: int) -> None:
    """Shorten a file to its first `size` bytes."""
    with refusing(path), _opened(files, path, os.O_WRONLY) as descriptor:
        files.truncate(descriptor, size)
        files.fsync(descriptor)


def make_folder(files: FileSystem, folder: Path) -> None:
    """Make a folder and its parents, and sync them, so that they survive a power failure."""
    with refusing(folder):
        missing: list[Path] = []
        level = folder
        while not stat.S_ISDIR(_mode(files, level, follow=True)):
            missing.append(level)
            level = level.parent
        for level in reversed(missing):
            try:
                files.make_folder(level)
            except FileExistsError:
                if not stat.S_ISDIR(_mode(files, level, follow=True)):  # otherwise another process has made it
                    raise
        sync_folders(files, [level.parent for level in missing])


def set_aside(files: FileSystem, path: Path, name: Path) -> None:
    """Rename a file, durably."""
    with refusing(path):
        files.replace(path, name)
        files.fsync_folder(path.parent)


def sync_folders(files: FileSystem, folders: Iterable[Path]) -> None:
    """Make the entries of these folders durable. A folder that is writable but not readable can't be synced."""
    for folder in folders:
        with refusing(folder), contextlib.suppress(PermissionError):
            files.fsync_folder(folder)


def remove_file(path: Path, files: FileSystem = REAL) -> None:
    """Remove a file that is no longer needed. Failures are ignored."""
    with contextlib.suppress(OSError):
        files.unlink(path)


# --- small JSON files that are only caches: an unreadable file counts as missing


def load_json(path: Path, files: FileSystem = REAL) -> Any:
    """Return the JSON document in a cache; None if it is missing or damaged."""
    try:
        return loads(read_bytes(path, files) or b"null")
    except (StorageError, ValueError, RecursionError):
        return None


def load_value(kind: type[T], path: Path, files: FileSystem = REAL) -> T | None:
    """Return the value in a cache; None if it is missing, damaged or of another kind."""
    try:
        return from_json(kind, load_json(path, files))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def save_cache(path: Path, document: Value | object, files: FileSystem = REAL) -> None:
    """Write a document or a value, and make the folder for it. Failures are ignored."""
    document = to_json(document) if isinstance(document, Value) else document
    with contextlib.suppress(StorageError):
        make_folder(files, path.parent)
        data = dumps(document, separators=(",", ":")).encode("ascii")
        write_atomically(files, path, data, durable=False)


# --- the steps of writing


@contextlib.contextmanager
def _opened(files: FileSystem, path: Path, flags: int) -> Iterator[int]:
    descriptor = files.open(path, flags)
    try:
        yield descriptor
    finally:
        files.close(descriptor)


def _mode(files: FileSystem, path: Path, *, follow: bool = False) -> int:
    """Return the type and permissions of a path; 0 if it is missing."""
    try:
        return files.stat(path, follow=follow).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _write_all(files: FileSystem, descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        # A short write is not an error: the kernel writes as much as it can.
        view = view[files.write(descriptor, bytes(view)) :]
