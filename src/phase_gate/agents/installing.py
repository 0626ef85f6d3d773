"""Tell agents to ask us, and take it back: edits of their settings as values, and the record of what was inserted.

Reads and writes nothing; `cli.init` and `cli.agent_uninstall` do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.agents.agent import Agent
from phase_gate.agents.json_text import Insertion, Node, apply_insertions, cut_child, insert_item, insert_member, parse
from phase_gate.errors import NotAllowedError
from phase_gate.values import Value

#: What a hook of ours is known by, whatever program it is called through.
_OURS = re.compile(r"\bhook (?:stop|pre-tool) --agent ([a-z]+)\b")

#: How agents call us unless the user says otherwise.
PROGRAM = "phase-gate"


class Edit(Value):
    """A file before and after; None where there is none."""

    path: str
    before: str | None
    after: str | None
    #: Where the inserted texts stand in the new file, and how long they are.
    inserted: tuple[tuple[int, int], ...] = ()

    @property
    def changes(self) -> bool:
        return self.before != self.after


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


# --- putting it in


def install_hooks(agent: Agent, before: str | None, *, program: str | None = None) -> Edit:
    """Return the settings with our hooks; those that are there already stay, unless another program is named."""
    if before is not None and program is not None and _calls_another(agent, before, program):
        cleared = remove_hooks(agent, before).after
        fresh = install_hooks(agent, cleared, program=program)
        return Edit(path=agent.settings, before=before, after=fresh.after)
    # A blank file is none that an agent could read: ours comes in front of it.
    is_blank = before is None or not before.strip()
    text = "{}\n" if before is None or is_blank else before
    steps: list[list[Insertion]] = []
    try:
        if not isinstance(parse(text).value, dict):
            raise ValueError("line 1: this is no object")
        for key, value in agent.head.items():
            if key not in parse(text).value:
                steps.append(insert_member(text, key, value))
                text = apply_insertions(text, steps[-1])
        for event in (agent.stop_event, agent.tool_event):
            if not _has_hook(parse(text).value, agent, event):
                item = agent.entry(event, agent.command(program or PROGRAM, event))
                steps.append(insert_item(text, ("hooks", event), item))
                text = apply_insertions(text, steps[-1])
        parse(text)
    except (ValueError, TypeError, AttributeError) as error:
        raise NotAllowedError(
            f"{agent.settings} can't be added to: {error}", remedy="mend the file, or add the hooks by hand"
        ) from error
    if not steps:
        return Edit(path=agent.settings, before=before, after=before)
    places = ((0, len(text)),) if is_blank else _places(steps)
    return Edit(path=agent.settings, before=before, after=text + (before or "" if is_blank else ""), inserted=places)


def install_block(path: str, before: str | None) -> Edit:
    step = insert_block(before or "")
    if not step:
        return Edit(path=path, before=before, after=before)
    return Edit(path=path, before=before, after=apply_insertions(before or "", step), inserted=_places([step]))


def _places(steps: Iterable[list[Insertion]]) -> tuple[tuple[int, int], ...]:
    """Return where all insertions stand in the last text: a later one moves those behind it, or grows one."""
    places: list[tuple[int, int]] = []
    for step in steps:
        for each in sorted(step, key=lambda each: each.offset, reverse=True):
            places = _insert_place(places, each.offset, len(each.text))
    return tuple(sorted(places))


def _insert_place(places: list[tuple[int, int]], offset: int, length: int) -> list[tuple[int, int]]:
    inside = next(((at, size) for at, size in places if at < offset < at + size), None)
    moved = [(at + length if at >= offset else at, size) for at, size in places]
    if inside is None:
        return [*moved, (offset, length)]
    return [(at, size + length) if (at, size) == inside else (at, size) for at, size in moved]


def _calls_another(agent: Agent, text: str, program: str) -> bool:
    return any(command != agent.command(program, event) for event, command in find_commands(text, agent).items())


def _has_hook(document: Mapping[str, Any], agent: Agent, event: str) -> bool:
    rows = (document.get("hooks") or {}).get(event) or []
    return any(_is_ours(row, agent.name) for row in rows)


def _is_ours(row: object, name: str) -> bool:
    return any(found == name for command in commands_in(row) for found in _OURS.findall(command))


def commands_in(row: object) -> list[str]:
    """Return the commands of an entry, whichever keys they stand under."""
    if isinstance(row, Mapping):
        own = [row[key] for key in ("command", "bash") if isinstance(row.get(key), str)]
        return [*own, *(command for inner in row.get("hooks") or () for command in commands_in(inner))]
    return []


def find_commands(text: str, agent: Agent) -> dict[str, str]:
    """Return our commands in an agent's settings by event; nothing where they can't be read."""
    try:
        hooks = parse(text).value.get("hooks") or {}
        return {
            event: command
            for event in (agent.stop_event, agent.tool_event)
            for row in hooks.get(event) or ()
            for command in commands_in(row)
            if agent.name in _OURS.findall(command)
        }
    except (ValueError, AttributeError, TypeError):
        return {}


# --- taking it out


def record(edit: Edit) -> dict[str, Any]:
    """Return what is kept of an edit, so that it can be taken back to the byte."""
    assert edit.after is not None, "nothing was removed"
    return {
        "before": None if edit.before is None else digest(edit.before),
        "after": digest(edit.after),
        "inserted": [list(place) for place in edit.inserted],
    }


def take_back(path: str, text: str, recorded: Mapping[str, Any] | None) -> Edit | None:
    """Return the file as it was before us; None if that is not known, or it was changed since."""
    if recorded is None or recorded["after"] != digest(text):
        return None
    if recorded["before"] is None:
        return Edit(path=path, before=text, after=None)
    original = text
    for offset, length in sorted(recorded["inserted"], reverse=True):
        original = original[:offset] + original[offset + length :]
    return Edit(path=path, before=text, after=original) if digest(original) == recorded["before"] else None


def remove_hooks(agent: Agent, text: str) -> Edit:
    """Return the settings without our hooks, and without what is empty then; None instead of an empty file."""
    before = text
    try:
        while (found := _find_ours(parse(text), agent)) is not None:
            text = cut_child(text, *found)
        root = parse(text)
    except ValueError as error:
        raise NotAllowedError(
            f"{agent.settings} can't be read: {error}", remedy="take the hooks out by hand"
        ) from error
    is_empty = text != before and not root.value.keys() - agent.head.keys() and "/" not in text
    return Edit(path=agent.settings, before=before, after=None if is_empty else text)


def _find_ours(root: Node, agent: Agent) -> tuple[Node, int] | None:
    """Return the container and the place of what has to go next: an entry of ours, or what that has left empty."""
    hooks = root.members.get("hooks")
    if hooks is None:
        return None
    for event in (agent.stop_event, agent.tool_event):
        rows = hooks.members.get(event)
        for index, row in enumerate(() if rows is None else rows.items):
            if rows is not None and _is_ours(row.value, agent.name):
                return (rows, index) if len(rows.items) > 1 else _outermost(root, hooks, event)
    return None


def _outermost(root: Node, hooks: Node, event: str) -> tuple[Node, int]:
    if len(hooks.members) > 1:
        return hooks, list(hooks.members).index(event)
    return root, list(root.members).index("hooks")


def remove_block(path: str, text: str) -> Edit:
    rest = cut_block(text) if has_block(text) else text
    return Edit(path=path, before=text, after=rest if rest.strip() or rest == text else None)


# --- the block that we write into AGENTS.md and its like, between marks, so that it can be taken out again. Pure


BEGIN, END = "<!-- phase-gate: begin -->", "<!-- phase-gate: end -->"

_BLOCK = re.compile(rf"{re.escape(BEGIN)}.*?{re.escape(END)}\n?", re.S)

TEXT = f"""\
{BEGIN}
## Phase gate

