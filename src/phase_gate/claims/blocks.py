"""Parse the status blocks that an agent prints, and combine them.

Pure. Delimiters and keys have to be exact and at column 0, and values exact. Only the last complete block of a kind
counts. A block that is not filled in, or contradicts itself or another one, never counts as done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from phase_gate.claims.agent_output import ClaimText
from phase_gate.values import Value
from phase_gate.visible import cut

BlockKind = Literal["PRP_PHASE_STATUS", "RALPH_STATUS", "EXIT_STATUS", "DOYAKEN_STATUS"]

#: The allowed values of a field: one of several words, or any value of one of these kinds.
_TEXT, _NUMBER, _NUMBER_OR_NULL = "text", "number", "number or null"
_Allowed = tuple[str, ...] | str
_BOOLEAN = ("true", "false")


class Form(Value):
    """The fields of a kind of block, and their meaning."""

    fields: Mapping[str, _Allowed]
    #: Fields without which a block does not count.
    required: tuple[str, ...]
    #: The field that answers, and the value that means done.
    answer: str
    done: str
    #: Fields that contradict done, and not done.
    against_done: tuple[str, ...] = ()
    against_not_done: tuple[str, ...] = ()


#: The part that every PRP_PHASE_STATUS has.
DUAL_GATE = ("GATE_1", "GATE_2", "CAN_EXIT")

FORMS: Mapping[BlockKind, Form] = {
    "PRP_PHASE_STATUS": Form(
        fields={
            **dict.fromkeys(("ITERATION", "TESTS_TOTAL", "TESTS_PASSING", "TESTS_FAILING"), _NUMBER_OR_NULL),
            **dict.fromkeys((*DUAL_GATE, "EXIT_SIGNAL"), _BOOLEAN),
        },
        required=(*DUAL_GATE, "EXIT_SIGNAL"),
        answer="EXIT_SIGNAL",
        done="true",
        against_done=("CAN_EXIT: false", "GATE_1: false"),
    ),
    "RALPH_STATUS": Form(
        fields={
            "STATUS": ("IN_PROGRESS", "COMPLETE", "BLOCKED"),
            "TASKS_COMPLETED_THIS_LOOP": _NUMBER,
            "FILES_MODIFIED": _NUMBER,
            "TESTS_STATUS": ("PASSING", "FAILING", "NOT_RUN"),
            "WORK_TYPE": _TEXT,
            "EXIT_SIGNAL": _BOOLEAN,
            "RECOMMENDATION": _TEXT,
        },
        required=("STATUS", "EXIT_SIGNAL"),
        answer="EXIT_SIGNAL",
        done="true",
        against_done=("STATUS: IN_PROGRESS", "STATUS: BLOCKED", "TESTS_STATUS: FAILING"),
        against_not_done=("STATUS: COMPLETE",),
    ),
    "EXIT_STATUS": Form(
        fields={
            "EXIT_STATUS": ("COMPLETE", "CONTINUE"),
            "EXIT_REASON": _TEXT,
            "REMAINING_WORK": _TEXT,
            "EXIT_CONFIDENCE": ("HIGH", "MEDIUM", "LOW"),
            "EXIT_OVERRIDE": _BOOLEAN,
        },
        required=("EXIT_STATUS",),
        answer="EXIT_STATUS",
        done="COMPLETE",
    ),
    "DOYAKEN_STATUS": Form(
        fields={
            "PHASE_COMPLETE": _BOOLEAN,
            "FILES_MODIFIED": _NUMBER,
            "TESTS_STATUS": ("pass", "fail", "skip", "unknown"),
            "CONFIDENCE": ("high", "medium", "low"),
            "REMAINING_WORK": _TEXT,
        },
        required=("PHASE_COMPLETE", "FILES_MODIFIED", "TESTS_STATUS", "CONFIDENCE", "REMAINING_WORK"),
        answer="PHASE_COMPLETE",
        done="true",
        against_done=("TESTS_STATUS: fail",),
    ),
}


def _what_is_wrong(allowed: _Allowed, value: str) -> str:
    if not value:
        return "has no value"
    if isinstance(allowed, tuple):
        return "" if value in allowed else f"is not one of {', '.join(allowed)}"
    if allowed == _TEXT:
        return "is a template" if value[0] in "{<[" and value[-1] in "}>]" else ""
    if value == "null" and allowed == _NUMBER_OR_NULL:
        return ""
    return "" if re.fullmatch(r"[0-9]{1,18}", value) else "is not a number"


# --- blocks


#: The characters of a value, and the fields of a block, that are kept.
_KEPT, _KEPT_FIELDS = 500, 40


class Block(Value):
    """A complete block, as it is recorded."""

    kind: BlockKind
    fields: Mapping[str, str]
    #: Why the block does not count; empty if it does.
    problems: tuple[str, ...] = ()

    @property
    def reports_done(self) -> bool | None:
        """Whether the block on its own reports done; None if it is not filled in."""
        form = FORMS[self.kind]
        return None if self.problems else self.fields[form.answer] == form.done

    @property
    def remaining(self) -> str:
        """The remaining work that the block lists; empty for none."""
        text = self.fields.get("REMAINING_WORK", "")
        is_none = text.strip(" \t\"'.").lower() in ("", "none", "nothing")
        return "" if self.problems or is_none else text

    @property
    def reason(self) -> str:
        return next((self.fields[key] for key in ("EXIT_REASON", "RECOMMENDATION", "REASON") if key in self.fields), "")

    @property
    def contradictions(self) -> Iterator[str]:
        """The places where the block contradicts itself."""
        if self.problems:
            return
        form = FORMS[self.kind]
        answer = f"{self.kind} has {form.answer}: {self.fields[form.answer]}"
        rows = {f"{name}: {value}" for name, value in self.fields.items()}
        against = form.against_done if self.reports_done else form.against_not_done
        yield from (f"{answer}, and {row}" for row in against if row in rows)
        if self.reports_done and self.remaining:
            yield f"{answer}, but work remains: {cut(self.remaining)!r}"


class StatusBlocks(Value):
    """The combined answer of the last block of each kind."""

    blocks: tuple[Block, ...] = ()

    @property
    def explicit(self) -> bool | None:
        """True for done, False for explicitly not done, None if no block counts."""
        if self._kinds(False) or self.contradictions:
            return False
        return True if self.claims_done and not self.problems else None

    @property
    def claims_done(self) -> bool:
        """Whether any block reports done, even if another one contradicts it."""
        return bool(self._kinds(True))

    @property
    def remaining(self) -> str:
        return next((block.remaining for block in self.blocks if block.remaining), "")

    @property
    def problems(self) -> tuple[str, ...]:
        """Errors in the blocks."""
        return tuple(f"{block.kind}: {text}" for block in self.blocks for text in block.problems)

    @property
    def contradictions(self) -> tuple[str, ...]:
        done, not_done = self._kinds(True), self._kinds(False)
        both = (f"{' and '.join(done)} report done, {' and '.join(not_done)} not done",) if done and not_done else ()
        return (*(text for block in self.blocks for text in block.contradictions), *both)

    def _kinds(self, answer: bool) -> list[BlockKind]:
        return [block.kind for block in self.blocks if block.reports_done is answer]

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons in valid blocks. They are the agent's own words, like the text around the blocks."""
        return tuple(block.reason.strip('"') for block in self.blocks if block.reason and not block.problems)

    def value(self, kind: BlockKind, key: str) -> str:
        """Return a field of the block of that kind; empty if the block is missing or not filled in."""
        return next((b.fields.get(key, "") for b in self.blocks if b.kind == kind and not b.problems), "")


