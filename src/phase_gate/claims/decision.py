"""What a claim of completion is worth: the chain of decisions, from an interrupt to "go on".

Pure. What was measured beats what was said, and doubt blocks. A claim is never progress, and never a signal by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from phase_gate import exit_codes
from phase_gate.claims.blocks import StatusBlocks
from phase_gate.claims.confidence import (
    DEFAULT_PATTERNS,
    Confidence,
    Indicator,
    Measures,
    compare,
    count_present,
    find_patterns,
    score_confidence,
)
from phase_gate.codec import spell_out
from phase_gate.gate.breaker import (
    Breaker,
    at_time,
    observe_blocked_claim,
    observe_passed_claim,
)
from phase_gate.gate.state import Claims, Event, State
from phase_gate.values import Value, field
from phase_gate.visible import count, name_first
from phase_gate.workflow.metrics import Metrics
from phase_gate.workflow.model import Limits
from phase_gate.workflow.settings import ConfidenceRules, ExitGate


class Outcome(StrEnum):
    """In the order in which they are tried: the first that fits wins."""

    INTERRUPTED = "interrupted"
    HALTED = "halted"
    COMPLETE = "complete"
    ASK = "ask a person"
    CONTINUE = "continue"


EXIT_CODES: Mapping[Outcome, int] = {
    Outcome.INTERRUPTED: exit_codes.NOT_ALLOWED,
    Outcome.HALTED: exit_codes.CIRCUIT_OPEN,
    Outcome.COMPLETE: exit_codes.OPEN,
    Outcome.ASK: exit_codes.NOT_ALLOWED,
    Outcome.CONTINUE: exit_codes.GATE_CLOSED,
}


class Threshold(Value):
    """How many signs it takes, and who said so."""

    value: int = 2
    source: str = "default"
    #: Who lowered it for this claim, and why; empty if it is what the project asks for, or more.
    lowered: str = ""


def own_threshold(gate: ExitGate, kind: str | None = None) -> Threshold:
    """Return what the project asks for: for a kind of task that it knows, or for all."""
    if kind is not None:
        return Threshold(value=gate.thresholds[kind], source=f"kind {kind}")
    is_usual = gate.indicator_threshold == ExitGate().indicator_threshold
    return Threshold(value=gate.indicator_threshold, source="default" if is_usual else "phase-gate.yaml")


class ClaimContext(Value):
    """What is known beside the words."""

    #: The user interrupted the last run: their wish comes first.
    interrupted: str = ""
    breaker: Breaker = field(default_factory=Breaker)
    limits: Limits = field(default_factory=Limits)
    #: What was measured and speaks against it.
    failure: str = ""
    #: Why no run speaks of the files as they are; empty if one does.
    untested: str = ""
    #: Signs from measurements, those that are switched on.
    evidence: tuple[Indicator, ...] = ()
    measures: Measures = field(default_factory=Measures)
    #: What the last complete run measured; empty if there is none.
    metrics: Metrics = field(default_factory=dict)
    phase: str = ""
    iteration: int = 0
    #: The files that it is about.
    tree: str = ""
    #: What was counted before. Each counter goes up once an iteration, however many claims it has.
    counted: Claims = Claims()
    #: What Gate 1 of the phase asks of a claim, by the names of metrics; nothing: it does not speak of claims.
    asked: frozenset[str] = frozenset()
    at: str = ""


class Decision(Value):
    """The answer to one claim, with every part of it."""

    outcome: Outcome
    reason: str
    said: StatusBlocks
    indicators: tuple[Indicator, ...]
    #: How many of them it takes: none where the gate is off, or an override is honoured.
    threshold: Threshold
    confidence: Confidence
    #: The points that it takes, of those that can be measured.
    confidence_needed: int
    breaker: Breaker
    #: The text claims completion, with a block or in words.
    is_claim: bool
    #: It says done as far as the project asks for that, and nothing speaks against it.
    claimed_done: bool
    vetoes: tuple[str, ...] = ()
    #: What settings or a person let pass: each verdict on this claim tells it.
    leniency: tuple[str, ...] = ()
    #: Where what is claimed is not what was measured.
    contradictions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    override_requested: bool = False
    override_honoured: bool = False
    claims_low: int = 0
    claims_done: int = 0

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.COMPLETE

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]

    @property
    def found(self) -> int:
        return count_present(self.indicators)

    @property
    def missing(self) -> str:
        """What would make it pass, where nothing but indicators is missing; empty elsewhere."""
        left = self.threshold.value - self.found
        if not self.claimed_done or self.passed or left < 1:
            return ""
        absent = [each for each in self.indicators if not each.present]
        words = name_first([f"`{each.name}`" for each in absent if each.kind == "pattern"], 3)
        others = "".join(f", or {each.name} ({each.detail})" for each in absent if each.kind != "pattern")
        return f"{count(left, 'more indicator')}: words of your own such as {words}{others}"


def decide(
    said: StatusBlocks, prose: str, context: ClaimContext, gate: ExitGate, rules: ConfidenceRules, threshold: Threshold
) -> Decision:
    """Return the decision about one claim.

    :param prose: the agent's own words, one sentence a line.
    """
    words = find_patterns(DEFAULT_PATTERNS if gate.patterns is None else gate.patterns, prose)
    vetoes = tuple(_find_vetoes(said, context))
    done_in_a_row = _count_done(said, context, vetoes)
    indicators = (*words, *context.evidence, *_repeated(done_in_a_row))
    found = count_present(indicators)
    confidence = score_confidence(said, prose, context.measures, rules)
    # Words alone are a claim, too, unless a block says that it is not done: seed 003 asks a person at the third.
    is_claim = said.claims_done or (said.explicit is None and (count_present(words) > 0 or confidence.has_keyword))
    requested = said.value("exit", "EXIT_OVERRIDE") == "true"
    sure = said.value("exit", "EXIT_CONFIDENCE") == "HIGH"
    honoured = requested and sure and gate.honour_override and said.explicit is True and not vetoes

    warnings: list[str] = []
    leniency: list[str] = [threshold.lowered] if threshold.lowered else []
    if requested and not honoured:
        warnings.append(_refuse_override(sure=sure, allowed=gate.honour_override, vetoes=vetoes))
    if not gate.enabled and found < threshold.value:
        leniency.append(f"exit_gate.enabled is off: {describe_signs(found, threshold)} will do")
        threshold = Threshold(value=0, source="exit_gate.enabled")
    needed = confidence.needed(rules.threshold) if rules.enabled else 0
    # A Gate 1 that asks for indicators and not for confidence gets what it asks for.
    is_asked = not context.asked or not context.asked.isdisjoint(_ASK_CONFIDENCE)
    if honoured and (found < threshold.value or (is_asked and confidence.score < needed)):
        leniency.append(f"EXIT_OVERRIDE is honoured, with {describe_signs(found, threshold)}")
        threshold, needed = Threshold(value=0, source="EXIT_OVERRIDE"), 0
    agreed = said.explicit is True
    if said.explicit is None and is_claim and not gate.require_explicit_signal:
        # Without a block no claim can be sure: a project that does without one does without this, too.
        leniency.append("exit_gate.require_explicit_signal is off: no block says done")
        agreed, needed = True, 0
    enough = found >= threshold.value
    if is_claim and not vetoes:
        warnings += _warn(said, found, threshold, enough=enough, agreed=agreed)
    claimed_done = is_claim and agreed and not vetoes

    breaker = at_time(context.breaker, context.at)
    low = context.counted.low
    if context.interrupted:
        outcome, reason = Outcome.INTERRUPTED, context.interrupted
    elif breaker.is_open:
        outcome, reason = Outcome.HALTED, f"the circuit is open since {breaker.opened_at}: {breaker.reason}"
    elif claimed_done and enough and (confidence.score >= needed or not is_asked):
        outcome, low = Outcome.COMPLETE, 0
        by = "it says done" if said.explicit else "it says done in words"
        reason = f"{by}, {describe_signs(found, threshold)}, confidence {confidence.score}"
        reason += "".join(f"; {each}" for each in leniency)
        breaker = observe_passed_claim(breaker)
    else:
        outcome, reason = Outcome.CONTINUE, _refuse(said, is_claim, vetoes, warnings, confidence, needed)
        is_low = is_claim and confidence.score < rules.low
        if is_low:
            low = _count_once(low, context.counted.low_in, context.iteration)
        if is_claim and (not breaker.exit_blocked or context.counted.blocked_in != context.iteration):
            breaker = observe_blocked_claim(breaker, context.limits, at=context.at)
        if breaker.is_open:
            outcome, reason = Outcome.HALTED, f"the circuit opens: {breaker.reason}; {reason}"
        elif is_low and low >= rules.repeated:
            outcome = Outcome.ASK
            many = f"{count(low, 'iteration')} with a claim under {rules.low} points"
            reason = f"{many}: a person has to look; {reason}"
    return Decision(
        outcome=outcome,
        reason=reason,
        said=said,
        indicators=indicators,
        threshold=threshold,
        confidence=confidence,
        confidence_needed=needed,
        breaker=breaker,
        is_claim=is_claim,
        claimed_done=claimed_done,
        vetoes=vetoes,
        leniency=tuple(leniency),
        contradictions=tuple(compare(said, context.metrics, context.measures)),
        warnings=tuple(warnings),
        override_requested=requested,
        override_honoured=honoured,
        claims_low=low,
        claims_done=done_in_a_row,
    )


#: What Gate 1 may ask for, and a claim has to be confident then.
_ASK_CONFIDENCE = frozenset({"confidence", "claim_passed"})

#: Iterations in a row in which a block says done, and nothing speaks against it, that are a sign of completion.
_DONE_AGAIN = 2


def _count_once(often: int, counted_in: int | None, iteration: int) -> int:
    """Return the count with this iteration in it."""
    return max(1, often + (counted_in != iteration))


def _count_done(said: StatusBlocks, context: ClaimContext, vetoes: tuple[str, ...]) -> int:
    """Return the done signals in a row: "not done" and a measured failure start the count over."""
    if said.explicit is False or context.failure:
        return 0
    if said.explicit is None or vetoes:
        return context.counted.done
    return _count_once(context.counted.done, context.counted.done_in, context.iteration)


def _repeated(done_in_a_row: int) -> tuple[Indicator, ...]:
    if done_in_a_row < _DONE_AGAIN:
        return ()
    detail = f"a block says done in {count(done_in_a_row, 'iteration')}"
    return (Indicator(name="done in a row", kind="signal", present=True, detail=detail),)


def _find_vetoes(said: StatusBlocks, context: ClaimContext) -> list[str]:
    vetoes = [context.failure] if context.failure else []
    vetoes += said.contradictions
    if said.explicit is False and not said.contradictions:
        vetoes.append("it says itself that it is not done")
    if said.problems:
        vetoes.append(said.problems[0])
    speaks_of = {"PHASE": context.phase, "ITERATION": str(context.iteration)}
    for key, here in speaks_of.items():
        given = said.value("prp", key)
        if given not in ("", "null") and given.upper() != here:
            vetoes.append(f"PRP_PHASE_STATUS speaks of {key.lower()} {given[:40]}, this is {key.lower()} {here}")
    if context.untested:
        vetoes.append(context.untested)
    return vetoes


def describe_signs(found: int, threshold: Threshold) -> str:
    return f"{count(found, 'indicator')} ({threshold.value} needed)"


def _warn(said: StatusBlocks, found: int, threshold: Threshold, *, enough: bool, agreed: bool) -> list[str]:
    """Say so where only one of the two conditions is met."""
    signs = describe_signs(found, threshold)
    if agreed and not enough:
        return [f"it says done, with {signs}"]
    if enough and not agreed:
        seen = said.uncounted[0] if said.uncounted and not said.blocks else "only words do"
        return [f"{signs}, and no block says done: {seen}"]
    return []


def _refuse_override(*, sure: bool, allowed: bool, vetoes: tuple[str, ...]) -> str:
    if not sure:
        return "EXIT_OVERRIDE needs EXIT_CONFIDENCE: HIGH beside it"
    if not allowed:
        return "EXIT_OVERRIDE is recorded as a request; exit_gate.honour_override is off"
    return f"EXIT_OVERRIDE is not honoured against this: {vetoes[0]}" if vetoes else "EXIT_OVERRIDE needs a done"


def _refuse(
    said: StatusBlocks,
    is_claim: bool,
    vetoes: tuple[str, ...],
    warnings: list[str],
    confidence: Confidence,
    needed: int,
) -> str:
    if not is_claim:
        if said.explicit is False:
            left = f": {said.remaining[:80]}" if said.remaining else ""
            return f"it says itself that it is not done{left}"
        if said.uncounted and not said.blocks:
            return said.uncounted[0]
        return said.problems[0] if said.problems else "nothing claims completion"
    if vetoes:
        return vetoes[0]
    if warnings:
        return warnings[-1]
    if not said.blocks:
        seen = f": {said.uncounted[0]}" if said.uncounted else ""
        return f"no status block, so the words alone have to do, and they do not{seen}"
    of = "" if confidence.measurable == 100 else f" of the {confidence.measurable} points that can be measured"
    return f"confidence {confidence.score}{of}, below the {needed} needed"


# --- as it is recorded and printed


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
        "met_both": decision.passed,
        "leniency": list(decision.leniency),
        "confidence_parts": [
            {"name": part.name, "worth": part.worth, "points": part.points, "met": part.met, "reason": part.reason}
            for part in decision.confidence.parts
        ],
        "vetoes": list(decision.vetoes),
        "contradictions": list(decision.contradictions),
        "warnings": list(decision.warnings),
        "problems": list(said.problems),
        "notes": [*said.uncounted, *said.notes],
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
