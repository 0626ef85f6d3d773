"""The chain of decisions: each step against the next one."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.claims.agent_output import read_claim_text, sentences
from phase_gate.claims.blocks import read_blocks
from phase_gate.claims.confidence import ClaimContext, Sign, Threshold
from phase_gate.claims.decision import Decision, Outcome, decide
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.state import Claims
from phase_gate.values import replace
from phase_gate.workflow.model import Limits
from phase_gate.workflow.sections import ConfidenceRules, ExitGate
from tests.claims.test_blocks import DOYAKEN, EXIT

AT = "2026-01-01T12:00:00Z"
GOOD = f"All tasks are completed.\n\n{EXIT}"
TESTS = Sign(True, name="tests pass")
YES, NO, UNKNOWN = Sign(True), Sign(False), Sign()
MEASURED: dict[str, Any] = {"files": YES, "task_file": YES, "tests": YES}
CONTEXT = ClaimContext(evidence=(TESTS,), **MEASURED, phase="GREEN", iteration=2, at=AT)
UNMEASURED: dict[str, Any] = {"files": UNKNOWN, "task_file": UNKNOWN, "tests": UNKNOWN}
OPEN = Breaker(status="open", opened_at=AT, reason="the same error 5 times")


def judge(
    text: str,
    context: ClaimContext = CONTEXT,
    gate: ExitGate | None = None,
    rules: ConfidenceRules | None = None,
    threshold: int = 2,
) -> Decision:
    return evaluate_output(text, context, gate, rules, threshold)[0]


def evaluate_output(
    text: str,
    context: ClaimContext = CONTEXT,
    gate: ExitGate | None = None,
    rules: ConfidenceRules | None = None,
    threshold: int = 2,
) -> tuple[Decision, Breaker]:
    read = read_claim_text([text])
    settings: dict[str, Any] = {"gate": gate or ExitGate(), "rules": rules or ConfidenceRules()}
    return decide(
        read_blocks(read), sentences(read), replace(context, **settings, threshold=Threshold(value=threshold))
    )


@pytest.mark.parametrize(
    ("counted", "expected"),
    [
        pytest.param(Claims(low=1, low_in=2), 1, id="the-same-iteration"),
        pytest.param(Claims(low=1, low_in=1), 2, id="another-one"),
        pytest.param(Claims(low=0, low_in=2), 1, id="cleared-in-this-one"),
    ],
)
def test_an_iteration_counts_once(counted: Claims, expected: int) -> None:
    decision = judge("All tasks are completed.", replace(CONTEXT, counted=counted, **UNMEASURED))
    assert decision.claims_low == expected


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        pytest.param(EXIT, {}, 3, id="done-again"),
        pytest.param(EXIT, {"untested": "no run"}, 2, id="of-untested-code"),
        pytest.param(EXIT, {"failure": "a test fails"}, 0, id="against-a-failure"),
        pytest.param("EXIT_STATUS: CONTINUE\n", {}, 0, id="not-done"),
        pytest.param("All tasks are completed.", {}, 2, id="words-alone"),
    ],
)
def test_done_signals_in_a_row(text: str, changes: dict[str, Any], expected: int) -> None:
    context = replace(CONTEXT, counted=Claims(done=2, done_in=1))
    decision = judge(text, replace(context, **changes))
    assert decision.claims_done == expected
    assert ("done in a row" in [each.name for each in decision.indicator_rows]) is (expected >= 2)


def test_a_claim_is_never_progress() -> None:
    half_open = Breaker(status="half-open", no_progress=4, reason="4 complete runs without progress")
    for text in (GOOD, "All tasks are completed."):
        for limits in (Limits(), Limits(exit_blocked=0)):
            _, now = evaluate_output(text, replace(CONTEXT, breaker=half_open, limits=limits))
            assert (now.status, now.no_progress) == ("half-open", 4)


@pytest.mark.parametrize(
    ("text", "context", "score", "points"),
    [
        pytest.param("It is done.", CONTEXT, 50, [0, 0, 15, 20, 10, 5], id="no-block"),
        pytest.param(DOYAKEN.replace("true", "false"), CONTEXT, 70, [30, 0, 15, 20, 0, 5], id="not-complete"),
        pytest.param(DOYAKEN, replace(CONTEXT, **UNMEASURED), 50, [30, 20, 0, 0, 0, 0], id="nothing-known"),
        pytest.param("DOYAKEN_STATUS:\n  PHASE_COMPLETE: maybe\n", CONTEXT, 40, [0, 0, 15, 20, 0, 5], id="malformed"),
    ],
)
def test_the_score(text: str, context: ClaimContext, score: int, points: list[int]) -> None:
    decision = judge(text, context)
    assert (decision.confidence, [part.worth if part.met else 0 for part in decision.confidence_parts]) == (
        score,
        points,
    )


@pytest.mark.parametrize(
    ("changes", "threshold", "needed"),
    [
        pytest.param({}, 70, 70, id="all-is-measured"),
        pytest.param({"task_file": UNKNOWN}, 70, 56, id="no-task-file"),
        pytest.param({"files": UNKNOWN}, 70, 60, id="no-git-rounded-up"),
        pytest.param({"files": UNKNOWN, "task_file": UNKNOWN}, 70, 50, id="never-below-block-and-complete"),
        pytest.param({"task_file": NO}, 70, 70, id="a-no-is-measured"),
        pytest.param({"task_file": UNKNOWN}, 40, 40, id="never-above-what-is-set"),
    ],
)
def test_what_cant_be_measured_lowers_what_is_needed(changes: dict[str, Any], threshold: int, needed: int) -> None:
    context = replace(CONTEXT, **changes)
    assert judge(GOOD, context, rules=ConfidenceRules(threshold=threshold)).confidence_needed == needed


@pytest.mark.parametrize(
    ("asked", "outcome"),
    [
        (frozenset[str](), Outcome.CONTINUE),
        (frozenset({"claimed_done", "indicators"}), Outcome.COMPLETE),
        (frozenset({"claimed_done", "confidence"}), Outcome.CONTINUE),
        (frozenset({"claim_passed"}), Outcome.CONTINUE),
    ],
)
def test_confidence_counts_where_gate_1_asks_for_it(asked: frozenset[str], outcome: Outcome) -> None:
    decision = judge(GOOD, replace(CONTEXT, asked=asked), rules=ConfidenceRules(threshold=101))
    assert decision.decision is outcome
