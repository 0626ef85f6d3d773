"""Verdicts for tests that ask what follows from one."""

from __future__ import annotations

from typing import Any

from phase_gate.gate.verdict import Evaluation, Gate1Result, GuardResult, Signal
from phase_gate.workflow.metrics import MetricValue

AT = "2026-01-01T00:00:00.000Z"

#: What a run measures in which nothing is wrong.
GREEN: dict[str, MetricValue] = {
    "run_complete": True,
    "tests_missing": 0,
    "tests_newly_skipped": 0,
    "criteria_open": 0,
    "tests_altered": 0,
    "rules_changed": 0,
    "red_seen": True,
    "red_resolved_elsewhere": 0,
    "outcomes_doubtful": 0,
    "proof_objections": 0,
    "tests_total": 2,
    "tests_failing": 0,
    "tests_passing": 2,
}


def verdict(*, can_exit: bool = True, gate_1: bool = True, **more: Any) -> Evaluation:
    """Return a verdict on GREEN, with what else is given."""
    about = {"task": "default", "cycle": 1, "phase": "GREEN", "iteration": 2, "run": "r1", "timestamp": AT}
    gate = Gate1Result(
        is_open=gate_1,
        name="n",
        condition="a > 0",
        values={"a": int(gate_1)},
        guards=(GuardResult(name="g", met=None),),
    )
    said: dict[str, Any] = {
        "status": "open",
        "reason": "both gates are open: GREEN has exited",
        "next_command": "pytest --phase=refactor",
        "forced_exit": can_exit and not gate_1,
        **about,
        **more,
    }
    reading = Signal(answer="done" if can_exit else "absent")
    return Evaluation(**said, gate_1=gate, gate_2=reading)