Work here goes in test-driven phases, and a gate decides from measurements when one is over.

- `phase-gate status` says where the work stands, and what to type next.
- First tests that fail: `pytest --phase=red`. Then the code: `pytest --phase=green`. Then `pytest --phase=refactor`.
- A phase that is done: `phase-gate signal --reason "..."`.
- Tests are frozen when RED ends. If one is wrong, leave it: `phase-gate signal --test-wrong --reason "..."`, then stop.
- If you can't go on: `phase-gate signal --blocked --reason "..."`, then stop. A person will help.
- Leave `.phase-gate/` alone. `phase-gate rewind`, `waive`, `breaker` and `force` are for people.
{END}
"""


def has_block(text: str) -> bool:
    return _BLOCK.search(text) is not None


def insert_block(text: str) -> list[Insertion]:
    """Return what to insert at the end of a file; nothing if there is a block already."""
    if has_block(text):
        return []
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return [Insertion(len(text), gap + TEXT.replace("\n", newline))]


def cut_block(text: str) -> str:
    """Return the text without the block and the empty line before it."""
    found = _BLOCK.search(text.replace("\r\n", "\n"))
    if found is None:
        return text
    plain = text.replace("\r\n", "\n")
    before = plain[: found.start()].rstrip("\n")
    rest = (f"{before}\n" if before else "") + plain[found.end() :]
    return rest.replace("\n", "\r\n") if "\r\n" in text else rest
