"""The few file operations that storage needs, behind one seam.

Every acknowledged write was fsynced, file and folder. Tests put a `FileSystem` in that fails, dies or forgets at the
Nth call, or patch the methods of the class itself; production pays one attribute look-up for it. Nothing in storage
that reads, writes or locks a file of the state goes past it.
"""

from __future__ import annotations

import contextlib
import errno
import stat
import sys
from pathlib import Path

from phase_gate.bound import os, time
from phase_gate.errors import StorageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

    from phase_gate.storage.lock import KernelLock

#: Windows refuses a replace while a scanner or reader holds the file (access denied, sharing, lock violation).
_SHARING_ERRORS = frozenset({5, 32, 33})
#: 50 ms doubling, about 1.5 s in all: scanners let go within that.
_REPLACE_RETRIES = 5

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
#: What opening a link, or a folder, in a file's place says; None where we looked ourselves. With any other error the
#: place is as it should be, and something else is wrong with it.
_LINK_ERRORS = frozenset({errno.ELOOP, errno.EMLINK, None})
_FOLDER_ERRORS = frozenset({errno.EISDIR, errno.EINVAL, None})
#: A named pipe in a file's place would let us wait for ever.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


class FileSystem:
    """The operating system's calls, one method each."""

    def open(self, path: Path, flags: int) -> int:
        if not _NO_FOLLOW and path.is_symlink():  # Windows can't be told not to follow one
            raise OSError(errno.ELOOP, "symbolic link")
        descriptor = os.open(path, flags | _NO_FOLLOW | _BINARY, 0o666)
        if flags & os.O_CREAT and os.name != "nt" and not os.fstat(descriptor).st_mode & 0o400:
            os.fchmod(descriptor, 0o600)  # a test has left a umask that would close it to its own user
        return descriptor

    def stream(self, descriptor: int) -> BinaryIO:
        """Return an open file for reading; closing it closes the descriptor."""
        return os.fdopen(descriptor, "rb")

    def stat(self, path: Path, *, follow: bool = False) -> os.stat_result:
        return os.stat(path, follow_symlinks=follow)

    def write(self, descriptor: int, data: bytes) -> int:
        return os.write(descriptor, data)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def fsync(self, descriptor: int) -> None:
        if sys.platform == "darwin":
            # Plain fsync leaves the data in the drive's cache there.
            import fcntl

            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        delay = 0.05
        for _ in range(_REPLACE_RETRIES):
            try:
                os.replace(source, target)
            except OSError as error:
                if getattr(error, "winerror", None) not in _SHARING_ERRORS:
                    raise
                time.sleep(delay)
                delay *= 2
            else:
                return
        os.replace(source, target)

    def fsync_folder(self, folder: Path) -> None:
        if os.name == "nt":
            return  # a folder can't be opened there; the rename is journalled
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
        lock.acquire()


#: What storage uses unless it is told otherwise.
REAL = FileSystem()


def exists(path: Path, files: FileSystem = REAL) -> bool:
    """Tell whether something is there. Raises StorageError where that can't be told: doubt is not absence."""
    try:
        files.stat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise refuse(path, error) from error
    return True


