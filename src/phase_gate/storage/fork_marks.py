"""Marks that forked children leave for the run of their parent: one file a run, one line a child.

Written with best effort, by a process that has no right to anything else. A mark that comes when the run has ended
waits for the next look at the task.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection
from json import dumps, loads
from pathlib import Path

from phase_gate.errors import StorageError
from phase_gate.storage.files import REAL, FileSystem, make_folder, read_bytes, refuse

SUFFIX = ".forked"
_NAME = r"([0-9a-f]{16})\.forked"
#: Bytes that are read: many more lines than findings are shown.
_LIMIT = 64 * 1024


def leave_mark(path: Path, test: str, files: FileSystem = REAL) -> None:
    """Add a line to the marks of a run, if that can be done."""
    line = dumps({"test": test}).encode() + b"\n"
    with contextlib.suppress(OSError, StorageError):
        make_folder(files, path.parent)
        descriptor = files.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            files.write(descriptor, line)
        finally:
            files.close(descriptor)


def read_mark(path: Path, files: FileSystem = REAL) -> tuple[str, ...]:
    """Return the tests that children came back from, each once; an empty name for one that is not known."""
    try:
        data = read_bytes(path, files, limit=_LIMIT)
    except StorageError:
        # It is there, even if it can't be read; if the folder itself is in trouble, nothing can be recorded anyway.
        return ("",) if _is_there(path, files) else ()
    if data is None:
        return ()
    # An empty file, or a line cut short, is a mark, too.
    return tuple(dict.fromkeys(map(_test_in, data.splitlines()))) or ("",)


def _is_there(path: Path, files: FileSystem) -> bool:
    try:
        files.stat(path)
    except OSError:
        return False
    return True


def _test_in(line: bytes) -> str:
    try:
        return str(loads(line)["test"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def list_marked(folder: Path, files: FileSystem = REAL, *, open_runs: Collection[str] = ()) -> list[str]:
    """Return the runs with a mark in a folder. One that is open finds its own when it ends."""
    try:
        names = files.list_folder(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refuse(folder, error) from error
    found = filter(None, (re.fullmatch(_NAME, name) for name in sorted(names) if name.endswith(SUFFIX)))
    return [match[1] for match in found if match[1] not in open_runs]
