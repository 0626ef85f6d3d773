"""A decision about a claim, for people: what, why, every part, what next."""

from __future__ import annotations

from collections.abc import Iterator

from phase_gate.claims.decision import Decision, Outcome
from phase_gate.gate.runs import count
from phase_gate.visible import show_rows

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
