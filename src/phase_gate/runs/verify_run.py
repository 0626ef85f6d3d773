"""A run of pytest inside a verify command: recorded for that command's task, by that task's rules."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from phase_gate.errors import PhaseOrderError
from phase_gate.gate.parts import VERIFICATION
from phase_gate.report.panel import Line
from phase_gate.visible import count

if TYPE_CHECKING:
    from phase_gate.gate.evaluation import Evaluation
    from phase_gate.gate.state import State

#: Set for whatever a verify command starts; without a typed phase, such a run is recorded for the command's task.
PHASE_VARIABLE = "PHASE_GATE_PHASE"


def hide_from_tests() -> Callable[[], None]:
    """Let what the tests themselves start be none of the verify command's runs; return what takes that back."""
    hidden = os.environ.pop(PHASE_VARIABLE, None)
    return lambda: None if hidden is None else os.environ.update({PHASE_VARIABLE: hidden})


def refuse_outside_verify(state: State) -> None:
    """Refuse a run in a verify task that its verify command did not start."""
    verification = state.parts.get(VERIFICATION)
    if verification is None:
        return
    if verification.check is None or verification.check.how != "running":
        raise PhaseOrderError(
            f"{state.task} is a verify task: only its verify command runs tests in it",
            remedy=f"phase-gate verify run --task {state.task}",
        )


def recorded_for(task: str, evaluation: Evaluation) -> list[Line]:
    """Return what stands in the panel's place: the verdict is the verification gate's, and comes later."""
    subject, metrics = evaluation.subject, evaluation.metrics
    total = metrics.get("tests_total")
    tests = f", {count(total, 'test')}" if isinstance(total, int) else ""
    why = f": {subject.why}" if subject.why else ""
    return [
        Line(f"phase gate: recorded for task {task}", {"bold": True}, is_title=True),
        Line(f"{subject.kind} run{tests}{why}"),
    ]
