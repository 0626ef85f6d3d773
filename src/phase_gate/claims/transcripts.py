"""The assistant's texts from the JSON lines that coding agents write.

Known forms: `{"type": "assistant", "message": {"content": [{"type": "text", ...}]}}` and its `stream-json`; Codex's
`response_item` and `item.completed`; Copilot's `assistant.message`; plain `{"role": "assistant", "content": ...}`, also
piece by piece. What others say, and what tools
return, is left out; so is everything before the last prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from phase_gate.errors import UsageError
from phase_gate.values import Value

_SPEAKERS = frozenset({"assistant", "model", "agent"})
_TEXTS = frozenset({"text", "output_text"})
#: Where a line keeps its message.
_HOLDERS = ("message", "payload", "item")
#: Copilot's events: whose message it is; all else that it tells is no message.
_MESSAGES = {"assistant.message": "assistant", "user.message": "user"}


class Transcript(Value):
    texts: tuple[str, ...]
    #: Lines that are no JSON objects.
    unread: int = 0


def read_transcript(text: str) -> Transcript:
    """Return what the assistant said since the last prompt, in order. Raises UsageError for another kind of file."""
    texts: list[str] = []
    unread = known = 0
    is_piece = False
    for line in text.split("\n"):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            unread += 1
            continue
        if not isinstance(row, dict):
            unread += 1
            continue
        known += 1
        if row.get("isSidechain") or row.get("isMeta"):
            continue  # an assistant's assistant, or a remark of the program
        role = _role(row)
        said = [each for each in _said(row) if each.strip() or row.get("delta") is True]
        if role == "user" and said:
            texts = []
        elif role in _SPEAKERS:
            if is_piece and row.get("delta") is True and texts:
                texts[-1] += "".join(said)
            else:
                # Some write the same message twice, as an item and as an event.
                texts += [each for each in said if texts[-1:] != [each]]
        is_piece = row.get("delta") is True
    if not known:
        raise UsageError("there is no line of JSON in it", remedy="leave --transcript out for plain text")
    return Transcript(texts=tuple(texts), unread=unread)


def _holder(row: Mapping[str, Any]) -> Mapping[str, Any]:
    if _word(row, "type") in _MESSAGES and isinstance(row.get("data"), dict):
        inner: Mapping[str, Any] = row["data"]
        return inner
    return next((row[name] for name in _HOLDERS if isinstance(row.get(name), dict)), row)


def _role(row: Mapping[str, Any]) -> str:
    holder = _holder(row)
    if _word(row, "type") in _MESSAGES:
        return _MESSAGES[_word(row, "type")]
    for each in (_word(holder, "role"), _word(row, "role"), _word(row, "type")):
        if each in _SPEAKERS or each == "user":
            return each
    kind = _word(holder, "type")
    if kind in ("agent_message", "assistant_message"):
        return "assistant"
    return "user" if kind == "user_message" else ""


def _word(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _said(row: Mapping[str, Any]) -> Iterator[str]:
    holder = _holder(row)
    for name in ("content", "text", "message", "parts"):
        content = holder.get(name)
        if isinstance(content, str):
            yield content
            return
        if isinstance(content, list):
            for part in content:
                if isinstance(part, str):
                    yield part
                elif (
                    isinstance(part, dict)
                    and (_word(part, "type") or "text") in _TEXTS
                    and isinstance(part.get("text"), str)
                ):
                    yield part["text"]
            return
