"""What a claim of completion is worth: the chain of decisions, from an interrupt to "go on".

Pure. What was measured beats what was said, and doubt blocks. A claim is never progress, and never a signal by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from phase_gate import exit_codes
from phase_gate.claims.blocks import Said
from phase_gate.claims.confidence import (
    DEFAULT_PATTERNS,
    Confidence,
    Indicator,
    Measures,
    count_present,
    find_patterns,
    score_confidence,
)
from phase_gate.claims.fields import BlockKind
from phase_gate.codec import spell_out
from phase_gate.gate.breaker import (
    Breaker,
    at_time,
    observe_blocked_claim,
    observe_passed_claim,
)
from phase_gate.gate.runs import count
from phase_gate.gate.state import Event, State
from phase_gate.values import Value, field
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


class ClaimContext(Value):
    """What is known beside the words."""

    #: Somebody cut the last run off: their wish comes first.
    interrupted: str = ""
    breaker: Breaker = field(default_factory=Breaker)
    limits: Limits = field(default_factory=Limits)
    #: What was measured and speaks against it.
    failure: str = ""
    #: Signs from measurements, those that are switched on.
    evidence: tuple[Indicator, ...] = ()
    measures: Measures = field(default_factory=Measures)
    #: What the last complete run measured; empty if there is none.
    metrics: Metrics = field(default_factory=dict)
    phase: str = ""
    iteration: int = 0
    #: Claims with little behind them, and done signals in a row, before this one.
    claims_low: int = 0
    claims_done: int = 0
    at: str = ""


class Decision(Value):
    """The answer to one claim, with every part of it."""

    outcome: Outcome
    reason: str
    said: Said
    indicators: tuple[Indicator, ...]
    threshold: Threshold
    confidence: Confidence
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


def decide(
    said: Said, prose: str, context: ClaimContext, gate: ExitGate, rules: ConfidenceRules, threshold: Threshold
) -> Decision:
    """Return the decision about one claim.

    :param prose: the agent's own words, one sentence a line.
    """
    words = find_patterns(DEFAULT_PATTERNS if gate.patterns is None else gate.patterns, prose)
    indicators = (*words, *context.evidence)
    found = count_present(indicators)
    confidence = score_confidence(said, prose, context.measures, rules)
    # Words alone are a claim, too, unless a block says that it is not done. A block that nobody filled in is none.
    is_claim = said.claims_done or (said.explicit is None and count_present(words) > 0)
    vetoes = tuple(_find_vetoes(said, context))
    requested = said.value("exit", "EXIT_OVERRIDE") == "true"
    sure = said.value("exit", "EXIT_CONFIDENCE") == "HIGH"
    honoured = requested and sure and gate.honour_override and said.explicit is True and not vetoes

    warnings: list[str] = []
    if requested and not honoured:
        warnings.append(_refuse_override(sure=sure, allowed=gate.honour_override, vetoes=vetoes))
    enough = found >= threshold.value or not gate.enabled
    agreed = said.explicit is True or (said.explicit is None and not gate.require_explicit_signal)
    # Without a block nobody can be sure; whoever does without one does without this, too.
    sure_enough = confidence.score >= rules.threshold or not rules.enabled or said.explicit is None
    if is_claim and not vetoes:
        warnings += _warn(said, found, threshold, enough=enough, agreed=agreed)
    is_complete = is_claim and agreed and not vetoes and (honoured or (enough and sure_enough))

    breaker = at_time(context.breaker, context.at)
    low = context.claims_low
    done_in_a_row = {True: context.claims_done + 1, False: 0, None: context.claims_done}[said.explicit]
    if context.interrupted:
        outcome, reason = Outcome.INTERRUPTED, context.interrupted
    elif breaker.is_open:
        outcome, reason = Outcome.HALTED, f"the circuit is open since {breaker.opened_at}: {breaker.reason}"
    elif is_complete:
        outcome, reason, low = Outcome.COMPLETE, _praise(said, found, threshold, confidence, honoured=honoured), 0
        breaker = observe_passed_claim(breaker)
    else:
        outcome, reason = Outcome.CONTINUE, _refuse(said, is_claim, vetoes, warnings, confidence, rules)
        if is_claim:
            low += confidence.score < rules.low
            breaker = observe_blocked_claim(breaker, context.limits, at=context.at)
        if breaker.is_open:
            outcome, reason = Outcome.HALTED, f"the circuit opens: {breaker.reason}; {reason}"
        elif is_claim and low >= rules.repeated:
            outcome = Outcome.ASK
            reason = f"{count(low, 'claim')} with a confidence under {rules.low}: a person has to look; {reason}"
    return Decision(
        outcome=outcome,
        reason=reason,
        said=said,
        indicators=indicators,
        threshold=threshold,
        confidence=confidence,
        breaker=breaker,
        is_claim=is_claim,
        vetoes=vetoes,
        contradictions=tuple(_compare(said, context)),
        warnings=tuple(warnings),
        override_requested=requested,
        override_honoured=honoured,
        claims_low=low,
        claims_done=done_in_a_row,
    )


def _find_vetoes(said: Said, context: ClaimContext) -> list[str]:
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
    return vetoes


def describe_signs(found: int, threshold: Threshold) -> str:
    return f"{count(found, 'indicator')} ({threshold.value} needed)"


def _warn(said: Said, found: int, threshold: Threshold, *, enough: bool, agreed: bool) -> list[str]:
    """Say so where only one of the two conditions holds."""
    signs = describe_signs(found, threshold)
    if agreed and not enough:
        return [f"it says done, with {signs}"]
    if enough and not agreed:
        return [f"{signs}, and no block says done: only words do"]
    return []


def _refuse_override(*, sure: bool, allowed: bool, vetoes: tuple[str, ...]) -> str:
    if not sure:
        return "EXIT_OVERRIDE needs EXIT_CONFIDENCE: HIGH beside it"
    if not allowed:
        return "EXIT_OVERRIDE is recorded as a request; exit_gate.honour_override is off"
    return f"EXIT_OVERRIDE is not honoured against this: {vetoes[0]}" if vetoes else "EXIT_OVERRIDE needs a done"


def _praise(said: Said, found: int, threshold: Threshold, confidence: Confidence, *, honoured: bool) -> str:
    if honoured and found < threshold.value:
        return f"done by its own request (EXIT_OVERRIDE), with {describe_signs(found, threshold)}"
    by = "it says done" if said.explicit else "no block is asked for"
    return f"{by}, {describe_signs(found, threshold)}, confidence {confidence.score}"


def _refuse(
    said: Said,
    is_claim: bool,
    vetoes: tuple[str, ...],
    warnings: list[str],
    confidence: Confidence,
    rules: ConfidenceRules,
) -> str:
    if not is_claim:
        if said.explicit is False:
            left = f": {said.remaining[:80]}" if said.remaining else ""
            return f"it says itself that it is not done{left}"
        return said.problems[0] if said.problems else "nothing claims completion"
    if vetoes:
        return vetoes[0]
    if warnings:
        return warnings[-1]
    if not said.blocks:
        return "no status block, so the words alone have to do, and they do not"
    return f"the confidence is {confidence.score}, and {rules.threshold} is enough"


def _compare(said: Said, context: ClaimContext) -> list[str]:
    """Return where numbers that were claimed are not those that were measured."""
    rows = []
    for name in ("tests_total", "tests_passing", "tests_failing"):
        claimed, measured = said.value("prp", name.upper()), context.metrics.get(name)
        if claimed not in ("", "null") and measured is not None and int(claimed) != measured:
            rows.append(f"{name.upper()}: {int(claimed)} was claimed, {measured} was measured")
    passing_words: tuple[tuple[BlockKind, str], ...] = (("ralph", "PASSING"), ("doyaken", "pass"))
    for kind, passing in passing_words:
        if said.value(kind, "TESTS_STATUS") == passing and context.measures.tests_pass is not True:
            word = "is not known" if context.measures.tests_pass is None else "is not so"
            rows.append(f"TESTS_STATUS: {passing} was claimed, and it {word}: {context.measures.tests_reason}")
        claimed, changed = said.value(kind, "FILES_MODIFIED"), context.measures.files_changed
        if claimed and changed is not None and int(claimed) != changed:
            rows.append(f"FILES_MODIFIED: {int(claimed)} was claimed, {changed} was measured")
    if said.value("prp", "GATE_1") == "true" and context.measures.tests_pass is False:
        rows.append(f"GATE_1: true was claimed, and Gate 1 is closed: {context.measures.tests_reason}")
    return rows


# --- a decision about a claim as it is recorded and printed: every part of it


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
        "confidence_parts": [
            {"name": part.name, "worth": part.worth, "points": part.points, "met": part.met, "reason": part.reason}
            for part in decision.confidence.parts
        ],
        "vetoes": list(decision.vetoes),
        "contradictions": list(decision.contradictions),
        "warnings": list(decision.warnings),
        "problems": list(said.problems),
        "notes": list(said.notes),
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
    decision: Decision, state: State, *, kind: str | None, by: str, tree: str, remembered: Mapping[str, str]
) -> Event:
    """Return what is recorded about a claim: the decision with all its parts, and what it is about."""
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
    return Event(
        kind="claimed", data={"claim": claim, "breaker": breaker, "tree": tree, "remembered": dict(remembered)}
    )
