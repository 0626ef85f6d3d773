"""The evaluation as a PRP_PHASE_STATUS block, which agents and their loops exchange; `claims.blocks` reads it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

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
