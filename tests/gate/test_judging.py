"""Gate 1: a guard under waivers, and the one that no workflow can leave out."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from phase_gate.config.workflow_files import load_shipped_workflow
from phase_gate.gate.judging import evaluate, evaluate_gate_1
from phase_gate.gate.measured import Finding, Measured, Waiver, waiver_to_json
from phase_gate.gate.state import NEW_STATE, Case
from phase_gate.gate.verdict import GuardResult, evaluation_to_json
from phase_gate.values import replace
from tests.gate import verdicts

NOW = "2026-07-01T12:00:00.000Z"
LATER = "2026-07-01T12:00:00.001Z"

TDD = load_shipped_workflow("tdd")
GREEN = next(phase for phase in TDD.phases if phase.name == "GREEN")
METRICS = {**verdicts.GREEN, "consecutive_green_runs": 2}


def altered(name: str, proof: str = "p") -> Finding:
    return Finding(slug="tests-unchanged", tier="hard", id=f"t.py::{name}", file="t.py", detail="altered", proof=proof)


def waive(*findings: Finding, guard: str = "tests-unchanged", expires: str = "") -> Waiver:
    keys = tuple(finding.key for finding in findings)
    return Waiver(guard=guard, findings=keys, reason="because", by="dev", at=NOW, expires=expires)


def judge(present: Iterable[Finding], waivers: Iterable[Waiver], *, unmet: bool = True) -> tuple[bool, GuardResult]:
    """Return whether Gate 1 is open, and how `tests-unchanged` was judged."""
    metrics = {**METRICS, "tests_altered": 1 if unmet else 0}
    case = Case(state=replace(NEW_STATE, waivers=tuple(waivers)), workflow=TDD, phase=GREEN, at=NOW)
    gate = evaluate_gate_1(case, metrics, tuple(present))
    return gate.is_open, next(guard for guard in gate.guards if guard.name == "tests-unchanged")


ONE, TWO = altered("test_one"), altered("test_two")


@pytest.mark.parametrize(
    ("present", "waivers", "expected"),
    [
        pytest.param([ONE], [waive(ONE)], True, id="exactly-what-was-there"),
        pytest.param([ONE, TWO], [waive(ONE)], False, id="one-more-finding"),
        pytest.param([altered("test_one", "other")], [waive(ONE)], False, id="the-same-test-altered-again"),
        pytest.param([ONE], [waive(ONE, guard="tests-kept")], False, id="a-waiver-of-another-guard"),
        pytest.param([ONE], [], False, id="no-waiver"),
        pytest.param([], [waive(ONE)], False, id="unmet-and-nothing-named"),
    ],
)
def test_a_guard_is_waived(present: list[Finding], waivers: list[Waiver], expected: bool) -> None:
    holds, guard = judge(present, waivers)
    assert (holds, guard.waived, guard.passes) == (expected, expected, expected)
    assert guard.met is False, "it is still not met, and says so"


@pytest.mark.parametrize(("at", "is_listed"), [(NOW, True), (LATER, False)], ids=["in-force", "expired"])
def test_a_verdict_lists_what_is_in_force(at: str, is_listed: bool) -> None:
    given = waive(ONE, expires=LATER)
    state = replace(NEW_STATE, waivers=(given,))
    measured = Measured(metrics={**METRICS, "tests_altered": 1}, findings=(ONE,))
    verdict = evaluate(Case(state=state, workflow=TDD, phase=GREEN, at=at), measured, iteration=1, run="r")
    document = evaluation_to_json(verdict)
    assert document["overrides"] == ([waiver_to_json(given)] if is_listed else [])
    assert document["gate_1"]["satisfied"] is is_listed
    assert waiver_to_json(given)["kind"] == "waive"


def test_changed_rules_close_a_gate_that_leaves_their_guard_out() -> None:
    phase = replace(GREEN, gate_1=replace(GREEN.gate_1, guards=()))
    case = Case(state=NEW_STATE, workflow=replace(TDD, phases=(phase,)), phase=phase, at=NOW)
    assert [evaluate_gate_1(case, {**METRICS, "rules_changed": each}, ()).is_open for each in (0, 1)] == [True, False]
