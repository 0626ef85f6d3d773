"""The files of a task as they were when it was taken, and as they are: from git, or from what was kept then.

Only looks. No filter of git is run: a blob is read as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.storage.tree.git import read_blobs
from phase_gate.verification.diff import TextChange

#: Bytes of one file that are kept or compared, and of all that are kept: what people write by hand is less.
_ONE = 256 * 1024
_ALL = 2 * 1024 * 1024
#: Files that are compared: each may cost a call of git.
_MOST = 200

_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests)\.py$")


def remember_texts(root: Path, memory: Mapping[str, Any], is_listed: Callable[[str], bool]) -> dict[str, str]:
    """Return the texts that git does not have, of files that a task lists and of files with tests.

    :param memory: how things are, as `remember_files` has them.
    """
    git = memory["git"]
    paths = memory["files"] if git is None else git["dirty"]
    kept: dict[str, str] = {}
    room = _ALL
    for path in sorted(paths):
        if not is_listed(path) and not _TEST_FILE.search(path):
            continue
        text, _ = _read(root / path)
        if text is not None and len(text) <= room:
            kept[path] = text
            room -= len(text)
    return kept


def read_changes(root: Path, memory: Mapping[str, Any], paths: Iterable[str]) -> list[TextChange]:
    """Return files that changed, then and now. What only git's view of them changed is left out."""
    ordered = sorted(paths)
    committed = _read_committed(root, memory, ordered[:_MOST])
    found = []
    for number, path in enumerate(ordered):
        if number >= _MOST:
            found.append(TextChange(path=path, problem="more files changed than are compared"))
            continue
        before, unknown = _before(memory, path, committed)
        now, problem = _read(root / path)
        if unknown or problem:
            found.append(TextChange(path=path, problem=problem or unknown))
        elif before != now:
            found.append(TextChange(path=path, before=before, now=now))
    return found


def _read_committed(root: Path, memory: Mapping[str, Any], paths: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of the files that were as committed when the task was taken, and were not kept."""
    git, kept = memory["git"], memory.get("texts", {})
    if git is None or not git["head"]:
        return {}
    return read_blobs(root, git["head"], [path for path in paths if path not in kept and path not in git["dirty"]])


def _before(memory: Mapping[str, Any], path: str, committed: Mapping[str, bytes]) -> tuple[str | None, str]:
    """Return a file's text when the task was taken, None if there was none, and why it can't be told."""
    kept = memory.get("texts", {})
    if path in kept:
        return str(kept[path]), ""
    git = memory["git"]
    was_there = path in memory["files"] if git is None else bool(git["dirty"].get(path))
    if was_there:
        return None, "it was not committed when the task was taken, and not kept"
    return _decode(committed[path]) if path in committed else (None, "")


def _read(path: Path) -> tuple[str | None, str]:
    """Return a file's text, None if there is none, and why it can't be shown."""
    try:
        if path.is_symlink():
            return os.readlink(path), ""  # as git has it
        if path.exists() and not path.is_file():
            return None, "it is no file"  # a pipe would not let us go on
        with path.open("rb") as file:
            return _decode(file.read(_ONE + 1))
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, error.strerror or str(error)


def _decode(data: bytes) -> tuple[str | None, str]:
    if len(data) > _ONE:
        return None, f"it has more than {_ONE // 1024} KiB"
    if b"\0" in data:
        return None, "it is no text"
    return data.decode("utf-8", "replace"), ""
