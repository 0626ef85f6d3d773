"""Decide about a claim of completion.

Pure. Measurements override claims, and a doubtful claim is blocked. A claim is never progress, and not a signal by
itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from phase_gate import exit_codes
from phase_gate.claims.blocks import Block, StatusBlocks
from phase_gate.claims.confidence import (
    DEFAULT_PATTERNS,
    ClaimContext,
    Sign,
    Threshold,
    compare,
    count_present,
    find_patterns,
    has_keyword,
    measurable,
    needed,
    score_confidence,
)
from phase_gate.gate.breaker import Breaker, at_time, observe_blocked_claim, observe_passed_claim
from phase_gate.values import Value, replace
from phase_gate.visible import count
from phase_gate.workflow.sections import ExitGate


class Outcome(StrEnum):
    """Possible decisions, in order of precedence."""

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


class Override(Value):
    requested: bool
    honoured: bool


class Decision(Value):
    """The decision about one claim with all its details, as recorded and printed."""

    decision: Outcome = Outcome.CONTINUE
    gate: Literal["passed", "blocked"] = "blocked"
    reason: str = ""
    #: The answer of the blocks; None if no block counts.
    explicit: bool | None
    #: Whether the text claims completion, with a block or in prose.
    is_claim: bool
    indicators: int
    #: The number of indicators needed: 0 if the gate is off, or an override is accepted.
    threshold: int
    threshold_from: str
    indicator_rows: tuple[Sign, ...]
    confidence: int
    #: The points needed, of those that can be measured.
    confidence_needed: int
    #: Whether the claim is done in the form that the project requires, and nothing contradicts it.
    claimed_done: bool
    #: Requirements that settings or a person relaxed. Each verdict on this claim shows them.
    leniency: tuple[str, ...]
    confidence_parts: tuple[Sign, ...]
    vetoes: tuple[str, ...]
    #: Differences between claimed and measured values.
    contradictions: tuple[str, ...]
    warnings: tuple[str, ...]
    override: Override
    blocks: tuple[Block, ...]
    claims_low: int = 0
    claims_done: int

    @property
    def passed(self) -> bool:
        return self.decision is Outcome.COMPLETE

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.decision]


def decide(blocks: StatusBlocks, prose: str, context: ClaimContext) -> tuple[Decision, Breaker]:
    """Return the decision about one claim, and the breaker after it.

    :param prose: the agent's own words, one sentence per line.
    """
    decision = _weigh(blocks, prose, context)
    rules, counted = context.rules, context.counted
    breaker, low = at_time(context.breaker, context.at), context.counted.low
    is_enough = decision.indicators >= decision.threshold and decision.confidence >= decision.confidence_needed
    if context.interrupted:
        outcome, reason = Outcome.INTERRUPTED, context.interrupted
    elif breaker.is_open:
        outcome, reason = Outcome.HALTED, f"the circuit is open since {breaker.opened_at}: {breaker.reason}"
    elif decision.claimed_done and is_enough:
        outcome, low, breaker = Outcome.COMPLETE, 0, observe_passed_claim(breaker)
        by = "it reports done" if blocks.explicit else "it claims completion in prose"
        signs = _describe_signs(decision.indicators, decision.threshold)
        reason = "; ".join((f"{by}, {signs}, confidence {decision.confidence}", *decision.leniency))
    else:
        outcome, reason = Outcome.CONTINUE, _refuse(blocks, decision)
        is_low = decision.is_claim and decision.confidence < rules.low
        if is_low:
            low = _count_once(low, counted.low_in, context.iteration)
        if decision.is_claim and (not breaker.exit_blocked or counted.blocked_in != context.iteration):
            breaker = observe_blocked_claim(breaker, context.limits, at=context.at)
        if breaker.is_open:
            outcome, reason = Outcome.HALTED, f"the circuit opens: {breaker.reason}; {reason}"
        elif is_low and low >= rules.repeated:
            outcome = Outcome.ASK
            many = f"{count(low, 'iteration')} with a claim under {rules.low} points"
            reason = f"{many}: a person has to look; {reason}"
    gate: Literal["passed", "blocked"] = "passed" if outcome is Outcome.COMPLETE else "blocked"
    return replace(decision, decision=outcome, gate=gate, reason=reason, claims_low=low), breaker


def _weigh(blocks: StatusBlocks, prose: str, context: ClaimContext) -> Decision:
    """Return what the claim has and what it needs, without the decision."""
    gate, rules, threshold = context.gate, context.rules, context.threshold
    words = find_patterns(DEFAULT_PATTERNS if gate.patterns is None else gate.patterns, prose)
    vetoes = tuple(_find_vetoes(blocks, context))
    done_in_a_row = _count_done(blocks, context, vetoes)
    indicators = (*words, *context.evidence, *_repeated(done_in_a_row))
    found = count_present(indicators)
    parts = score_confidence(blocks, prose, context)
    score = sum(part.worth for part in parts if part.met)
    # Prose alone is also a claim, unless a block reports not done. After three weak claims, a person is asked.
    is_claim = blocks.claims_done or (blocks.explicit is None and (count_present(words) > 0 or has_keyword(parts)))
    # Confidence is not required if Gate 1 uses only other claim metrics.
    is_asked = not context.asked or bool(context.asked & _ASK_CONFIDENCE)
    points = needed(parts, rules.threshold) if is_asked else 0
    is_requested = blocks.value("EXIT_STATUS", "EXIT_OVERRIDE") == "true"
    refusal = _refuse_override(blocks, gate, vetoes) if is_requested else ""
    override = Override(requested=is_requested, honoured=is_requested and not refusal)

    leniency: list[str] = [threshold.lowered] if threshold.lowered else []
    if not gate.enabled and found < threshold.value:
        leniency.append(f"exit_gate.enabled is off: {_describe_signs(found, threshold.value)} will do")
        threshold = Threshold(value=0, source="exit_gate.enabled")
    if override.honoured and (found < threshold.value or score < points):
        leniency.append(f"EXIT_OVERRIDE is honoured, with {_describe_signs(found, threshold.value)}")
        threshold, points = Threshold(value=0, source="EXIT_OVERRIDE"), 0
    agreed = blocks.explicit is True
    if blocks.explicit is None and is_claim and not gate.require_explicit_signal:
        # A claim without a block can't reach the threshold, so a project that needs no block needs no confidence.
        leniency.append("exit_gate.require_explicit_signal is off: no block reports done")
        agreed, points = True, 0
    warnings = [refusal] if refusal else []
    if is_claim and not vetoes:
        warnings += _warn(blocks, found, threshold.value, agreed=agreed)
    return Decision(
        explicit=blocks.explicit,
        is_claim=is_claim,
        indicators=found,
        threshold=threshold.value,
        threshold_from=threshold.source,
        indicator_rows=indicators,
        confidence=score,
        confidence_needed=points,
        claimed_done=is_claim and agreed and not vetoes,
        leniency=tuple(leniency),
        confidence_parts=parts,
        vetoes=vetoes,
        contradictions=tuple(compare(blocks, context.metrics)),
        warnings=tuple(warnings),
        override=override,
        blocks=blocks.blocks,
        claims_done=done_in_a_row,
    )


#: Metrics that require a confident claim if Gate 1 uses them.
_ASK_CONFIDENCE = frozenset({"confidence", "claim_passed"})

#: This many iterations in a row with a done block that nothing contradicts are a sign of completion.
_DONE_AGAIN = 2


def _count_once(often: int, counted_in: int | None, iteration: int) -> int:
    """Return the count including this iteration."""
    return max(1, often + (counted_in != iteration))


def _count_done(blocks: StatusBlocks, context: ClaimContext, vetoes: tuple[str, ...]) -> int:
    """Return the number of done signals in a row. "Not done" and a measured failure reset it."""
    if blocks.explicit is False or context.failure:
        return 0
    if blocks.explicit is None or vetoes:
        return context.counted.done
    return _count_once(context.counted.done, context.counted.done_in, context.iteration)


def _repeated(done_in_a_row: int) -> tuple[Sign, ...]:
    if done_in_a_row < _DONE_AGAIN:
        return ()
    reason = f"a block reports done in {count(done_in_a_row, 'iteration')}"
    return (Sign(True, reason, name="done in a row", kind="signal"),)


def _find_vetoes(blocks: StatusBlocks, context: ClaimContext) -> list[str]:
    vetoes = [context.failure] if context.failure else []
    vetoes += blocks.contradictions
    if blocks.explicit is False and not blocks.contradictions:
        vetoes.append("the claim itself reports not done")
    if blocks.problems:
        vetoes.append(blocks.problems[0])
    speaks_of = {"PHASE": context.phase, "ITERATION": str(context.iteration)}
    for key, here in speaks_of.items():
        given = blocks.value("PRP_PHASE_STATUS", key)
        if given not in ("", "null") and given.upper() != here:
            vetoes.append(f"PRP_PHASE_STATUS is for {key.lower()} {given[:40]}, this is {key.lower()} {here}")
    if context.untested:
        vetoes.append(context.untested)
    return vetoes


#: A block elsewhere is a quotation or an example.
_WHERE = "there is no whole status block at the left margin, outside of fences"


def _describe_signs(found: int, needed: int) -> str:
    return f"{count(found, 'indicator')} ({needed} needed)"


def _warn(blocks: StatusBlocks, found: int, needed: int, *, agreed: bool) -> list[str]:
    """Return a warning if only one of the two conditions is met."""
    signs = _describe_signs(found, needed)
    if agreed and found < needed:
        return [f"it reports done, with {signs}"]
    if found >= needed and not agreed:
        return [f"{signs}, but no block reports done{'' if blocks.blocks else f': {_WHERE}'}"]
    return []


def _refuse_override(blocks: StatusBlocks, gate: ExitGate, vetoes: tuple[str, ...]) -> str:
    """Return why a request to override is not honored; empty if it is."""
    if blocks.value("EXIT_STATUS", "EXIT_CONFIDENCE") != "HIGH":
        return "EXIT_OVERRIDE needs EXIT_CONFIDENCE: HIGH"
    if not gate.honour_override:
        return "EXIT_OVERRIDE is recorded as a request; exit_gate.honour_override is off"
    if vetoes:
        return f"EXIT_OVERRIDE is not honoured against this: {vetoes[0]}"
    return "" if blocks.explicit is True else "EXIT_OVERRIDE needs a done"


def _refuse(blocks: StatusBlocks, decision: Decision) -> str:
    """Return why a claim does not pass."""
    if not decision.is_claim:
        if blocks.explicit is False:
            left = f": {blocks.remaining[:80]}" if blocks.remaining else ""
            return f"the claim itself reports not done{left}"
        return next(iter(blocks.problems), f"nothing claims completion: {_WHERE}")
    if decision.vetoes:
        return decision.vetoes[0]
    if decision.warnings:
        return decision.warnings[-1]
    if not blocks.blocks:
        return f"prose alone is not enough, and {_WHERE}"
    most = measurable(decision.confidence_parts)
    of = "" if most == 100 else f" of the {most} points that can be measured"
    return f"confidence {decision.confidence}{of}, below the {decision.confidence_needed} needed"