def open_file(path: Path, files: FileSystem = REAL) -> BinaryIO | None:
    """Open a file for reading, None if it is not there. A link, a folder or a pipe in its place is refused."""
    try:
        descriptor = files.open(path, os.O_RDONLY | _NO_WAIT)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refuse(path, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise refuse(path, OSError(errno.EINVAL, "not a regular file"))
    return files.stream(descriptor)


def read_bytes(path: Path, files: FileSystem = REAL, *, offset: int = 0, limit: int = -1) -> bytes | None:
    """Return a file's content, or its first `limit` bytes; None if it is not there. Refuses what `open_file` does."""
    stream = open_file(path, files)
    if stream is None:
        return None
    with stream:
        try:
            stream.seek(offset)
            return stream.read(limit)
        except OSError as error:
            raise refuse(path, error) from error


def refuse(path: Path, error: OSError) -> StorageError:
    """Return the error that names the file, the cause and what to do."""
    if error.errno in _LINK_ERRORS and path.is_symlink():
        return StorageError(
            f"{path.name} is a symbolic link: state files are never followed elsewhere",
            remedy=f"replace {path} by the file itself, or remove it",
        )
    if (error.errno in _FOLDER_ERRORS or os.name == "nt") and path.is_dir():
        return StorageError(f"{path.name} is a folder, not a file", remedy=f"move {path} out of the way")
    if isinstance(error, NotADirectoryError | FileExistsError):
        place = next(each for each in (path, *path.parents) if each.exists())
        return StorageError(f"{place.name} is a file, not a folder", remedy=f"move {place} out of the way")
    cause = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return StorageError(f"{path.name} could not be written: {cause}", remedy="free some disk space, then run again")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(
            f"{path.name} can't be used: {cause}",
            remedy=f"make {path.parent} writable, or choose another place with --phase-dir or PHASE_GATE_DIR",
        )
    return StorageError(f"{path.name} could not be read or written: {cause}", remedy=f"look at {path}, then run again")


def write_atomically(files: FileSystem, path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file's content: a reader, or a crash, sees the old one or the new one."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = files.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            _write_all(files, descriptor, data)
            if durable:
                files.fsync(descriptor)
        finally:
            files.close(descriptor)
        if _is_link(files, path):
            raise OSError(errno.ELOOP, "symbolic link")
        files.replace(temporary, path)
        if durable:
            files.fsync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            files.unlink(temporary)
        raise refuse(path, error) from error


def append_durably(files: FileSystem, path: Path, data: bytes) -> None:
    """Add to a file's end, or leave it as it was."""
    try:
        descriptor = files.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            before = os.fstat(descriptor).st_size
            if not before:
                # Before the data: once that is there, nothing may fail any more. By its size, not by whether we made
                # it: that process may have died right here.
                files.fsync_folder(path.parent)
            try:
                _write_all(files, descriptor, data)
                files.fsync(descriptor)
            except OSError:
                # What was not acknowledged must not be found later. If this fails too, opening cuts the torn end off.
                with contextlib.suppress(OSError):
                    files.truncate(descriptor, before)
                raise
        finally:
            files.close(descriptor)
    except OSError as error:
        raise refuse(path, error) from error


def cut_off(files: FileSystem, path: Path, size: int) -> None:
    """Shorten a file to its first `size` bytes."""
    try:
        descriptor = files.open(path, os.O_WRONLY)
        try:
            files.truncate(descriptor, size)
            files.fsync(descriptor)
        finally:
            files.close(descriptor)
    except OSError as error:
        raise refuse(path, error) from error


def make_folder(files: FileSystem, folder: Path) -> None:
    """Make a folder and those above it, so that a power failure does not take them away again."""
    try:
        missing: list[Path] = []
        for level in (folder, *folder.parents):
            if _is_folder(files, level):
                break
            missing.append(level)
        for level in reversed(missing):
            try:
                files.make_folder(level)
            except FileExistsError:
                if not _is_folder(files, level):  # else another process was faster
                    raise
        sync_folders(files, [level.parent for level in missing])
    except OSError as error:
        raise refuse(folder, error) from error


def sync_folder(files: FileSystem, folder: Path) -> None:
    """Let what was made or renamed in a folder stay."""
    try:
        files.fsync_folder(folder)
    except OSError as error:
        raise refuse(folder, error) from error


def set_aside(files: FileSystem, path: Path, name: Path) -> None:
    """Give a file another name."""
    try:
        files.replace(path, name)
        files.fsync_folder(path.parent)
    except OSError as error:
        raise refuse(path, error) from error


def sync_folders(files: FileSystem, folders: Iterable[Path]) -> None:
    """Let what was made in these folders stay. A folder that we may write but not read can't be synced."""
    for folder in folders:
        with contextlib.suppress(PermissionError):
            files.fsync_folder(folder)


def _is_link(files: FileSystem, path: Path) -> bool:
    try:
        return stat.S_ISLNK(files.stat(path).st_mode)
    except FileNotFoundError:
        return False


def _is_folder(files: FileSystem, path: Path) -> bool:
    try:
        return stat.S_ISDIR(files.stat(path, follow=True).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def remove_file(path: Path, files: FileSystem = REAL) -> None:
    """Take a file away if it is there and can be taken: for what is no longer needed."""
    with contextlib.suppress(OSError):
        files.unlink(path)


def _write_all(files: FileSystem, descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        # A short write is no error: the kernel takes what it can.
        view = view[files.write(descriptor, bytes(view)) :]
