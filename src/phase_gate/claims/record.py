"""A decision about a claim as it is recorded and printed: every part of it. Pure."""

from __future__ import annotations

from typing import Any

from phase_gate.claims.decision import Decision
from phase_gate.codec import spell_out
from phase_gate.gate.state import Event, State

#: Characters of one field that are kept.
_KEPT = 500


def decision_to_json(decision: Decision) -> dict[str, Any]:
    """Return every part of the decision; what an agent wrote is cut."""
    said = decision.said
    return {
        "decision": decision.outcome,
        "gate": "passed" if decision.passed else "blocked",
        "reason": decision.reason,
        "explicit": said.explicit,
        "is_claim": decision.is_claim,
        "indicators": decision.found,
        "threshold": decision.threshold.value,
        "threshold_from": decision.threshold.source,
        "indicator_rows": [
            {"name": each.name, "kind": each.kind, "present": each.present, "detail": each.detail}
            for each in decision.indicators
        ],
        "confidence": decision.confidence.score,
        "confidence_needed": decision.confidence_needed,
        "claimed_done": decision.claimed_done,
        "met_both": decision.met_both,
        "confidence_parts": [
            {"name": part.name, "worth": part.worth, "points": part.points, "met": part.met, "reason": part.reason}
            for part in decision.confidence.parts
        ],
        "vetoes": list(decision.vetoes),
        "contradictions": list(decision.contradictions),
        "warnings": list(decision.warnings),
        "problems": list(said.problems),
        "notes": [*(each.text for each in said.uncounted), *said.notes],
        "remaining_work": said.remaining[:_KEPT],
        "override": {"requested": decision.override_requested, "honoured": decision.override_honoured},
        "blocks": [
            {
                "kind": block.name,
                "line": block.line,
                "fields": {key: value[:_KEPT] for key, value in list(block.fields.items())[:40]},
            }
            for block in said.blocks
        ],
        "claims_low": decision.claims_low,
        "claims_done": decision.claims_done,
    }


def claim_event(
    decision: Decision, state: State, *, kind: str | None, by: str, tree: str, reports: tuple[str, ...]
) -> Event:
    """Return what is recorded about a claim: the decision with all its parts, and what it is about.

    :param reports: the file with the claim, from the root.
    """
    measured = state.measurement
    claim = {
        **decision_to_json(decision),
        "phase": state.phase,
        "iteration": state.iteration,
        "run": None if measured is None else measured.run,
        "kind": kind,
        "by": by,
    }
    breaker = spell_out(decision.breaker)
    return Event(kind="claimed", data={"claim": claim, "breaker": breaker, "tree": tree, "reports": list(reports)})
