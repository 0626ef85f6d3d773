"""What a client does now, told from the events that it prints, one JSON document a line. Pure.

For people who watch: nothing is decided by it. The forms are those of Claude Code (`stream-json`), Codex (`--json`),
Gemini CLI (`stream-json`) and Copilot CLI (`json`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

#: In a tool's input, what tells most about the call.
_TELLING = ("command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url")


def describe_event(line: str) -> str | None:
    """Return what an event tells in a line, empty if that is nothing; None if the line is no event."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        return None
    return "; ".join(filter(None, map(_shorten, _tell(event["type"], event))))


def _tell(kind: str, event: Mapping[str, Any]) -> Iterator[str]:
    if kind == "assistant":
        for part in _rows(_inner(event, "message").get("content")):
            yield _text(part.get("text")) if part.get("type") == "text" else _call(part.get("name"), part.get("input"))
    elif kind == "tool_use":
        yield _call(event.get("tool_name"), event.get("parameters"))
    elif kind == "message" and event.get("role") == "assistant":
        yield _text(event.get("content"))
    elif kind == "tool.execution_start":
        yield _call(_inner(event, "data").get("toolName"), _inner(event, "data").get("arguments"))
    elif kind == "assistant.message":
        yield _text(_inner(event, "data").get("content"))
    elif kind in ("item.started", "item.completed"):
        yield from _tell_item(kind, _inner(event, "item"))


def _tell_item(kind: str, item: Mapping[str, Any]) -> Iterator[str]:
    what = item.get("type")
    if what == "agent_message" and kind == "item.completed":
        yield _text(item.get("text"))
    elif what == "command_execution" and kind == "item.started":
        yield _text(item.get("command"))
    elif what == "file_change" and kind == "item.started":
        yield from (f"{_text(row.get('kind'))} {_text(row.get('path'))}" for row in _rows(item.get("changes")))


def _call(name: object, given: object) -> str:
    values = given if isinstance(given, Mapping) else {}
    return f"{_text(name)} {next((_text(values[key]) for key in _TELLING if key in values), '')}".strip()


def _inner(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = event.get(name)
    return inner if isinstance(inner, Mapping) else {}


def _rows(value: object) -> Iterator[Mapping[str, Any]]:
    yield from (row for row in (value if isinstance(value, list) else ()) if isinstance(row, Mapping))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _shorten(text: str) -> str:
    """Return the last line of a text: where it says what comes of it."""
    return (text.strip().splitlines() or [""])[-1].strip()
