"""The status blocks that an agent prints, and what they say together.

Pure. Exact delimiters and keys at column 0, exact values; the last complete block of a kind is the one that counts.
A block that is not filled in, or contradicts itself or another one, never says done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from phase_gate.claims.text import ClaimText
from phase_gate.values import Value
from phase_gate.visible import cut

# --- the fields of each kind: which there are, what may stand in them, which of them answers


BlockKind = Literal["prp", "ralph", "exit", "doyaken"]

#: What each kind is called in messages.
NAMES: Mapping[BlockKind, str] = {
    "prp": "PRP_PHASE_STATUS",
    "ralph": "RALPH_STATUS",
    "exit": "EXIT_STATUS",
    "doyaken": "DOYAKEN_STATUS",
}


def _one_of(*allowed: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        return "" if value in allowed else f"is not one of {', '.join(allowed)}"

    return check


def _number(value: str) -> str:
    return "" if re.fullmatch(r"[0-9]{1,18}", value) else "is no number"


def _number_or_null(value: str) -> str:
    return "" if value == "null" else _number(value)


def _text(value: str) -> str:
    return "is a template" if value[:1] in ("{", "<", "[") and value[-1:] in ("}", ">", "]") else ""


def _capitals(value: str) -> str:
    return "" if re.fullmatch(r"[A-Z][A-Z_]{0,40}", value) else "is no word in capitals"


_boolean = _one_of("true", "false")

_FIELDS: Mapping[BlockKind, Mapping[str, Callable[[str], str]]] = {
    "prp": {
        "PHASE": _text,
        "ITERATION": _number_or_null,
        "TESTS_TOTAL": _number_or_null,
        "TESTS_PASSING": _number_or_null,
        "TESTS_FAILING": _number_or_null,
        "REASON": _text,
        "GATE_1": _boolean,
        "GATE_1_DETAIL": _text,
        "GATE_2": _boolean,
        "CAN_EXIT": _boolean,
        "REMAINING_WORK": _text,
        "EXIT_SIGNAL": _boolean,
    },
    "ralph": {
        "STATUS": _one_of("IN_PROGRESS", "COMPLETE", "BLOCKED"),
        "TASKS_COMPLETED_THIS_LOOP": _number,
        "FILES_MODIFIED": _number,
        "TESTS_STATUS": _one_of("PASSING", "FAILING", "NOT_RUN"),
        "WORK_TYPE": _capitals,
        "EXIT_SIGNAL": _boolean,
        "RECOMMENDATION": _text,
    },
    "exit": {
        "EXIT_STATUS": _one_of("COMPLETE", "CONTINUE"),
        "EXIT_REASON": _text,
        "REMAINING_WORK": _text,
        "EXIT_CONFIDENCE": _one_of("HIGH", "MEDIUM", "LOW"),
        "EXIT_OVERRIDE": _boolean,
    },
    "doyaken": {
        "PHASE_COMPLETE": _boolean,
        "FILES_MODIFIED": _number,
        "TESTS_STATUS": _one_of("pass", "fail", "skip", "unknown"),
        "CONFIDENCE": _one_of("high", "medium", "low"),
        "REMAINING_WORK": _text,
    },
}

#: The part that every PRP_PHASE_STATUS has.
DUAL_GATE = ("GATE_1", "GATE_2", "CAN_EXIT")

#: Without these a block says nothing.
REQUIRED: Mapping[BlockKind, tuple[str, ...]] = {
    "prp": (*DUAL_GATE, "EXIT_SIGNAL"),
    "ralph": ("STATUS", "EXIT_SIGNAL"),
    "exit": ("EXIT_STATUS",),
    "doyaken": tuple(_FIELDS["doyaken"]),
}

#: The key that answers, and the value that means done.
_ANSWERS: Mapping[BlockKind, tuple[str, str]] = {
    "prp": ("EXIT_SIGNAL", "true"),
    "ralph": ("EXIT_SIGNAL", "true"),
    "exit": ("EXIT_STATUS", "COMPLETE"),
    "doyaken": ("PHASE_COMPLETE", "true"),
}

#: What does not go together with done, and with not done.
_AGAINST_DONE: Mapping[BlockKind, tuple[str, ...]] = {
    "prp": ("CAN_EXIT: false", "GATE_1: false"),
    "ralph": ("STATUS: IN_PROGRESS", "STATUS: BLOCKED", "TESTS_STATUS: FAILING"),
    "exit": (),
    "doyaken": ("TESTS_STATUS: fail",),
}
_AGAINST_NOT_DONE: Mapping[BlockKind, tuple[str, ...]] = {"ralph": ("STATUS: COMPLETE",)}


# --- what a block says


class Block(Value):
    """A complete block."""

    kind: BlockKind
    #: Of its first line, from 1.
    line: int
    fields: Mapping[str, str]
    #: Why it can't be taken for what it says; empty if it can.
    problems: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return NAMES[self.kind]

    @property
    def says_done(self) -> bool | None:
        """What its answer is, taken by itself; None if it is not filled in."""
        key, done = _ANSWERS[self.kind]
        return None if self.problems else self.fields[key] == done

    @property
    def remaining(self) -> str:
        """The work that it says is left; empty for none."""
        text = self.fields.get("REMAINING_WORK", "")
        is_none = text.strip(" \t\"'.").lower() in ("", "none", "nothing")
        return "" if self.problems or is_none else text

    @property
    def reason(self) -> str:
        return next((self.fields[key] for key in ("EXIT_REASON", "RECOMMENDATION", "REASON") if key in self.fields), "")

    @property
    def contradictions(self) -> Iterator[str]:
        """Where it contradicts itself."""
        if self.problems:
            return
        key, _ = _ANSWERS[self.kind]
        answer = f"{self.name} says {key}: {self.fields[key]}"
        rows = {f"{name}: {value}" for name, value in self.fields.items()}
        against = _AGAINST_DONE if self.says_done else _AGAINST_NOT_DONE
        yield from (f"{answer}, and {row}" for row in against.get(self.kind, ()) if row in rows)
        if self.says_done and self.remaining:
            yield f"{answer}, and that work remains: {cut(self.remaining)!r}"


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
    #: Where no block counts: what might have been meant for one.
    uncounted: tuple[str, ...] = ()
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


# --- reading


#: What stands for a line that does not count: no block has it.
_SHOWN = "\0"
_BEGIN = r"---(?:PRP_PHASE|RALPH)_STATUS---$"
_UNCLOSED = re.compile(rf"{_BEGIN}|DOYAKEN_STATUS:$")
_EXIT_ROW = rf"(?:{'|'.join(_FIELDS['exit'])}):(?:[ \t].*)?\n"
_BLOCK = re.compile(
    rf"^---(?P<name>PRP_PHASE|RALPH)_STATUS---\n(?P<delimited>(?:(?!{_BEGIN})[^\0\n]*\n)*?)---END_(?P=name)_STATUS---$"
    r"|^DOYAKEN_STATUS:\n(?P<doyaken>(?:[ \t]+[^\s\0].*\n)+)"
    rf"|^(?P<exit>(?:{_EXIT_ROW})+)"
    rf"|^(?P<unclosed>{_UNCLOSED.pattern})",
    re.MULTILINE,
)
_KEY = re.compile(r"(?P<key>[A-Z][A-Z0-9_]{0,60}):(?:[ \t]+(?P<value>.*))?")
#: Lines behind an EXIT_STATUS in which work is looked for that is said to remain.
_FAR = 20
#: Blocks that do not count that are told.
_TOLD = 3


def read_blocks(text: ClaimText) -> StatusBlocks:
    """Return what the blocks of the text say together."""
    rows = (
        _SHOWN if is_quoted else line.rstrip(" \t") for line, is_quoted in zip(text.lines, text.quoted, strict=True)
    )
    own = "\n".join(rows) + "\n"
    last: dict[BlockKind, Block] = {}
    notes: dict[str, None] = {}
    line, place = 1, 0
    for found in _BLOCK.finditer(own):
        line, place = line + own.count("\n", place, found.start()), found.start()
        if found["unclosed"]:
            notes[f"{found['unclosed']} has no end, so it is no block"] = None
            continue
        block = _read_block(found, own, line)
        if block is not None:
            # Said again it goes to the end: the order is the one in which they were said last.
            last.pop(block.kind, None)
            last[block.kind] = block
    uncounted = () if last else tuple(_find_uncounted(text))[:_TOLD]
    return _combine(tuple(last.values()), uncounted, tuple(notes))


def _read_block(found: re.Match[str], own: str, line: int) -> Block | None:
    if found["name"]:
        kind: BlockKind = "prp" if found["name"] == "PRP_PHASE" else "ralph"
        return _make(kind, line, found["delimited"].splitlines())
    if found["doyaken"]:
        return _make("doyaken", line, [row.strip(" \t") for row in found["doyaken"].splitlines()])
    rows = found["exit"].splitlines()
    answers = [number for number, row in enumerate(rows) if row.startswith("EXIT_STATUS:")]
    if not answers:
        return None
    if len(answers) > 1:  # several blocks, one below the other: the last one counts
        line += answers[-1]
        rows = rows[answers[-1] :]
    if not any(row.startswith("REMAINING_WORK:") for row in rows):
        rows += _find_remaining(own, found.end())
    # The source document shows a remark behind the override.
    rows = [row.partition(" #")[0].rstrip() if row.startswith("EXIT_OVERRIDE:") else row for row in rows]
    return _make("exit", line, rows)


def _find_remaining(own: str, place: int) -> list[str]:
    """Return the line that says what remains, where something stands between."""
    for _ in range(_FAR):
        end = own.find("\n", place)
        row = own[place:end]
        if end < 0 or (_BLOCK.match(own, place) and not row.startswith("REMAINING_WORK:")):
            break
        if row.startswith("REMAINING_WORK:"):
            return [row]
        place = end + 1
    return []


def _make(kind: BlockKind, line: int, rows: list[str]) -> Block:
    """Return the block with everything that is wrong with it."""
    checks = _FIELDS[kind]
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
            wrong = checks.get(key, _text)(value) if value else "has no value"
            if wrong:
                problems.append(f"{key}: {cut(value)!r} {wrong}" if value else f"{key} {wrong}")
    missing = [key for key in REQUIRED[kind] if key not in fields]
    if kind == "prp" and set(DUAL_GATE) <= set(missing):
        problems.append(f"its DUAL_GATE part is missing: {', '.join(DUAL_GATE)}")
        missing = [key for key in missing if key not in DUAL_GATE]
    problems += [f"{key} is missing" for key in missing]
    return Block(kind=kind, line=line, fields=fields, problems=tuple(problems[:5]))


def _combine(blocks: tuple[Block, ...], uncounted: tuple[str, ...], notes: tuple[str, ...]) -> StatusBlocks:
    problems = tuple(f"{block.name} (line {block.line}): {text}" for block in blocks for text in block.problems)
    contradictions = [text for block in blocks for text in block.contradictions]
    done = [block.name for block in blocks if block.says_done is True]
    not_done = [block.name for block in blocks if block.says_done is False]
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
        uncounted=uncounted,
        notes=notes,
    )


# --- blocks that are seen and do not count, because of how or where they are written: only the reason is told


#: What looks like the beginning of a block, however it is written.
_LIKE = re.compile(
    r"(?P<before>[ \t>*_`#+|.)0-9-]*+)(?:(?P<name>(?:EXIT|DOYAKEN)_STATUS)(?P<after>[*_` \t]*+):|"
    r"(?P<delimited>(?:PRP_PHASE|RALPH)_STATUS)[ \t]*+--)",
    re.IGNORECASE,
)


def _find_uncounted(text: ClaimText) -> Iterator[str]:
    for number, (line, is_quoted) in enumerate(zip(text.lines, text.quoted, strict=True), start=1):
        found = _LIKE.match(line) if "_" in line else None
        # One that merely has no end is told of anyway.
        if found is not None and (is_quoted or not _UNCLOSED.fullmatch(line.rstrip(" \t"))):
            name = found["name"] or found["delimited"]
            yield f"{name.upper()} (line {number}) does not count: it {_why(name, found, is_quoted)}"


def _why(name: str, found: re.Match[str], is_quoted: bool) -> str:
    before = found["before"]
    if is_quoted:
        return "stands in a fence, a quote or an example"
    if before[:1] in (" ", "\t"):
        return "is indented"
    if name != name.upper():
        return "is not in capitals"
    if before.strip("- ") or (before and found["name"]) or (found["after"] or "").strip():
        return "is bold, or part of a list"
    return "is not written exactly so"
