"""The state as JSON and back: nothing is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phase_gate.gate.breaker import Breaker
from phase_gate.gate.measured import Measured, Waiver
from phase_gate.gate.state import (
    NEW_STATE,
    Claims,
    Freeze,
    Measurement,
    Memory,
    ProofRecord,
    Run,
    Snapshot,
    State,
    state_from_json,
    state_to_json,
)
from phase_gate.gate.verdict import Fact
from phase_gate.tasks.work import FailureType
from phase_gate.values import as_dict
from tests.gate.verdicts import verdict
from tests.tasks.support import began, check, failed, reported, taken, task


def through_json(document: Any) -> Any:
    return json.loads(json.dumps(document))


def test_every_field_of_a_state_is_stored() -> None:
    drawn = as_dict(FULL)
    defaults = as_dict(NEW_STATE)
    assert [name for name, value in drawn.items() if value == defaults[name]] == []
    assert set(state_to_json(FULL)) == set(drawn)
    assert state_from_json(through_json(state_to_json(FULL))) == FULL


FULL = State(
    task="login",
    workflow="tdd",
    cycle=2,
    phase="GREEN",
    visited=("RED", "GREEN"),
    iteration=3,
    exited=True,
    forced=True,
    streak=2,
    streak_tree="t1",
    last_tree="t1",
    green_tree="t1",
    open_runs=(Run(id="r9", phase="GREEN", at="now", tree="t1", nested=True, overlaps=True, rewinds=True),),
    last_run=Run(id="r8", kind="complete", phase="GREEN", at="then", iteration=3, why="w"),
    measurement=Measurement(
        run="r8", iteration=3, tree="t1", measured=Measured(metrics={"tests_total": 5}, notes=("n",))
    ),
    evaluation=verdict(),
    evaluation_is_stale=True,
    spent_signal="old",
    facts=(Fact(name="f", value=False, reason="r", by="b", at="then"),),
    known_tests="k",
    baseline=Snapshot(inventory="i", outcomes="o", surroundings="linux"),
    first_snapshot=Snapshot(inventory="i1", outcomes="o1"),
    latest_snapshot=Snapshot(inventory="i2", outcomes="o2"),
    targets="ids",
    recovered=("a::b",),
    criteria="c1",
    criteria_file="criteria.md",
    signals_premature=1,
    freeze=Freeze(current="f", upcoming="f2", withdrawn="w", red_bodies="r", red_sources="s", red_exited=True),
    outputs="o",
    beside=("built.so",),
    reports=("report.xml",),
    vanished=True,
    stuck="no recovery is left",
    memory=Memory(
        cycle={"documents": "d1"},
        phase={"quality": "q1"},
        run={"iteration:git": "g1"},
        exit={"quality": "d3"},
    ),
    breaker=Breaker(status="open", no_progress=5, seen=("a", "b"), opened_at="2026-01-01T00:00:00Z"),
    waivers=(Waiver(guard="g", findings=("a|b", "c"), reason="r", by="b", at="then", expires="later"),),
    overrides=({"kind": "skip", "by": "mara"},),
    allow_non_interactive=True,
    claims=Claims(iteration=3, metrics={"confidence": 80, "claimed_done": True}, leniency=("l",), low=1, done=2),
    proof=ProofRecord(tree="git:1", freeze="f", object="o", iteration=3, metrics={"targets_proven": 2}),
    parts={
        "work": task(taken(), began(), reported(), *check(exit_code=1), failed(FailureType.VERIFY_FAILURE, step=2)),
    },
    rules="rules",
)


@pytest.mark.parametrize(
    ("document", "error"),
    [
        pytest.param({"colour": "red"}, ValueError, id="a-field-that-nobody-knows"),
        pytest.param({"last_run": {"id": "r"}}, TypeError, id="a-part-of-a-run"),
        pytest.param({"parts": {"colours": {}}}, KeyError, id="a-part-that-nobody-knows"),
        pytest.param({"streak": "9"}, TypeError, id="a-text-for-a-number"),
        pytest.param({"breaker": {"status": "ajar"}}, ValueError, id="a-status-that-is-none"),
        pytest.param({"parts": {"work": {"recoveries": "many"}}}, TypeError, id="a-part-with-another-type"),
    ],
)
def test_other_documents_are_refused(document: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        state_from_json(document)
