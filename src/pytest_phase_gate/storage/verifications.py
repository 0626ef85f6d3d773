"""All tasks of the verification gate in a state folder, as one overview.

A file beside the tree's cache remembers what each task's files said, by their size and times, so that a thousand tasks
cost a thousand looks and no thousand files. It is only a cache: without it everything is read.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_phase_gate.core.verification_stats import Overview, TaskRow, row_from_json, row_of, row_to_json
from pytest_phase_gate.errors import StateError, StorageError
from pytest_phase_gate.storage.files import REAL, make_folder, write_atomically
from pytest_phase_gate.storage.store import TaskStore

_CACHE = "verification.json"
#: Of the cache: another one is not read.
_SCHEMA = 1


def load_overview(
    state_folder: Path, store_of: Callable[[str], TaskStore], *, key: bytes | None
) -> tuple[Overview, tuple[str, ...]]:
    """Return all tasks in the order in which they were taken, and the names of those that can't be read.

    :param key: the key that is set: nothing vouches for the cache, so with one every ledger is opened.
    """
    cache_file = state_folder / "cache" / _CACHE
    remembered = _read_cache(cache_file) if key is None else {}
    found: dict[str, Any] = {}
    damaged: list[str] = []
    for name, stamp in _stamps(state_folder / "tasks"):
        known = remembered.get(name)
        if known is not None and known["stamp"] == stamp:
            found[name] = known
            continue
        try:
            state = store_of(name).look().state
        except StateError:
            damaged.append(name)
            continue
        row = None if state.verification is None else row_to_json(row_of(name, state.verification))
        taken = "" if state.verification is None else state.verification.taken_at
        found[name] = {"stamp": stamp, "taken_at": taken, "row": row}
    if key is None and found != remembered:
        _write_cache(cache_file, found)
    rows = [(each["taken_at"], name, row_from_json(each["row"])) for name, each in found.items() if each["row"]]
    ordered: tuple[TaskRow, ...] = tuple(row for _, _, row in sorted(rows, key=lambda entry: entry[:2]))
    return Overview(rows=ordered), tuple(damaged)


def _stamps(folder: Path) -> list[tuple[str, list[int]]]:
    """Return the tasks with what their files' sizes and times are."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    stamps = []
    for name in names:
        stamp: list[int] = []
        for file in ("ledger.jsonl", "state.json"):
            try:
                seen = os.stat(f"{folder}/{name}/{file}")
                stamp += [seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino]
            except OSError:
                stamp += [0]
        if stamp != [0, 0]:
            stamps.append((name, stamp))
    return stamps


def _read_cache(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
        if document["schema"] != _SCHEMA:
            return {}
        tasks: dict[str, Any] = document["tasks"]
        for each in tasks.values():
            each["stamp"], each["taken_at"]
            if each["row"] is not None:
                row_from_json(each["row"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return tasks


def _write_cache(path: Path, tasks: dict[str, Any]) -> None:
    data = json.dumps({"schema": _SCHEMA, "tasks": tasks}, separators=(",", ":")).encode()
    # Whoever can't write it reads more next time.
    with contextlib.suppress(StorageError):
        make_folder(REAL, path.parent)
        write_atomically(REAL, path, data, durable=False)
