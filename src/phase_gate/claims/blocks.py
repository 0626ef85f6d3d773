"""The status blocks that an agent prints, and what they say together.

Pure. Exact delimiters and keys at column 0, exact values; the last complete block of a kind is the one that counts.
A block that is not filled in, or contradicts itself or another one, never says done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from phase_gate.claims.fields import (
    AGAINST,
    ANSWERS,
    DUAL_GATE,
    FIELDS,
    NAMES,
    REQUIRED,
    BlockKind,
    check_text,
    is_nothing,
)
from phase_gate.claims.text import ClaimText, Place, Uncounted, find_uncounted
from phase_gate.values import Value, replace
from phase_gate.visible import cut


class Block(Value):
    """A complete block."""

    kind: BlockKind
    #: Of its first line, from 1.
    line: int
    fields: Mapping[str, str]
    #: Why it can't be taken for what it says; empty if it can.
    problems: tuple[str, ...] = ()
    #: Where it contradicts itself.
    contradictions: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return NAMES[self.kind]

    @property
    def says_done(self) -> bool | None:
        """What its answer is, taken by itself; None if it is not filled in."""
        if self.problems:
            return None
        key, done = ANSWERS[self.kind]
        return self.fields[key] == done

    @property
    def remaining(self) -> str:
        """The work that it says is left; empty for none."""
        text = self.fields.get("REMAINING_WORK", "")
        return "" if self.problems or is_nothing(text) else text

    @property
    def reason(self) -> str:
        return next((self.fields[key] for key in ("EXIT_REASON", "RECOMMENDATION", "REASON") if key in self.fields), "")


class StatusBlocks(Value):
    """What all blocks say together."""

    #: The last one of each kind.
    blocks: tuple[Block, ...] = ()
    #: True: done. False: explicitly not done. None: nothing that counts was said.
    explicit: bool | None = None
    #: Some block says done, whatever contradicts it.
    claims_done: bool = False
    remaining: str = ""
    #: What is wrong with the blocks.
    problems: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    #: What might have been meant for a block.
    uncounted: tuple[Uncounted, ...] = ()
    #: What is to be said about reading it.
    notes: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        return next((block.reason for block in self.blocks if block.reason), "")

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the blocks that are filled in give as their reasons: the agent's words, as those around them."""
        return tuple(block.reason.strip('"') for block in self.blocks if block.reason and not block.problems)

    def value(self, kind: BlockKind, key: str) -> str:
        """Return what the block of that kind says; empty if it is not there, or not filled in."""
        return next((b.fields.get(key, "") for b in self.blocks if b.kind == kind and not b.problems), "")


_DELIMITED: Mapping[str, tuple[BlockKind, str]] = {
    f"---{NAMES[kind]}---": (kind, f"---END_{NAMES[kind]}---") for kind in ("prp", "ralph")
}
_DOYAKEN = "DOYAKEN_STATUS:"
_KEY = re.compile(r"(?P<key>[A-Z][A-Z0-9_]{0,60}):(?:[ \t]+(?P<value>.*))?")
#: Where a line may be the beginning of a block at all: most of a log is not even looked at.
_STARTS = ("---PRP_", "---RALPH_", "---END_", "EXIT_", "REMAINING_WORK:", "DOYAKEN_STATUS:")
#: Of them that are told.
_TOLD = 3


# --- reading


def read_blocks(text: ClaimText) -> StatusBlocks:
    """Return what the blocks of the text say together."""
    last: dict[BlockKind, Block] = {}
    reader = _BlockReader(text)
    for block in reader.blocks():
        # Said anew it goes to the end: the order is the one in which they were said last.
        last.pop(block.kind, None)
        last[block.kind] = block
    said = _combine(tuple(last.values()))
    return replace(said, uncounted=tuple(reader.uncounted[:_TOLD]), notes=tuple(reader.notes()))


