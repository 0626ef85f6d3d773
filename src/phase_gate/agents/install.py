"""Install and remove the integration with agents: hooks in their settings, and a block in their instructions.

Settings are read and rewritten as a whole, as JSON, and `show_diff` shows the changes. A file with comments is not
changed: its owner gets the text to paste.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from phase_gate.agents.agent_table import Agent
from phase_gate.codec import parse_foreign
from phase_gate.errors import NotAllowedError, StorageError
from phase_gate.project import Project
from phase_gate.storage.files import NOT_ALLOWED, REAL, make_folder, write_atomically
from phase_gate.values import Value

#: Identifies our hooks, whatever program they are called through.
_OURS = re.compile(r"\bhook (?:stop|pre-tool) --agent ([a-z]+)\b")

#: Errors from a file that is not JSON, or has something else in place of the hooks.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError)

#: The program that agents call, unless the user names another.
PROGRAM = "phase-gate"


class Edit(Value):
    """A file before and after a change; None where the file does not exist."""

    path: str
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        return self.before != self.after


# --- hooks in an agent's settings. Pure


def install_hooks(agent: Agent, before: str | None, *, program: str | None = None) -> Edit:
    """Return the settings with our hooks. Existing ones are kept, unless another program is named."""
    events = (agent.stop_event, agent.tool_event)
    fresh = {event: [agent.entry(event, agent.command(program or PROGRAM, event))] for event in events}
    try:
        document = parse_foreign(before) if before and before.strip() else {}
        hooks = {**document.get("hooks", {})}
        for event, entries in fresh.items():
            rows = hooks.get(event, [])
            there = [command for command in _commands_in(rows) if has_hooks(command, agent)]
            if not there or (program is not None and there != list(_commands_in(entries))):
                hooks[event] = [*_without_ours(rows, agent), *entries]
    except _UNREADABLE as error:
        if before is not None and has_hooks(before, agent):
            return Edit(path=agent.settings, before=before, after=before)  # the hooks were pasted by hand
        raise NotAllowedError(
            f"{agent.settings} is left alone, for it is no plain JSON with an object of hooks: {error}",
            remedy=f"paste this into it, then type the same again: {json.dumps({**agent.head, 'hooks': fresh})}",
        ) from error
    after = {**agent.head, **document, "hooks": hooks}
    return Edit(path=agent.settings, before=before, after=before if after == document else _dump(after, like=before))


def remove_hooks(agent: Agent, before: str) -> Edit:
    """Return the settings without our hooks and without empty containers; None instead of an empty file."""
    unchanged = Edit(path=agent.settings, before=before, after=before)
    if not has_hooks(before, agent):
        return unchanged
    try:
        document = parse_foreign(before)
        hooks = {**document["hooks"]}
        for event in (agent.stop_event, agent.tool_event):
            kept = _without_ours(hooks.get(event, []), agent)
            if kept:
                hooks[event] = kept
            elif hooks.get(event):
                del hooks[event]
    except _UNREADABLE as error:
        raise NotAllowedError(
            f"{agent.settings} is left alone, for it is no plain JSON with an object of hooks: {error}",
            remedy=f"take the entries with `--agent {agent.name}` out by hand",
        ) from error
    if hooks == document["hooks"]:
        return unchanged
    rest = {key: hooks if key == "hooks" else value for key, value in document.items() if key != "hooks" or hooks}
    after = _dump(rest, like=before) if rest.keys() - agent.head.keys() else None
    return Edit(path=agent.settings, before=before, after=after)


def has_hooks(text: str, agent: Agent) -> bool:
    """Return whether an agent's settings, or a command in them, contain our hooks, in any format."""
    return agent.name in _OURS.findall(text)


def find_commands(text: str, agent: Agent) -> dict[str, str]:
    """Return our commands in an agent's settings, by event; empty if the settings can't be read."""
    try:
        hooks = parse_foreign(text)["hooks"]
        return {
            event: command
            for event in (agent.stop_event, agent.tool_event)
            for command in _commands_in(hooks.get(event, []))
            if has_hooks(command, agent)
        }
    except _UNREADABLE:
        return {}


def _commands_in(rows: list[Any]) -> Iterator[str]:
    """Yield the commands of an event, under any key."""
    for row in rows:
        yield from (row[key] for key in ("command", "bash") if isinstance(row.get(key), str))
        yield from _commands_in(row.get("hooks", []))


