"""The evaluation as a PRP_PHASE_STATUS block, and the parser that reads it back.

The block is what agents and their loops exchange; the parser accepts exactly what we write, and nothing that merely
looks like it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from phase_gate.errors import DocumentError
from phase_gate.values import Value
from phase_gate.visible import show_rows

BEGIN = "---PRP_PHASE_STATUS---"
END = "---END_PRP_PHASE_STATUS---"


class StatusBlock(Value):
    """What a block says."""

    phase: str
    iteration: int | None
    tests_total: int | None
    tests_passing: int | None
    tests_failing: int | None
    gate_1: bool
    gate_1_detail: str
    gate_2: bool
    can_exit: bool
    exit_signal: bool
    reason: str


def block_of(document: Mapping[str, Any]) -> StatusBlock:
    """Return the block's values from an evaluation's JSON document."""
    metrics, gate_1, gate_2 = document["metrics"], document["gate_1"], document["gate_2"]
    detail = ", ".join(f"{name}: {json.dumps(value)}" for name, value in gate_1["values"].items())
    return StatusBlock(
        phase=document["phase"],
        iteration=document["iteration"],
        tests_total=metrics.get("tests_total"),
        tests_passing=metrics.get("tests_passing"),
        tests_failing=metrics.get("tests_failing"),
        gate_1=gate_1["open"],
        gate_1_detail=detail,
        gate_2=gate_2["open"],
        can_exit=document["can_exit"],
        exit_signal=gate_2["answer"] == "done",
        reason=document["reason"],
    )


def render_status_block(document: Mapping[str, Any]) -> str:
    """Return the evaluation as a block."""
    block = block_of(document)
    rows = [
        BEGIN,
        f"PHASE: {block.phase}",
        f"ITERATION: {json.dumps(block.iteration)}",
        f"TESTS_TOTAL: {json.dumps(block.tests_total)}",
        f"TESTS_PASSING: {json.dumps(block.tests_passing)}",
        f"TESTS_FAILING: {json.dumps(block.tests_failing)}",
        f"REASON: {json.dumps(block.reason)}",
        "",
        "DUAL_GATE:",
        f"  GATE_1: {json.dumps(block.gate_1)}",
        f"  GATE_1_DETAIL: {json.dumps(block.gate_1_detail)}",
        f"  GATE_2: {json.dumps(block.gate_2)}",
        f"  CAN_EXIT: {json.dumps(block.can_exit)}",
        "",
        f"EXIT_SIGNAL: {json.dumps(block.exit_signal)}",
        END,
    ]
    return show_rows(rows)


_FIELDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "ITERATION": ("iteration", (int, type(None))),
    "TESTS_TOTAL": ("tests_total", (int, type(None))),
    "TESTS_PASSING": ("tests_passing", (int, type(None))),
    "TESTS_FAILING": ("tests_failing", (int, type(None))),
    "REASON": ("reason", (str,)),
    "  GATE_1": ("gate_1", (bool,)),
    "  GATE_1_DETAIL": ("gate_1_detail", (str,)),
    "  GATE_2": ("gate_2", (bool,)),
    "  CAN_EXIT": ("can_exit", (bool,)),
    "EXIT_SIGNAL": ("exit_signal", (bool,)),
}


def parse_status_block(text: str) -> StatusBlock:
    """Return the last complete block in the text. Raises DocumentError if there is none, or it is not ours."""
    rows = text.splitlines()
    try:
        end = len(rows) - 1 - rows[::-1].index(END)
        start = end - rows[end::-1].index(BEGIN)
    except ValueError:
        raise _malformed("no complete block") from None
    values: dict[str, Any] = {}
    for number, row in enumerate(rows[start + 1 : end], start=start + 2):
        if not row or row == "DUAL_GATE:":
            continue
        key, separator, value = row.partition(": ")
        if key == "PHASE" and separator and "phase" not in values:
            values["phase"] = value
            continue
        if key not in _FIELDS or not separator or _FIELDS[key][0] in values:
            raise _malformed(f"line {number}: {row[:40]!r} is not a field, or stands there twice")
        name, types = _FIELDS[key]
        try:
            values[name] = json.loads(value)
        except (ValueError, RecursionError):
            raise _malformed(f"line {number}: {value[:40]!r} is no value") from None
        is_bool = isinstance(values[name], bool)
        if not isinstance(values[name], types) or (is_bool and bool not in types):
            raise _malformed(f"line {number}: {key.strip()} has the wrong type")
    missing = {name for name, _ in _FIELDS.values()} | {"phase"}
    if missing - set(values):
        raise _malformed(f"{min(missing - set(values))} is missing")
    return StatusBlock(**values)


def _malformed(problem: str) -> DocumentError:
    return DocumentError(f"PRP_PHASE_STATUS: {problem}", remedy="print it with phase-gate status --block")