class _BlockReader:
    def __init__(self, text: ClaimText) -> None:
        self._lines, self._places = text.lines, text.places
        self.uncounted: list[Uncounted] = []
        self._unclosed: list[str] = []

    def notes(self) -> Iterator[str]:
        for name in dict.fromkeys(self._unclosed):
            yield f"{name} has no end, so it is no block"

    def blocks(self) -> Iterator[Block]:
        number = 0
        count = len(self._lines)
        while number < count:
            line = self._lines[number]
            if not line.startswith(_STARTS) or self._places[number] not in (Place.OWN, Place.NOTES):
                self.uncounted += find_uncounted(number + 1, self._lines[number], self._places[number])
                number += 1
                continue
            line = line.rstrip(" \t")
            if line in _DELIMITED:
                number, block = self._read_delimited(number, *_DELIMITED[line])
            elif line == _DOYAKEN:
                number, block = self._read_doyaken(number)
            else:
                start = number
                number, block = self._read_exit(start)
                if block is None:
                    self.uncounted += find_uncounted(start + 1, line, self._places[start])
            if block is not None:
                yield block

    def _read_delimited(self, start: int, kind: BlockKind, end: str) -> tuple[int, Block | None]:
        rows: list[str] = []
        number = start + 1
        while number < len(self._lines):
            line = self._lines[number].rstrip(" \t")
            if line == end and self._places[number] is not Place.QUOTED:
                return number + 1, _make(kind, start, rows)
            if line in _DELIMITED or self._places[number] is Place.QUOTED:
                break
            rows.append(line)
            number += 1
        self._unclosed.append(f"---{NAMES[kind]}---")
        # What follows is looked at again: a block may begin in what looked like this one.
        return start + 1, None

    def _read_doyaken(self, start: int) -> tuple[int, Block | None]:
        number = start + 1
        while number < len(self._lines) and self._lines[number][:1] in (" ", "\t") and self._lines[number].strip():
            if self._places[number] is Place.QUOTED:
                break
            number += 1
        if number == start + 1:
            self._unclosed.append(_DOYAKEN)
            return number, None
        return number, _make("doyaken", start, [row.strip(" \t") for row in self._lines[start + 1 : number]])

    def _read_exit(self, start: int) -> tuple[int, Block | None]:
        """Read neighbouring lines, and work that is said to remain anywhere behind them."""
        rows: list[str] = []
        number = start
        while number < len(self._lines) and self._is_exit_line(number):
            line = self._lines[number].rstrip(" \t")
            if line.startswith("EXIT_STATUS:") and any(row.startswith("EXIT_STATUS:") for row in rows):
                break
            # The source document shows a remark behind this one.
            rows.append(line.partition(" #")[0].rstrip() if line.startswith("EXIT_OVERRIDE:") else line)
            number += 1
        if not any(row.startswith("EXIT_STATUS:") for row in rows):
            return max(number, start + 1), None
        if not any(row.startswith("REMAINING_WORK:") for row in rows):
            rows += self._find_remaining(number)
        return number, _make("exit", start, rows)

    def _is_exit_line(self, number: int) -> bool:
        found = _KEY.fullmatch(self._lines[number].rstrip(" \t"))
        return found is not None and found["key"] in FIELDS["exit"] and self._places[number] is not Place.QUOTED

    def _find_remaining(self, start: int) -> list[str]:
        """Return the line that says what remains, where something stands between."""
        for number in range(start, min(start + 20, len(self._lines))):
            line = self._lines[number]
            if line.startswith(("EXIT_STATUS:", _DOYAKEN, *_DELIMITED)):
                break
            if line.startswith("REMAINING_WORK:") and self._places[number] is not Place.QUOTED:
                return [line.rstrip(" \t")]
        return []


def _make(kind: BlockKind, start: int, rows: list[str]) -> Block:
    """Return the block with everything that is wrong with it."""
    checks = FIELDS[kind]
    fields: dict[str, str] = {}
    problems: list[str] = []
    for row in rows:
        text = row.strip(" \t") if kind == "prp" else row
        if not text or (kind == "prp" and (text == "DUAL_GATE:" or text.startswith("#"))):
            continue
        found = _KEY.fullmatch(text)
        key = found["key"] if found is not None else ""
        if found is None or (key not in checks and kind != "prp"):
            problems.append(f"{cut(text)!r} is no field of it")
        elif key in fields:
            problems.append(f"{key} stands there twice")
        else:
            fields[key] = value = (found["value"] or "").strip(" \t")
            wrong = checks.get(key, check_text)(value) if value else "has no value"
            if wrong:
                problems.append(f"{key}: {cut(value)!r} {wrong}" if value else f"{key} {wrong}")
    missing = [key for key in REQUIRED[kind] if key not in fields]
    if kind == "prp" and set(DUAL_GATE) <= set(missing):
        problems.append(f"its DUAL_GATE part is missing: {', '.join(DUAL_GATE)}")
        missing = [key for key in missing if key not in DUAL_GATE]
    problems += [f"{key} is missing" for key in missing]
    block = Block(kind=kind, line=start + 1, fields=fields, problems=tuple(problems[:5]))
    return block if problems else _find_contradictions(block)


def _find_contradictions(block: Block) -> Block:
    against: list[str] = []
    fields = block.fields
    key, _ = ANSWERS[block.kind]
    answer = f"{block.name} says {key}: {fields[key]}"
    if block.says_done:
        against += [
            f"{answer}, and {shown}"
            for (name, value), shown in AGAINST[block.kind].items()
            if fields.get(name) == value
        ]
        if block.remaining:
            against.append(f"{answer}, and that work remains: {cut(block.remaining)!r}")
    elif block.kind == "ralph" and fields["STATUS"] == "COMPLETE":
        against.append(f"{answer}, and STATUS: COMPLETE")
    return replace(block, contradictions=tuple(against))


def _combine(blocks: tuple[Block, ...]) -> StatusBlocks:
    problems = tuple(f"{block.name} (line {block.line}): {text}" for block in blocks for text in block.problems)
    contradictions = [text for block in blocks for text in block.contradictions]
    answers = {block.name: block.says_done for block in blocks if not block.problems}
    done = [name for name, answer in answers.items() if answer]
    not_done = [name for name, answer in answers.items() if not answer]
    if done and not_done:
        contradictions.append(f"{' and '.join(done)} say done, {' and '.join(not_done)} not done")
    remaining = next((block.remaining for block in blocks if block.remaining), "")
    explicit: bool | None = None
    if not_done or remaining or contradictions:
        explicit = False
    elif done and not problems:
        explicit = True
    return StatusBlocks(
        blocks=blocks,
        explicit=explicit,
        claims_done=bool(done),
        remaining=remaining,
        problems=problems,
        contradictions=tuple(contradictions),
    )
