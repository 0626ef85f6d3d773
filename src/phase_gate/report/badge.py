"""Where a task stands, as the document that a shields.io endpoint badge is drawn from. No network."""

from __future__ import annotations

from typing import Any

from phase_gate.gate.standing import Standing
from phase_gate.gate.state import State


def render_badge(state: State, standing: Standing, *, label: str) -> dict[str, Any]:
    message, color = _say(state, standing)
    return {"schemaVersion": 1, "label": label, "message": message, "color": color, "isError": standing.is_halted}


def _say(state: State, standing: Standing) -> tuple[str, str]:
    if state.phase is None:
        return "no run yet", "lightgrey"
    if standing.is_halted:
        return f"{state.phase} stuck", "critical"
    if not standing.holds:
        return f"{state.phase} closed", "orange"
    # What a person decided against the evidence is never shown as plain success.
    return (f"{state.phase} forced", "yellow") if state.forced else (f"{state.phase} holds", "brightgreen")
