"""May an agent stop? One table: where the task stands, what the agent says of itself, what it is told."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.agents.stop import Stop, decide_stop, decide_stop_in_doubt
from phase_gate.gate.standing import Standing
from phase_gate.gate.state import State
from phase_gate.workflow.settings import Until

CLOSED = Standing(
    is_open=False,
    status="closed",
    reason="1 of 2 tests fails",
    next_command="pytest --phase=green",
    next_hint="mend it",
)
HOLDS = Standing(
    is_open=True, status="open", reason="both gates are open: GREEN has exited", next_command="pytest --phase=refactor"
)
HALTED = Standing(
    is_open=False, status="halted", reason="the circuit is open", next_command="phase-gate breaker status"
)
STUCK = Standing(is_open=False, status="stuck", reason="stuck; a person is needed", next_command="phase-gate recover")


def judged(status: str, phase: str = "GREEN") -> dict[str, Any]:
    return {
        "phase": phase,
        "status": status,
        "reason": "needs a person (blocked): no access",
        "next_command": "pytest --phase=green",
        "next_hint": "once a person has helped",
    }


GREEN = State(phase="GREEN", cycle=1)
STALE = State(phase="GREEN", evaluation=judged("needs-person"), evaluation_is_stale=True)
ELSEWHERE = State(phase="GREEN", evaluation=judged("needs-person", "RED"))
UNSIGNED = State(phase="GREEN", evaluation=judged("waiting"))
BLOCKED = State(phase="GREEN", cycle=1, evaluation=judged("needs-person"))


@pytest.mark.parametrize(
    ("state", "standing", "stop", "until", "may_end", "expected"),
    [
        pytest.param(State(), CLOSED, Stop(), "cycle", False, "allow", id="no-cycle-is-nobody's-business"),
        pytest.param(State(phase="DONE"), CLOSED, Stop(), "cycle", False, "allow", id="the-cycle-is-done"),
        pytest.param(GREEN, CLOSED, Stop(), "cycle", False, "block", id="a-closed-gate-blocks"),
        pytest.param(GREEN, CLOSED, Stop(again=True), "cycle", False, "block", id="and-blocks-again"),
        pytest.param(GREEN, CLOSED, Stop(), "phase", True, "block", id="closed-is-closed-for-a-phase-too"),
        pytest.param(GREEN, HOLDS, Stop(), "cycle", True, "allow", id="exited-where-a-cycle-may-end"),
        pytest.param(GREEN, HOLDS, Stop(), "cycle", False, "block", id="exited-in-the-middle-of-a-cycle"),
        pytest.param(GREEN, HOLDS, Stop(), "phase", False, "allow", id="until-phase-the-exit-is-enough"),
        pytest.param(GREEN, HALTED, Stop(), "cycle", False, "person", id="an-open-circuit-needs-a-person"),
        pytest.param(GREEN, STUCK, Stop(), "cycle", False, "person", id="a-stuck-pipeline-needs-a-person"),
        pytest.param(BLOCKED, CLOSED, Stop(), "cycle", False, "person", id="blocked-needs-a-person"),
        pytest.param(STALE, CLOSED, Stop(), "cycle", False, "block", id="a-run-came-after-blocked"),
        pytest.param(ELSEWHERE, CLOSED, Stop(), "cycle", False, "block", id="blocked-was-said-in-another-phase"),
        pytest.param(UNSIGNED, CLOSED, Stop(), "cycle", False, "block", id="no-signal"),
        pytest.param(GREEN, CLOSED, Stop(sent_on=3, limit=5), "cycle", False, "block", id="two-loops-are-left"),
        pytest.param(GREEN, CLOSED, Stop(sent_on=4, limit=5), "cycle", False, "person", id="its-own-limit-is-near"),
        pytest.param(GREEN, CLOSED, Stop(sent_on=9), "cycle", False, "block", id="without-a-limit-none-is-near"),
        pytest.param(GREEN, CLOSED, Stop(is_broken_off=True), "cycle", False, "allow", id="a-person-interrupted-it"),
        pytest.param(GREEN, CLOSED, Stop(is_helper=True), "cycle", False, "allow", id="only-a-helper-ends"),
    ],
)
def test_stop(state: State, standing: Standing, stop: Stop, until: Until, may_end: bool, expected: str) -> None:
    answer = decide_stop(state, standing, stop, until=until, may_end_cycle=may_end)
    assert ("person" if answer.needs_person else answer.verdict) == expected
    if expected == "person":
        assert answer.verdict == "allow"
        assert answer.text.count("person") == 1 + answer.next_hint.count("person")
    assert bool(answer.text) == (expected in ("person", "block"))
    if expected == "block":
        assert (answer.next_command, answer.next_hint) == (standing.next_command, standing.next_hint)
        assert "go on: " not in answer.text


@pytest.mark.parametrize(
    ("stop", "verdict", "needs_person"),
    [
        pytest.param(Stop(), "block", False, id="closed-with-the-way-to-repair"),
        pytest.param(Stop(again=True), "allow", True, id="said-once-then-a-person"),
        pytest.param(Stop(sent_on=4, limit=5), "allow", True, id="near-its-limit"),
        pytest.param(Stop(is_helper=True), "allow", False, id="a-helper"),
        pytest.param(Stop(is_broken_off=True), "allow", False, id="interrupted"),
    ],
)
def test_stop_with_a_state_that_nobody_can_trust(stop: Stop, verdict: str, needs_person: bool) -> None:
    answer = decide_stop_in_doubt("state.json is damaged", "phase-gate audit", stop)
    assert (answer.verdict, answer.needs_person) == (verdict, needs_person)
    if answer.text:
        assert "state.json is damaged" in answer.text
        assert answer.text.endswith("\nNext: phase-gate audit")
