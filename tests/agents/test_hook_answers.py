"""May an agent stop? One table: where the task stands, what the agent says of itself, what it is told."""

from __future__ import annotations

import pytest

from phase_gate.agents.hook_answers import PATIENCE, Blocks, Stop, decide_stop, limit_blocks
from phase_gate.gate.freshness import CurrentStatus
from phase_gate.gate.measured import Finding
from phase_gate.gate.state import State
from phase_gate.values import replace
from phase_gate.workflow.sections import Until
from tests.gate.verdicts import verdict

CLOSED = CurrentStatus(
    is_open=False,
    status="closed",
    reason="1 of 2 tests fails",
    next_command="pytest --phase=green",
    next_hint="mend it",
)
HOLDS = CurrentStatus(
    is_open=True, status="open", reason="both gates are open: GREEN has exited", next_command="pytest --phase=refactor"
)
HALTED = CurrentStatus(is_open=False, status="halted", reason="the circuit is open", next_command="phase-gate status")
STUCK = CurrentStatus(is_open=False, status="stuck", reason="a person is needed", next_command="phase-gate recover")


CALLED = CurrentStatus(
    is_open=False,
    status="needs-person",
    reason="needs a person (blocked): no access",
    next_command="pytest --phase=green",
    next_hint="once this is settled",
)
RUNNING = CurrentStatus(is_open=False, status="running", reason="a run is in progress", next_hint="wait for it to end")

GREEN = State(phase="GREEN", cycle=1)


@pytest.mark.parametrize(
    ("state", "standing", "stop", "until", "may_end", "expected"),
    [
        pytest.param(State(), CLOSED, Stop(), "cycle", False, "allow", id="no-cycle-is-nobody's-business"),
        pytest.param(State(phase="DONE"), CLOSED, Stop(), "cycle", False, "allow", id="the-cycle-is-done"),
        pytest.param(GREEN, CLOSED, Stop(), "cycle", False, "block", id="a-closed-gate-blocks"),
        pytest.param(GREEN, RUNNING, Stop(), "cycle", False, "block", id="a-run-is-going-on"),
        pytest.param(GREEN, CLOSED, Stop(), "phase", True, "block", id="closed-is-closed-for-a-phase-too"),
        pytest.param(GREEN, HOLDS, Stop(), "cycle", True, "allow", id="exited-where-a-cycle-may-end"),
        pytest.param(GREEN, HOLDS, Stop(), "cycle", False, "block", id="exited-in-the-middle-of-a-cycle"),
        pytest.param(GREEN, HOLDS, Stop(), "phase", False, "allow", id="until-phase-the-exit-is-enough"),
        pytest.param(GREEN, HALTED, Stop(), "cycle", False, "person", id="an-open-circuit-needs-a-person"),
        pytest.param(GREEN, STUCK, Stop(), "cycle", False, "person", id="a-stuck-pipeline-needs-a-person"),
        pytest.param(GREEN, CALLED, Stop(), "cycle", False, "person", id="blocked-needs-a-person"),
        pytest.param(GREEN, CLOSED, Stop(is_broken_off=True), "cycle", False, "allow", id="a-person-interrupted-it"),
        pytest.param(GREEN, CLOSED, Stop(is_helper=True), "cycle", False, "allow", id="only-a-helper-ends"),
    ],
)
def test_stop(state: State, standing: CurrentStatus, stop: Stop, until: Until, may_end: bool, expected: str) -> None:
    answer = decide_stop(state, standing, stop, until=until, may_end_cycle=may_end)
    assert ("person" if answer.needs_person else answer.verdict) == expected
    if expected == "person":
        assert answer.verdict == "allow"
        assert answer.text.count("person") == 1
    assert bool(answer.text) == (expected in ("person", "block"))
    if answer.text:
        said = {"status": answer.status, "reason": answer.reason}
        said |= {"next_command": answer.next_command, "next_hint": answer.next_hint}
        assert said == standing.advice, "it says what every command says, and nothing of its own"
        assert answer.text.endswith(f"\nNext: {standing.next_step}")
        assert answer.text.count(standing.reason) == 1
        assert answer.text.count("not done: ") <= 1


@pytest.mark.parametrize(
    ("cycle", "standing", "expected"),
    [
        pytest.param(1, CLOSED, ("block", True), id="closed"),
        pytest.param(1, HOLDS, ("allow", True), id="open"),
        pytest.param(1, HALTED, ("allow", True), id="halted"),
        pytest.param(2, HOLDS, ("allow", False), id="in-the-cycle-before"),
    ],
)
def test_what_red_did_to_older_tests_is_said(cycle: int, standing: CurrentStatus, expected: tuple[str, bool]) -> None:
    findings = (
        Finding(slug="tests-gone", tier="advisory", detail="", id="test_a.py::test_old"),
        Finding(slug="support-changed", tier="advisory", detail="", file="conftest.py", line=5),
        Finding(slug="flaky", tier="advisory", detail="", id="test_a.py::test_other"),
    )
    state = replace(GREEN, cycle=cycle, evaluation=verdict(cycle=1, findings=findings))
    answer = decide_stop(state, standing, Stop(), until="cycle", may_end_cycle=True)
    said = "RED removed older tests, or changed what they use: test_a.py::test_old, conftest.py:5"
    assert (answer.verdict, said in answer.text) == expected


# --- it ends


@pytest.mark.parametrize(
    ("blocks", "needs_person"),
    [
        pytest.param(Blocks(in_row=3, untested=3), False, id="as-often-as-is-allowed"),
        pytest.param(Blocks(in_row=4, untested=4), True, id="once-more"),
        pytest.param(Blocks(in_row=1, untested=3 * PATIENCE), False, id="it-tries-something-each-time"),
        pytest.param(Blocks(in_row=1, untested=3 * PATIENCE + 1), True, id="and-tests-nothing-new"),
        pytest.param(None, True, id="nobody-can-count"),
    ],
)
def test_it_holds_an_agent_up_so_often_and_no_more(blocks: Blocks | None, needs_person: bool) -> None:
    answer = decide_stop(GREEN, CLOSED, Stop(), until="cycle", may_end_cycle=False)
    limited = limit_blocks(answer, blocks, most=3)
    assert (limited.verdict, limited.needs_person) == (("allow", True) if needs_person else ("block", False))
    assert ("a person is needed" in limited.text) is needs_person
    assert limited.text.splitlines()[-1] == answer.text.splitlines()[-1], "with what to type"
    called = decide_stop(GREEN, CALLED, Stop(), until="cycle", may_end_cycle=False)
    assert limit_blocks(called, blocks, most=3) is called, "one that may stop is not limited"
