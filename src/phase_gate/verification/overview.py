"""All verify tasks in a state folder, as one overview.

A file beside the tree's cache remembers what each task's files said, by their size and times, so that a thousand tasks
cost a thousand looks and no thousand files. It is only a cache: without it everything is read.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.codec import from_json, to_json
from phase_gate.errors import StateError, StorageError
from phase_gate.gate.state import State
from phase_gate.project import Project
from phase_gate.storage.files import REAL, make_folder, write_atomically
from phase_gate.storage.places import DEFAULT_TASK, make_state_folder
from phase_gate.storage.root import place_below
from phase_gate.verification.model import Verification, find_verification
from phase_gate.verification.result import status_to_json
from phase_gate.verification.rules import escalate
from phase_gate.verification.show import task_block, task_rows
from phase_gate.verification.stats import (
    RECENT,
    Overview,
    TaskRow,
    Untrusted,
    failures_to_json,
    row_of,
    stats_to_json,
)

_CACHE = "verification.json"
#: Of the cache: another one is not read.
_SCHEMA = 4
#: The stamp of a task that has neither file.
_GONE = [0, 0]


def load_overview(state_folder: Path, look: Callable[[str], State | None], *, key: bytes | None) -> Overview:
    """Return all tasks in the order in which they were taken, and those that can't be trusted.

    :param look: returns the state of a task; None for one that never began. Best one of `Project.look_at_tasks`, which
        knows those that a shared store has and that can't be taken over: they are looked at whatever the cache says.
    :param key: the key that is set: nothing vouches for the cache, so with one every ledger is opened.
    """
    cache_file = state_folder / "cache" / _CACHE
    remembered = _read_cache(cache_file)
    refused: Mapping[str, StateError] = getattr(look, "refused", {})
    found: dict[str, Any] = {}
    untrusted: list[Untrusted] = []
    others = dict.fromkeys([*remembered, *(task for task in refused if task != DEFAULT_TASK)], _GONE)
    stamps = {**others, **dict(_stamps(state_folder / "tasks"))}
    for name, stamp in sorted(stamps.items()):
        known = remembered.get(name)
        if key is None and known is not None and known["stamp"] == stamp and name not in refused:
            found[name] = known
            continue
        try:
            state = look(name)
        except StateError as error:
            # What was no task of the gate when it could be read is none now.
            if key is not None or known is None or known["row"] is not None:
                untrusted.append(_untrusted(name, known, error.problem))
            if known is not None:
                found[name] = {**known, "stamp": []}  # like no file's: it is looked at every time
            continue
        if state is None:
            continue
        verification = find_verification(state)
        row = None if verification is None else to_json(row_of(name, verification))
        taken = "" if verification is None else verification.taken_at
        found[name] = {"stamp": stamp, "taken_at": taken, "row": row}
    if key is None and found != remembered:
        _write_cache(cache_file, found)
    broken = {each.task for each in untrusted}
    rows = [
        (each["taken_at"], name, _parse_row(each["row"]))
        for name, each in found.items()
        if each["row"] and each["stamp"] and name not in broken
    ]
    ordered: tuple[TaskRow, ...] = tuple(row for _, _, row in sorted(rows, key=lambda entry: entry[:2]))
    return Overview(rows=ordered, untrusted=tuple(untrusted))


#: What rows were read as, by their tasks: a list of a thousand is looked at more than once in a process.
_parsed: dict[str, tuple[Mapping[str, Any], TaskRow]] = {}


def _parse_row(document: Mapping[str, Any]) -> TaskRow:
    known = _parsed.get(document["task"])
    if known is None or known[0] != document:
        known = _parsed[document["task"]] = document, from_json(TaskRow, document)
    return known[1]


def _untrusted(name: str, known: Mapping[str, Any] | None, problem: str) -> Untrusted:
    row = None if known is None else known["row"]
    return Untrusted(task=name, problem=problem, wave="" if row is None else _parse_row(row).wave)


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
        if stamp != _GONE:
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
                _parse_row(each["row"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return tasks


def _write_cache(path: Path, tasks: dict[str, Any]) -> None:
    data = json.dumps({"schema": _SCHEMA, "tasks": tasks}, separators=(",", ":")).encode()
    # A process that can't write it reads more next time.
    with contextlib.suppress(StorageError):
        make_state_folder(path.parents[1])
        make_folder(REAL, path.parent)
        write_atomically(REAL, path, data, durable=False)


# --- STATE.md: the verify tasks for people, written after every step and never read back


FILE_NAME = "STATE.md"


def state_file(project: Project) -> Path:
    """Return where the file is, or will be. Raises ConfigurationError if that is outside of the project."""
    named = project.configuration.verification.state_file
    if named is None:
        return project.state_folder / FILE_NAME
    return place_below(project.root, named, setting="verification.state_file")


def write_state_file(
    project: Project, overview: Overview, verification_of: Callable[[str], Verification | None]
) -> bool:
    """Write the file; tell whether that was possible. The ledger has everything anyway."""
    path = state_file(project)
    text = render_state(overview, verification_of)
    with contextlib.suppress(StorageError):
        make_state_folder(project.state_folder)
        make_folder(REAL, path.parent)
        write_atomically(REAL, path, text.encode("utf-8", "replace"), durable=False)
        return True
    return False


def render_state(overview: Overview, verification_of: Callable[[str], Verification | None]) -> str:
    """Return the whole file."""
    parts = ["# State of the verification gate", "Written by `phase-gate verify`; changes made here are lost."]
    current = overview.current
    verification = None if current is None else verification_of(current.task)
    if current is not None and verification is not None:
        parts.append("\n".join(task_block(verification)))
        escalation = escalate(verification, overview.halted(verification.spec.wave))
        parts.append(_yaml({"current_task": status_to_json(current.task, verification, escalation)}))
    stats = stats_to_json(overview)
    parts += ["## Statistics", _yaml({"gate_stats": stats})]
    if overview.rows:
        parts += ["## Tasks", "```text\n" + "\n".join(task_rows(overview.rows)) + "\n```"]
    rows = [dict(row.skip) for row in overview.rows if row.skip is not None]
    if rows:
        forced = sum(row["skip_kind"] is None for row in rows)
        parts += [
            "## Not verified",
            f"Warning: {len(rows)} of {overview.total} tasks did not pass the gate; {forced} of them were forced.",
            _yaml({"tasks": rows}),
        ]
    concerns = [{"task": row.name, "status": row.word, "because": list(row.weak_because)} for row in overview.rows]
    concerns = [row for row in concerns if row["because"]]
    if concerns:
        parts += ["## Concerns", _yaml({"concerns": concerns})]
    failures = overview.failures[:RECENT]
    if failures:
        parts += ["## Failure log", _yaml({"recent_failures": failures_to_json(failures)})]
    return "\n\n".join(parts) + "\n"


def _yaml(document: Mapping[str, Any]) -> str:
    import yaml

    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)
    # What a user wrote must not end the block.
    return "```yaml\n" + text.replace("```", "'''") + "```"
