"""Extract an agent's own words from its output or from a transcript.

Pure, in linear time. Doubtful lines are left out: fences, quotes and examples are not the agent's own words, nor is
the text after the start of an unclosed fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phase_gate.codec import parse_foreign
from phase_gate.values import Value


class ClaimText(Value):
    #: Without color codes, byte order mark and carriage returns.
    lines: tuple[str, ...]
    #: For each line, whether it is a quotation or an example.
    quoted: tuple[bool, ...]


#: Terminal control sequences such as colors, and other control characters except tabs and line ends.
_TERMINAL = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]|\x1b\][^\x07\x1b]*+(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_LINE_END = re.compile(r"\r\n?")

#: The start of a fence, also in a quote or a list. No backquotes may follow a fence of backquotes.
_FENCE = re.compile(r"(?P<indent>[ \t]*)(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+)*+(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_QUOTE = re.compile(r"[ \t]{0,3}>")
_EXAMPLE = re.compile(
    r"[ \t]*<(?:(?P<comment>!--)|(?P<tag>pre|blockquote|examples?|prompt|template|instructions|system-reminder)\b)",
    re.IGNORECASE,
)


def read_claim_text(texts: Iterable[str]) -> ClaimText:
    """Return the lines of one or more messages. A fence ends at the end of its message at the latest."""
    lines: list[str] = []
    quoted: list[bool] = []
    for text in texts:
        cleaned = _LINE_END.sub("\n", _TERMINAL.sub("", text.removeprefix("\ufeff")))
        own = cleaned.split("\n")
        if lines:
            lines.append("")
            quoted.append(True)  # so that no block spans two messages
        lines += own
        quoted += _find_quoted(own)
    return ClaimText(lines=tuple(lines), quoted=tuple(quoted))


def _find_quoted(lines: list[str]) -> Iterator[bool]:
    """Yield for each line of a message whether it is a quotation or an example."""
    end: re.Pattern[str] | None = None
    in_quote = False
    for line in lines:
        if end is not None:
            end = None if end.search(line) else end
            yield True
        elif (fence := _FENCE.match(line)) is not None:
            end = _end_of_fence(fence)
            yield True
        elif (example := _EXAMPLE.match(line)) is not None:
            closing = re.compile("-->" if example["comment"] else f"</{example['tag']}", re.IGNORECASE)
            end = None if closing.search(line, example.end()) else closing
            yield True
        else:
            # The following lines of a quoted paragraph need no mark.
            in_quote = bool(_QUOTE.match(line)) or (in_quote and bool(line.strip()))
            yield in_quote


def _end_of_fence(opening: re.Match[str]) -> re.Pattern[str]:
    """Return the pattern that closes a fence: at least as many marks, indented at most three characters deeper."""
    fence, deepest = opening["fence"], len(opening["indent"]) + 3
    return re.compile(rf"^[ \t]{{0,{deepest}}}{fence[0]}{{{len(fence)},}}[ \t]*$")


# --- sentences

#: A sentence continues in the next line unless the line ends with one of these, or the next one starts with a capital.
_ENDS = ".!?:;"
_SENTENCE_END = re.compile(r"(?<=[.!?;])[ \t]+")
#: Quoted text and code, and remarks in parentheses.
_MENTIONED = re.compile(r"\([^()\n]{1,300}\)|``?[^`\n]{1,300}``?|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»")
_MARKUP = re.compile(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}")
#: A line of a status block. The reasons in blocks are added separately.
_FIELD = re.compile(r"(?:[A-Z0-9]+_[A-Z0-9_]+|STATUS|REASON|PHASE|ITERATION|CONFIDENCE|RECOMMENDATION):")
#: The start of indented lines (code, or details of a list) and headings.
_NO_PROSE = ("    ", "\t", "#")
#: Longer sentences are from logs.
_MAX_SENTENCE = 600


def sentences(text: ClaimText, reasons: Iterable[str] = ()) -> str:
    """Return the agent's own words, one sentence per line.

    :param reasons: the reasons in its blocks.
    """
    rows: list[str] = []
    for line, is_quoted in zip(text.lines, text.quoted, strict=True):
        line = "" if is_quoted or line.startswith(_NO_PROSE) else line.strip(" \t")
        if not line or (line[0].isupper() and _FIELD.match(line)):
            rows.append("")
            continue
        before = rows[-1] if rows else ""
        if line[:1].islower() and before and before[-1] not in _ENDS and len(before) < _MAX_SENTENCE:
            rows[-1] = f"{before} {line}"
        else:
            rows.append(line)
    rows += reasons
    prose = _MARKUP.sub("", _MENTIONED.sub(" ", "\n".join(rows)))
    distinct = dict.fromkeys(_SENTENCE_END.sub("\n", prose).split("\n"))  # logs repeat lines
    return "\n".join(row for row in distinct if 0 < len(row) <= _MAX_SENTENCE)


# --- transcripts: the assistant's texts from the JSON lines that coding agents write
#
# Known formats: `{"type": "assistant", "message": {"content": [{"type": "text", ...}]}}` and its `stream-json`; Codex's
# `response_item` and `item.completed`; Copilot's `assistant.message`; plain `{"role": "assistant", "content": ...}`,
# also in several pieces.

_ASSISTANT = frozenset({"assistant", "model", "agent", "assistant.message", "agent_message", "assistant_message"})
_USER = frozenset({"user", "user.message", "user_message"})
_TEXTS = ("", "text", "output_text")
#: The parts of a line that may contain its message.
_HOLDERS = ("message", "payload", "item", "data")


def read_messages(output: str) -> tuple[str, ...]:
    """Return the texts that an agent wrote since the last prompt, in order; of plain output, all of it."""
    if _read_row(output.lstrip().partition("\n")[0]) is None:
        return (output,)
    texts: list[str] = []
    was_piece = False
    for line in output.split("\n"):
        row = _read_row(line)
        if row is None or row.get("isSidechain") or row.get("isMeta"):
            continue  # a subagent, or a message of the client itself
        is_piece = row.get("delta") is True
        holder = next((row[name] for name in _HOLDERS if isinstance(row.get(name), dict)), row)
        speaker = _speaker(row, holder)
        parts = [each for each in _read_texts(holder) if is_piece or each.strip()]
        if speaker in _USER and parts:
            texts = []
        elif speaker in _ASSISTANT:
            if is_piece and was_piece and texts:
                texts[-1] += "".join(parts)
            else:
                # Some clients write a message twice, as an item and as an event.
                texts += [each for each in parts if texts[-1:] != [each]]
        was_piece = is_piece
    return tuple(texts)


def _read_row(line: str) -> dict[str, Any] | None:
    """Return an event or a message; None for anything else."""
    try:
        row = parse_foreign(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and not row.keys().isdisjoint(("type", "role", "message")) else None


def _speaker(row: Mapping[str, Any], holder: Mapping[str, Any]) -> str:
    words = map(str, (holder.get("role"), row.get("role"), row.get("type"), holder.get("type")))
    return next((word for word in words if word in _ASSISTANT or word in _USER), "")


def _read_texts(holder: Mapping[str, Any]) -> Iterator[str]:
    contents = (holder.get(name) for name in ("content", "text", "message", "parts"))
    content = next((each for each in contents if isinstance(each, str | list)), [])
    for part in [content] if isinstance(content, str) else content:
        text = part.get("text") if isinstance(part, dict) and part.get("type", "") in _TEXTS else part
        if isinstance(text, str):
            yield text
