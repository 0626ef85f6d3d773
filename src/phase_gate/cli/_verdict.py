"""The verdict of an evaluation, as a command answers with it."""

from __future__ import annotations

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import screen_width
from phase_gate.gate.evaluation import Evaluation, evaluation_to_json
from phase_gate.report.panel import panel_text, render_panel


def answer_with(call: Call, evaluation: Evaluation, *, is_stuck: bool = False) -> Answer:
    """Return a verdict as a command's answer."""
    closed = exit_codes.CIRCUIT_OPEN if is_stuck or evaluation.breaker.is_open else exit_codes.GATE_CLOSED
    lines = render_panel(evaluation, verbosity=int(call.arguments.v), width=screen_width())
    return Answer(
        text=panel_text(lines, width=screen_width()),
        document=evaluation_to_json(evaluation),
        exit_code=exit_codes.OPEN if evaluation.can_exit else closed,
    )
