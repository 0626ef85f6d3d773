"""What a claim of completion is worth: the chain of decisions, from an interrupt to "go on".

Pure. What was measured beats what was said, and doubt blocks. A claim is never progress, and never a signal by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

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
from phase_gate.gate.breaker import (
    Breaker,
    at_time,
    observe_blocked_claim,
    observe_passed_claim,
)
from phase_gate.gate.state import Claims
from phase_gate.values import Value, field
from phase_gate.visible import count
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
    threshold: Threshold
    confidence: Confidence
    #: The points that it takes, of those that can be measured.
    confidence_needed: int
    breaker: Breaker
    #: The text claims completion, with a block or in words.
    is_claim: bool
    vetoes: tuple[str, ...] = ()
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
    def claimed_done(self) -> bool:
        """A block says done, and nothing speaks against it."""
        return self.said.explicit is True and not self.vetoes

    @property
    def met_both(self) -> bool:
        """Both conditions and the confidence are met, whatever the settings let pass beside them."""
        is_heard = self.outcome not in (Outcome.INTERRUPTED, Outcome.HALTED)
        enough = self.found >= self.threshold.value and self.confidence.score >= self.confidence_needed
        return is_heard and self.claimed_done and enough


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
    needed = confidence.needed(rules.threshold)
    # Words alone are a claim, too, unless a block says that it is not done. A block that was not filled in is none.
    is_claim = said.claims_done or (said.explicit is None and count_present(words) > 0)
    requested = said.value("exit", "EXIT_OVERRIDE") == "true"
    sure = said.value("exit", "EXIT_CONFIDENCE") == "HIGH"
    honoured = requested and sure and gate.honour_override and said.explicit is True and not vetoes

    warnings: list[str] = []
    if requested and not honoured:
        warnings.append(_refuse_override(sure=sure, allowed=gate.honour_override, vetoes=vetoes))
    enough = found >= threshold.value or not gate.enabled
    agreed = said.explicit is True or (said.explicit is None and not gate.require_explicit_signal)
    # A Gate 1 that asks for indicators and not for confidence gets what it asks for. Without a block no claim can be
    # sure: a project that does without one does without this, too.
    is_asked = rules.enabled and (not context.asked or not context.asked.isdisjoint(_ASK_CONFIDENCE))
    sure_enough = confidence.score >= needed or not is_asked or said.explicit is None
    if is_claim and not vetoes:
        warnings += _warn(said, found, threshold, enough=enough, agreed=agreed)
    is_complete = is_claim and agreed and not vetoes and (honoured or (enough and sure_enough))

    breaker = at_time(context.breaker, context.at)
    low = context.counted.low
    if context.interrupted:
        outcome, reason = Outcome.INTERRUPTED, context.interrupted
    elif breaker.is_open:
        outcome, reason = Outcome.HALTED, f"the circuit is open since {breaker.opened_at}: {breaker.reason}"
    elif is_complete:
        outcome, reason, low = Outcome.COMPLETE, _praise(said, found, threshold, confidence, honoured=honoured), 0
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
        vetoes=vetoes,
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
    """Return the done signals in a row: "not done" and a measured failure begin them anew."""
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
        seen = said.uncounted[0].text if said.uncounted and not said.blocks else "only words do"
        return [f"{signs}, and no block says done: {seen}"]
    return []


def _refuse_override(*, sure: bool, allowed: bool, vetoes: tuple[str, ...]) -> str:
    if not sure:
        return "EXIT_OVERRIDE needs EXIT_CONFIDENCE: HIGH beside it"
    if not allowed:
        return "EXIT_OVERRIDE is recorded as a request; exit_gate.honour_override is off"
    return f"EXIT_OVERRIDE is not honoured against this: {vetoes[0]}" if vetoes else "EXIT_OVERRIDE needs a done"


def _praise(said: StatusBlocks, found: int, threshold: Threshold, confidence: Confidence, *, honoured: bool) -> str:
    if honoured and found < threshold.value:
        return f"done by its own request (EXIT_OVERRIDE), with {describe_signs(found, threshold)}"
    by = "it says done" if said.explicit else "no block is asked for"
    return f"{by}, {describe_signs(found, threshold)}, confidence {confidence.score}"


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
            return said.uncounted[0].text
        return said.problems[0] if said.problems else "nothing claims completion"
    if vetoes:
        return vetoes[0]
    if warnings:
        return warnings[-1]
    if not said.blocks:
        seen = f": {said.uncounted[0].text}" if said.uncounted else ""
        return f"no status block, so the words alone have to do, and they do not{seen}"
    of = "" if confidence.measurable == 100 else f" of the {confidence.measurable} points that can be measured"
    return f"confidence {confidence.score}{of}, below the {needed} needed"
