"""A sandbox as a copied folder, for systems where nothing can be mounted over the project.

A sandbox that was left behind by a killed process is removed by the next proof: its lock is free then.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from phase_gate.errors import StorageError
from phase_gate.storage.lock import LockedError, RunLock
from phase_gate.storage.ownership import is_in_environment
from phase_gate.storage.tree.walk import SKIP_MARKS, SKIPPED_FOLDERS

#: What the name of a lock begins with, before that of its folder. Tests see the folder: it is named as any other is.
_LOCKS = "phase-gate-"

#: Seconds after which a lock that is free is a lost one: before, another proof may have made it and not yet taken it.
_SETTLED = 60

#: Folders that are copied although a walk for sources leaves them out: built extensions lie there.
_COPIED = frozenset({"build", "dist"})


@contextlib.contextmanager
def sandbox_folder() -> Iterator[Path]:
    """Make an empty folder for a sandbox; it is gone afterwards."""
    folder = Path(os.path.realpath(tempfile.mkdtemp()))
    lock = RunLock(_lock_file(folder))
    try:
        lock.acquire()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def remove_left_sandboxes() -> None:
    """Remove the sandboxes of processes that were killed: ours by owner, and with a lock that is free."""
    for path in Path(tempfile.gettempdir()).glob(f"{_LOCKS}*.lock"):
        folder = path.with_name(path.stem.removeprefix(_LOCKS))
        lock = RunLock(path)
        with contextlib.suppress(OSError, LockedError, StorageError):
            found = path.lstat()
            if found.st_uid != os.getuid() or time.time() - found.st_mtime < _SETTLED:
                continue
            lock.acquire()
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()


def _lock_file(folder: Path) -> Path:
    return folder.with_name(f"{_LOCKS}{folder.name}.lock")


def place_in(folder: Path, root: Path) -> Path:
    """Return where in the folder the project is to be copied to: what lies beside it in its repository is there, too.

    Settings and tests of one of several packages may name its neighbours by `..`: they are links to the real ones.
    """
    top = Path(os.path.realpath(root))
    above = [] if (top / ".git").exists() else [each for each in top.parents if (each / ".git").exists()]
    if not above:
        return folder
    source = above[0]
    for name in top.relative_to(source).parts:
        for entry in os.scandir(source):
            if entry.name == ".git":
                _point_at_repository(entry.path, folder)
            elif entry.name not in (name, *SKIPPED_FOLDERS):
                os.symlink(entry.path, folder / entry.name)
        source, folder = source / name, folder / name
        folder.mkdir()
    return folder


def copy_project(root: Path, target: Path) -> None:
    """Copy what tests may need: sources, data, built extensions; no environments and no caches."""
    top, kept = os.path.realpath(root), os.path.dirname(os.path.realpath(target))
    for folder, folders, files in os.walk(top):
        folders[:] = [
            name
            for name in folders
            if not _is_skipped(os.path.join(folder, name), name, top)
            and os.path.join(folder, name) != kept
            and not _lock_file(Path(folder, name)).exists()
        ]
        below = os.path.join(target, os.path.relpath(folder, top))
        os.makedirs(below, exist_ok=True)
        for name in (*files, *folders):
            full, copied = os.path.join(folder, name), os.path.join(below, name)
            if name == ".git":
                continue
            if os.path.islink(full):
                os.symlink(_point_inside(full, top, str(target)), copied)
            elif os.path.isfile(full):
                shutil.copy2(full, copied)
    _point_at_repository(os.path.join(top, ".git"), target)


def _point_inside(link: str, top: str, target: str) -> str:
    """Return where the copy of a link points: what lies in the project is meant to be that of the sandbox."""
    written, real = os.readlink(link), os.path.realpath(link)
    if real != top and not real.startswith(top + os.sep):
        return real
    return written if not os.path.isabs(written) else os.path.normpath(os.path.join(target, os.path.relpath(real, top)))


def _point_at_repository(repository: str, target: Path) -> None:
    """Let git find the repository from there: code under test may ask. Locks are optional: nothing is written."""
    if os.path.isdir(repository):
        Path(target, ".git").write_text(f"gitdir: {repository}\n", encoding="utf-8")
    elif os.path.isfile(repository):
        shutil.copy2(repository, os.path.join(target, ".git"))


def _is_skipped(path: str, name: str, top: str) -> bool:
    if name in SKIPPED_FOLDERS and name not in _COPIED:
        return True
    return any(os.path.exists(os.path.join(path, mark)) for mark in SKIP_MARKS) or is_in_environment(
        os.path.join(path, "x"), top
    )


def import_roots(root: Path) -> list[str]:
    """Return the folders of the project that Python looks for modules in, from the root."""
    top = os.path.realpath(root)
    found = [os.path.realpath(each or os.getcwd()) for each in sys.path]
    inside = [each for each in found if each.startswith(top + os.sep) and not is_in_environment(each + os.sep, top)]
    inside += [os.path.join(top, name) for name in ("src",) if os.path.isdir(os.path.join(top, name))]
    return [os.path.relpath(each, top) for each in dict.fromkeys(each for each in inside if os.path.isdir(each))]
