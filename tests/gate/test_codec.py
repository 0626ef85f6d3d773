"""The state as JSON and back, and the state as the fold of its events: nothing is lost either way."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase_gate.codec import to_json
from phase_gate.gate.breaker import Breaker, Status
from phase_gate.gate.events import EVENT_KINDS, apply
from phase_gate.gate.measured import Measured, Waiver
from phase_gate.gate.outcomes import Green, Kind
from phase_gate.gate.parts import DRIVE, PARTS, WORK
from phase_gate.gate.state import (
    NEW_STATE,
    Aim,
    Claims,
    Event,
    Fact,
    Freeze,
    LastClaim,
    Measurement,
    Memory,
    OpenRun,
    Overrides,
    ProofRecord,
    RunSummary,
    Snapshot,
    Snapshots,
    State,
    Streak,
    Trees,
    Undo,
    state_from_json,
    state_to_json,
)
from phase_gate.tasks.model import FailureType
from phase_gate.values import as_dict, replace
from phase_gate.workflow.settings import DriveSettings
from tests.gate.verdicts import verdict
from tests.tasks.support import began, check, failed, reported, taken, task

# --- a state and its document


def through_json(document: Any) -> Any:
    return json.loads(json.dumps(document))


def test_every_field_of_a_state_is_stored() -> None:
    drawn = as_dict(FULL)
    defaults = as_dict(NEW_STATE)
    assert [name for name, value in drawn.items() if value == defaults[name]] == []
    assert set(state_to_json(FULL)) == set(drawn)
    assert state_from_json(through_json(state_to_json(FULL))) == FULL


CLAIM = LastClaim(
    iteration=3,
    indicators=2,
    threshold=2,
    confidence=80,
    confidence_needed=70,
    claimed_done=True,
    met_both=True,
    leniency=("l",),
)
FULL = State(
    task="login",
    workflow="tdd",
    cycle=2,
    phase="GREEN",
    visited=("RED", "GREEN"),
    iteration=3,
    exited=True,
    forced=True,
    streak=Streak(count=2, tree="t1"),
    trees=Trees(last="t1", green="t1"),
    open_runs=(OpenRun(id="r9", phase="GREEN", at="now", tree="t1", nested=True, overlaps=True, rewinds=True),),
    last_run=RunSummary(id="r8", kind="complete", phase="GREEN", at="then", iteration=3, why="w"),
    measurement=Measurement(
        run="r8", iteration=3, tree="t1", measured=Measured(metrics={"tests_total": 5}, notes=("n",))
    ),
    evaluation=verdict(),
    evaluation_is_stale=True,
    spent_signal="old",
    facts=(Fact(name="f", value=False, reason="r", by="b", at="then"),),
    snapshots=Snapshots(
        known="k",
        baseline=Snapshot(inventory="i", outcomes="o", surroundings="linux"),
        first=Snapshot(inventory="i1", outcomes="o1"),
        latest=Snapshot(inventory="i2", outcomes="o2"),
    ),
    aim=Aim(targets="ids", recovered=("a::b",), criteria="c1", criteria_file="criteria.md"),
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
    breaker=Breaker(status=Status.OPEN, no_progress=5, seen=("a", "b"), opened_at="2026-01-01T00:00:00Z"),
    overrides=Overrides(
        waivers=(Waiver(guard="g", findings=("a|b", "c"), reason="r", by="b", at="then", expires="later"),),
        others=({"kind": "skip", "by": "mara"},),
        allow_non_interactive=True,
    ),
    claims=Claims(last=CLAIM, low=1, done=2),
    proof=ProofRecord(tree="git:1", freeze="f", object="o", iteration=3, metrics={"targets_proven": 2}),
    parts={
        "work": task(taken(), began(), reported(), *check(exit_code=1), failed(FailureType.VERIFY_FAILURE, step=2)),
    },
    rules="rules",
    undo=Undo("r9", State(task="login", phase="RED", last_run=RunSummary(id="r1", kind="k", phase="RED", at="t"))),
)


@pytest.mark.parametrize(
    ("document", "error"),
    [
        pytest.param({"colour": "red"}, ValueError, id="a-field-that-nobody-knows"),
        pytest.param({"last_run": {"id": "r"}}, TypeError, id="a-part-of-a-run"),
        pytest.param({"parts": {"colours": {}}}, KeyError, id="a-part-that-nobody-knows"),
        pytest.param({"streak": {"count": "9"}}, TypeError, id="a-text-for-a-number"),
        pytest.param({"breaker": {"status": "ajar"}}, ValueError, id="a-status-that-is-none"),
        pytest.param({"parts": {"work": {"recoveries": "many"}}}, TypeError, id="a-part-with-another-type"),
    ],
)
def test_other_documents_are_refused(document: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        state_from_json(document)


# --- events and the state that they give

RUNS = ("r1", "r2", "r3")
PHASES = ("RED", "GREEN", "REFACTOR")


@st.composite
def events(draw: st.DrawFn) -> Event:
    run, phase = draw(st.sampled_from(RUNS)), draw(st.sampled_from(PHASES))
    # Those of the verification gate follow a table of their own: see test_verification.
    kind = draw(st.sampled_from(sorted(EVENT_KINDS - PARTS[WORK].kinds)))
    run_kind = draw(st.sampled_from([each for each in Kind if each is not Kind.LOST]))
    data = {
        "task": "default",
        "run": draw(st.sampled_from([run, None])) if kind in ("cycle-began", "phase-entered") else run,
        "phase": phase,
        "workflow": "tdd",
        "baseline": draw(st.sampled_from([None, {"inventory": "i", "outcomes": "o"}])),
        "tree": draw(st.sampled_from(["t1", "t2"])),
        "nested": run_kind is Kind.NESTED,
        "rewinds": draw(st.booleans()),
        "rules": "rules",
        "kind": run_kind,
        "green": draw(st.sampled_from(list(Green))),
        "iteration": 1,
        "metrics": {"tests_total": 1},
        "inventory": "i",
        "outcomes": "o",
        "known": "i",
        "targets": draw(st.sampled_from([None, "ids"])),
        "recovered": draw(st.sampled_from([[], ["a::b"]])),
        "frozen": draw(st.sampled_from([None, "f1", "f2"])),
        "red": draw(st.sampled_from([None, "red"])),
        "sources": draw(st.sampled_from([None, "texts"])),
        "freezes": draw(st.booleans()),
        "how": draw(st.sampled_from(["next", "rewind"])),
        "first": draw(st.booleans()),
        "vanished": draw(st.booleans()),
        "guard": "tests-unchanged",
        "findings": ["one", "two"] if kind == "waived" else [],
        "expires": draw(st.sampled_from(["", "later"])),
        "evaluation": to_json(verdict(phase=phase, run=None, can_exit=draw(st.booleans()))),
        "claim": {
            "iteration": 1,
            "phase": phase,
            "gate": "blocked",
            "reason": "so it is",
            "decision": "continue",
            "explicit": draw(st.booleans()),
            "indicators": 1,
            "confidence": 50,
            "claims_low": 1,
            "threshold": 2,
            "confidence_needed": 70,
            "claimed_done": True,
            "met_both": True,
            "claims_done": 0,
        },
        "proof": {"tree": "t1", "freeze": "f1", "object": "o", "iteration": 1, "metrics": {"targets_proven": 1}},
        "remembered": {},
        "premature": draw(st.booleans()),
        "next": draw(st.sampled_from(["GREEN", "DONE"])),
        "name": "fact",
        "value": draw(st.booleans()),
        "reason": "because",
        "by": "dev",
    }
    if kind in PARTS[DRIVE].kinds:
        data |= draw(driven(kind))
    return Event(kind=kind, data=data, at=draw(st.sampled_from(["early", "late"])))


@st.composite
def driven(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """Return what events of a drive have beside the rest, an iteration of its own instead of a number."""
    iteration = {"number": draw(st.integers(1, 3)), "phase": draw(st.sampled_from(PHASES)), "at": "then"}
    began = {"mark": "m"}
    ended = {"how": draw(st.sampled_from(["ended", "waits"])), "counts": draw(st.booleans()), "idle": 1}
    return {
        "id": draw(st.sampled_from(["d1", "d2"])),
        "settings": to_json(DriveSettings()),
        "goal": draw(st.sampled_from([None, "object"])),
        "resumed": draw(st.booleans()),
        "iteration": {**iteration, **(began if kind == "iteration-started" else ended)},
        "outcome": draw(st.sampled_from(["done", "budget"])),
    }


def fold(happened: Iterable[Event], state: State = NEW_STATE) -> State:
    return reduce(apply, happened, state)


@settings(max_examples=50, deadline=None)
@given(happened=st.lists(events(), max_size=20), cut=st.integers(0, 20))
def test_replaying_gives_the_same_state_through_any_checkpoint(happened: list[Event], cut: int) -> None:
    whole = fold(happened)
    checkpoint = state_from_json(through_json(state_to_json(fold(happened[:cut]))))
    replayed = fold([replace(event, data=through_json(event.data)) for event in happened[cut:]], checkpoint)
    assert through_json(state_to_json(replayed)) == through_json(state_to_json(whole))
    assert replayed == whole


@pytest.mark.parametrize("kind", ["signal-refused", "signal-withdrawn", "signal-spent"])
def test_a_signal_file_that_is_done_with_is_known(kind: str) -> None:
    assert apply(FULL, Event(kind=kind, data={"file": "new"})).spent_signal == "new"
    assert apply(FULL, Event(kind=kind, data={"file": ""})).spent_signal == "old", "given without a file"


@pytest.mark.parametrize("kind", ["rewound", "something-newer"])
def test_kinds_that_are_kept_for_history_change_nothing(kind: str) -> None:
    assert apply(FULL, Event(kind=kind, data={})) is FULL
