"""The files of a task as they were when it was taken, and as they are: from git, or from what was kept then.

Only looks. No filter of git is run: a blob is read as it is.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from phase_gate.storage.tree.git import read_blobs
from phase_gate.values import Value
from phase_gate.visible import count, cut

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


# --- what a task changed, as text: a diff of a limited size. What is left out is named, with how much of it there is


#: Lines that one file, and all together, may take; and characters of a line.
FILE_LINES = 400
ALL_LINES = 2000
WIDTH = 300
#: Lines of a file on one side that are compared at all: more take too long, and reviewers do not read them.
_COMPARED = 20_000


class TextChange(Value):
    """A file then and now."""

    path: str
    #: None where it was not there, or is not there any more.
    before: str | None = None
    now: str | None = None
    #: Why there is nothing to show of it: it is no text, too large, or not known as it was.
    problem: str = ""


class Diff(Value):
    lines: tuple[str, ...] = ()
    #: What is not in it, and why.
    left_out: tuple[str, ...] = ()


def render_diff(changes: Sequence[TextChange], first: Collection[str] = ()) -> Diff:
    """Return the unified diff.

    :param first: files that come first, so that no other ones take their place.
    """
    lines: list[str] = []
    left_out: list[str] = []
    for change in sorted(changes, key=lambda each: (each.path not in first, each.path)):
        rows, problem = _unified(change)
        room = min(FILE_LINES, ALL_LINES - len(lines))
        lines += [cut(row, WIDTH) for row in rows[:room]]
        if problem:
            left_out.append(f"{change.path}: {problem}")
        elif len(rows) > room:
            left_out.append(f"{change.path}: {count(len(rows) - room, 'more line')}")
    return Diff(lines=tuple(lines), left_out=tuple(left_out))


def _unified(change: TextChange) -> tuple[list[str], str]:
    if change.problem:
        return [], change.problem
    before, now = (change.before or "").splitlines(), (change.now or "").splitlines()
    if max(len(before), len(now)) > _COMPARED:
        return [], f"{count(len(before), 'line')} before, {len(now)} now"
    then = "/dev/null" if change.before is None else f"a/{change.path}"
    there = "/dev/null" if change.now is None else f"b/{change.path}"
    return list(difflib.unified_diff(before, now, then, there, lineterm="")), ""