# --- parsing


#: Replaces a line that does not count. No block contains it.
_SHOWN = "\0"
_EXIT_ROW = rf"(?:{'|'.join(FORMS['EXIT_STATUS'].fields)}):(?:[ \t].*)?\n"
_BLOCK = re.compile(
    r"^---(?P<name>(?:PRP_PHASE|RALPH)_STATUS)---\n"
    r"(?P<delimited>(?:(?!---(?:PRP_PHASE|RALPH)_STATUS---$)[^\0\n]*\n)*?)---END_(?P=name)---$"
    r"|^DOYAKEN_STATUS:\n(?P<indented>(?:[ \t]+[^\s\0].*\n)+)"
    rf"|^(?P<plain>(?:{_EXIT_ROW})+)",
    re.MULTILINE,
)
_KEY = re.compile(r"(?P<key>[A-Z][A-Z0-9_]{0,60}):(?:[ \t]+(?P<value>.*))?")


def read_blocks(text: ClaimText) -> StatusBlocks:
    """Return the blocks in a text."""
    lines = zip(text.lines, text.quoted, strict=True)
    own = "\n".join(_SHOWN if is_quoted else line.rstrip(" \t") for line, is_quoted in lines) + "\n"
    last: dict[BlockKind, list[str]] = {}
    for found in _BLOCK.finditer(own):
        kind: Any = found["name"] or ("DOYAKEN_STATUS" if found["indented"] else "EXIT_STATUS")
        rows = (found["delimited"] or found["indented"] or found["plain"] or "").splitlines()
        if kind == "EXIT_STATUS":
            answers = [place for place, row in enumerate(rows) if row.startswith("EXIT_STATUS:")]
            if not answers:
                # REMAINING_WORK may be further down, after other text.
                before = last.get(kind, [])
                before += [row for row in rows if row.startswith("REMAINING_WORK:") and row not in before]
                continue
            # Of several consecutive blocks, the last one counts.
            rows = rows[answers[-1] :]
        # Blocks are in the order of their last occurrence, so a repeated one moves to the end.
        last.pop(kind, None)
        last[kind] = rows
    return StatusBlocks(blocks=tuple(_make(kind, rows) for kind, rows in last.items()))


def _make(kind: BlockKind, rows: list[str]) -> Block:
    """Return the block with its problems."""
    form, is_open = FORMS[kind], kind == "PRP_PHASE_STATUS"
    fields: dict[str, str] = {}
    problems: list[str] = []
    for row in rows[:_KEPT_FIELDS]:
        # EXIT_OVERRIDE may have a comment after its value.
        text = (row.partition(" #")[0] if row.startswith("EXIT_OVERRIDE:") else row).strip(" \t")
        if is_open and (not text or text == "DUAL_GATE:" or text.startswith("#")):
            continue
        found = _KEY.fullmatch(text)
        key = "" if found is None else found["key"]
        if found is None or not (is_open or key in form.fields):
            problems.append(f"{cut(text)!r} is not one of its fields")
        elif key in fields:
            problems.append(f"{key} occurs twice")
        else:
            fields[key] = value = (found["value"] or "").strip(" \t")[:_KEPT]
            if wrong := _what_is_wrong(form.fields.get(key, _TEXT), value):
                problems.append(f"{key}: {cut(value)!r} {wrong}" if value else f"{key} {wrong}")
    missing = [key for key in form.required if key not in fields]
    if is_open and set(DUAL_GATE) <= set(missing):
        problems.append(f"its DUAL_GATE part is missing: {', '.join(DUAL_GATE)}")
        missing = [key for key in missing if key not in DUAL_GATE]
    problems += [f"{key} is missing" for key in missing]
    return Block(kind=kind, fields=fields, problems=tuple(problems[:5]))