def _without_ours(rows: list[Any], agent: Agent) -> list[Any]:
    """Return the entries of an event without our commands and without lists that are empty then."""
    kept = []
    for row in rows:
        inner = _without_ours(row.get("hooks", []), agent)
        if inner != row.get("hooks", []):
            kept += [{**row, "hooks": inner}] if inner else []
        elif not any(has_hooks(command, agent) for command in _commands_in([row])):
            kept.append(row)
    return kept


def _dump(document: object, *, like: str | None = None) -> str:
    """Return JSON with the indentation of the original file."""
    found = re.search(r"^([ \t]+)\S", like or "", re.M)
    text = json.dumps(document, indent=found[1] if found else "  ", ensure_ascii=False) + "\n"
    return _with_ends_of(like, text)


def _with_ends_of(like: str | None, text: str) -> str:
    return text.replace("\n", "\r\n") if "\r\n" in (like or "") else text


# --- the block in AGENTS.md and similar files, between markers, so that it can be removed. Pure


BEGIN, END = "<!-- phase-gate: begin -->", "<!-- phase-gate: end -->"

_BLOCK = re.compile(rf"(?:\r?\n)?{re.escape(BEGIN)}.*?{re.escape(END)}(?:\r?\n)?", re.S)

TEXT = f"""\
{BEGIN}
## Phase gate

This project is developed test-first, in phases. A gate measures whether a phase is done.

- `phase-gate status` shows the current phase and the next command.
- Write failing tests: `pytest --phase=red`. Then the code: `pytest --phase=green`. Then `pytest --phase=refactor`.
- When a phase is done: `phase-gate signal --reason "..."`.
- Tests are frozen when RED ends. If one is wrong, keep it: `phase-gate signal --test-wrong --reason "..."`, then stop.
- If you can't continue: `phase-gate signal --blocked --reason "..."`, then stop. A person will help.
- Do not edit `.phase-gate/`. `phase-gate rewind`, `waive`, `breaker` and `force` are for people only.
{END}
"""


def install_block(path: str, before: str | None) -> Edit:
    text = before or ""
    if _BLOCK.search(text):
        return Edit(path=path, before=before, after=before)
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return Edit(path=path, before=before, after=text + _with_ends_of(text, gap + TEXT))


def remove_block(path: str, before: str) -> Edit:
    rest = _BLOCK.sub("", before, count=1)
    return Edit(path=path, before=before, after=rest if rest.strip() or rest == before else None)


# --- the files


def read_file(project: Project, path: str) -> str | None:
    """Return the text of a file; None if it is missing. Raises StorageError."""
    try:
        return _place(project, path).read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{path} can't be read: {error.strerror}", remedy=f"look at {path}") from error


def write_edit(project: Project, edit: Edit) -> None:
    """Write or remove the file according to the edit. Remove its folder if that is empty then."""
    place = _place(project, edit.path)
    if edit.after is None:
        place.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            for folder in Path(edit.path).parents[:-1]:
                (project.root / folder).rmdir()
        return
    mode = place.stat().st_mode & 0o777 if place.exists() else None
    try:
        make_folder(REAL, place.parent)
        write_atomically(REAL, place, edit.after.encode("utf-8", "surrogateescape"))
    except StorageError as error:
        if not isinstance(error.__cause__, OSError) or error.__cause__.errno not in NOT_ALLOWED:
            raise
        # Another state folder would not help: this is a file of the project.
        exists = next(folder for folder in place.parents if folder.is_dir())
        raise StorageError(
            f"{edit.path} can't be written: {error.__cause__.strerror}", f"make {exists} writable"
        ) from error
    if mode is not None:
        os.chmod(place, mode)


def _place(project: Project, path: str) -> Path:
    """Return a file's real path. It may be a link to another file, but never to one outside the project."""
    place = Path(os.path.realpath(project.root / path))
    if not place.is_relative_to(os.path.realpath(project.root)):
        raise NotAllowedError(
            f"{path} leads out of the project", remedy=f"write it by hand, or replace the link {path}"
        )
    return place


def show_diff(edit: Edit) -> str:
    """Return the edit as a unified diff."""
    before, after = (edit.before or "").splitlines(), (edit.after or "").splitlines()
    names = (edit.path if edit.before is not None else os.devnull, edit.path if edit.after is not None else os.devnull)
    return "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))
