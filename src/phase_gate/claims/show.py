"""A decision about a claim, every part of it: as it is recorded and printed, and for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from phase_gate.claims.decision import Decision, Outcome
from phase_gate.codec import spell_out
from phase_gate.gate.state import Event, State
from phase_gate.visible import count, show_rows

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


# --- for people: what, why, every part, what next


_WORDS = {
    Outcome.INTERRUPTED: "stop",
    Outcome.HALTED: "halt",
    Outcome.COMPLETE: "complete",
    Outcome.ASK: "ask a person",
    Outcome.CONTINUE: "go on",
}
_SIGNS = {True: "+", False: "-", None: "?"}


def render_claim(decision: Decision, *, phase: str, next_step: str, closed: str = "") -> str:
    """Return the answer.

    :param closed: why Gate 1 stays closed though the claim passes; empty if it does not.
    """
    return show_rows(_rows(decision, phase, next_step, closed))


def _rows(decision: Decision, phase: str, next_step: str, closed: str) -> Iterator[str]:
    said, confidence = decision.said, decision.confidence
    yield f"{phase}: {_WORDS[decision.outcome]}: {decision.reason}"
    names = ", ".join(block.name for block in said.blocks)
    answer = {True: "done", False: "not done", None: "nothing that counts"}[said.explicit]
    yield f"  says        {answer}" + (f" ({names})" if names else " (no status block)")
    source = "" if decision.threshold.source == "default" else f" (threshold from {decision.threshold.source})"
    yield f"  indicators  {decision.found} ({decision.threshold.value} needed){source}"
    for each in decision.indicators:
        if each.kind != "pattern" or each.present:
            yield f"    {_SIGNS[each.present]} {each.name}: {each.detail}"
    absent = sum(each.kind == "pattern" and not each.present for each in decision.indicators)
    if absent:
        yield f"    - {count(absent, 'phrase')} not said"
    yield f"  confidence  {confidence.score} of {confidence.measurable} ({decision.confidence_needed} needed)"
    for part in confidence.parts:
        points = "  ?" if part.met is None else f"{part.points:3}"
        yield f"    {points} {part.name}: {part.reason}"
    for title, rows in (
        ("against it", decision.vetoes),
        ("measured", decision.contradictions),
        ("warning", decision.warnings),
        ("note", (*(each.text for each in said.uncounted), *said.notes)),
    ):
        for row in rows:
            yield f"  {title:<11} {row}"
    if closed:
        yield f"  Gate 1      closed: {closed}"
    yield f"  next: {next_step}"
