"""What follows from an iteration: each step of the chain against those behind it."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.claims.decision import Outcome as ClaimOutcome
from phase_gate.drive.chain import EXIT_CODES, Outcome, Seen, decide
from phase_gate.values import replace
from phase_gate.workflow.settings import DriveBudget

#: What makes each step fit, in the order of the chain.
STEPS: dict[Outcome, dict[str, Any]] = {
    Outcome.INTERRUPTED: {"is_interrupted": True},
    Outcome.HALTED: {"status": "halted"},
    Outcome.DONE: {"is_done": True},
    Outcome.PERSON: {"trouble": "Not logged in"},
    Outcome.STUCK: {"idle": 5},
    Outcome.BUDGET: {"iterations": 30},
}
NOTHING = Seen(status="closed", reason="1 of 2 tests fails", phase="GREEN")


@pytest.mark.parametrize("outcome", STEPS)
def test_a_step_comes_before_all_behind_it(outcome: Outcome) -> None:
    names = list(STEPS)
    behind = {key: value for name in reversed(names[names.index(outcome) :]) for key, value in STEPS[name].items()}
    assert decide(replace(NOTHING, **behind)).outcome is outcome
    assert decide(replace(NOTHING, **STEPS[outcome])).outcome is outcome


def test_nothing_of_it_goes_on() -> None:
    decision = decide(NOTHING)
    assert (decision.outcome, decision.ends, decision.reason) == (Outcome.GO_ON, False, "1 of 2 tests fails")


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        pytest.param(Outcome.INTERRUPTED, 130, id="interrupted"),
        pytest.param(Outcome.HALTED, 12, id="circuit-open"),
        pytest.param(Outcome.STUCK, 12, id="stuck"),
        pytest.param(Outcome.DONE, 0, id="done"),
        pytest.param(Outcome.PERSON, 13, id="a-person-is-awaited"),
        pytest.param(Outcome.BUDGET, 10, id="budget-spent"),
    ],
)
def test_exit_codes(outcome: Outcome, code: int) -> None:
    assert EXIT_CODES[outcome] == code
    assert (code == 0) is (outcome is Outcome.DONE), "0 means done, and nothing else does"


def test_every_end_has_a_code() -> None:
    assert EXIT_CODES.keys() == set(Outcome) - {Outcome.GO_ON}


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        pytest.param({"gate_1_open": True}, Outcome.PERSON, id="gate-1-open-asks"),
        pytest.param({"gate_1_open": True, "signal": "agent"}, Outcome.GO_ON, id="an-agent-may-answer-next-time"),
        pytest.param({"gate_1_open": True, "has_exited": True}, Outcome.GO_ON, id="an-exit-waits-for-nobody"),
        pytest.param({"status": "needs-person"}, Outcome.PERSON, id="blocked"),
        pytest.param({"status": "stuck"}, Outcome.HALTED, id="a-stuck-pipeline"),
        pytest.param({"claim": ClaimOutcome.ASK}, Outcome.PERSON, id="low-claims"),
        pytest.param({"claim": ClaimOutcome.COMPLETE}, Outcome.GO_ON, id="a-confident-claim-alone"),
        pytest.param({"claim": ClaimOutcome.CONTINUE}, Outcome.GO_ON, id="a-claim-that-is-not-true"),
        pytest.param({"outside": "waived was recorded", "is_done": True}, Outcome.PERSON, id="done-from-outside"),
        pytest.param({"idle": 4}, Outcome.GO_ON, id="idle-for-a-while"),
        pytest.param({"idle": 5, "has_exited": True}, Outcome.GO_ON, id="idle-and-yet-exited"),
        pytest.param({"seconds": 14400.0}, Outcome.BUDGET, id="time-spent"),
        pytest.param({"iterations": 29, "seconds": 14399.0}, Outcome.GO_ON, id="something-left"),
        pytest.param({"iterations": 2, "budget": DriveBudget(iterations=2)}, Outcome.BUDGET, id="a-small-budget"),
        pytest.param({"iterations": 30, "is_done": True}, Outcome.DONE, id="done-in-the-last-iteration"),
    ],
)
def test_single_steps(seen: dict[str, Any], outcome: Outcome) -> None:
    assert decide(replace(NOTHING, **seen)).outcome is outcome


def test_reasons_name_what_a_person_has_to_know() -> None:
    assert "Gate 1 of GREEN is open" in decide(replace(NOTHING, gate_1_open=True)).reason
    assert "Not logged in" in decide(replace(NOTHING, trouble="Not logged in")).reason
    spent = decide(replace(NOTHING, iterations=30)).reason
    assert spent == "the budget of 30 iterations is spent; 1 of 2 tests fails"
    assert "4h" in decide(replace(NOTHING, seconds=14400.0)).reason
    assert "5 iterations" in decide(replace(NOTHING, idle=5)).reason
