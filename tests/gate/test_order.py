"""The phase order: every sentence of the design on which phase may follow which."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.config.workflow_files import load_shipped_workflow
from phase_gate.errors import PhaseOrderError, UsageError
from phase_gate.gate.events import apply
from phase_gate.gate.measured import Waiver
from phase_gate.gate.order import Entry, How, decide_entry, entry_events
from phase_gate.gate.state import NEW_STATE, Event, Snapshot, State
from phase_gate.gate.verdict import Evaluation
from phase_gate.values import replace
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import DONE
from tests.gate import verdicts
from tests.tables import named

TDD = load_shipped_workflow("tdd")
#: A workflow that allows neither to begin anywhere nor to go back by option.
STRICT = replace(TDD, name="strict", start="first")


def at(phase: str, *, exited: bool = False, **fields: Any) -> State:
    return replace(NEW_STATE, phase=phase, exited=exited, cycle=1, workflow="tdd", visited=(phase,), **fields)


def verdict(phase: str, reason: str = "1 of 2 tests fails", following: str = "pytest --phase=x") -> Evaluation:
    return verdicts.verdict(phase=phase, reason=reason, next_command=following)


def phase(name: str) -> Phase:
    found = TDD.phase(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("state", "requested", "enters", "how"),
    [
        pytest.param(NEW_STATE, "red", "RED", "begin", id="a-new-task-begins-with-the-first-phase"),
        pytest.param(NEW_STATE, "auto", "RED", "begin", id="auto-without-state-is-the-first"),
        pytest.param(at("RED"), "red", "RED", "stay", id="the-phase-the-task-is-in"),
        pytest.param(at("RED", exited=True), "green", "GREEN", "next", id="the-next-one-once-that-has-exited"),
        pytest.param(at("RED", exited=True), "auto", "GREEN", "next", id="auto-is-the-next-one-once-it-has-exited"),
        pytest.param(at("GREEN", exited=True), "auto", "REFACTOR", "next", id="auto-does-not-end-a-cycle"),
        pytest.param(at(DONE, exited=True), "red", "RED", "new-cycle", id="at-done-a-new-cycle"),
        pytest.param(at("GREEN", exited=True), "red", "RED", "new-cycle", id="after-a-phase-that-may-end-the-cycle"),
        pytest.param(at("GREEN"), "red", "RED", "rewind", id="in-the-middle-of-a-cycle-a-rewind"),
    ],
)
def test_accepted(state: State, requested: str, enters: str, how: How) -> None:
    entry = decide_entry(state, TDD, requested)
    assert (entry.phase.name, entry.how) == (enters, how)


NOT_EXITED = "can't begin: RED has not exited"
ELSEWHERE = replace(at("PLAN"), workflow="other")
REWIND = 'phase-gate rewind {} --reason "..."'


@pytest.mark.parametrize(
    ("workflow", "state", "requested", "problem", "remedy"),
    named(
        {
            "the-next-one-before-the-exit": (
                TDD,
                at("RED"),
                "green",
                f"GREEN {NOT_EXITED} (no complete run in it yet)",
                "pytest --phase=red",
            ),
            "it-says-what-the-last-verdict-missed": (
                TDD,
                at("RED", evaluation=verdict("RED", following="pytest --phase=red")),
                "green",
                f"GREEN {NOT_EXITED} (1 of 2 tests fails)",
                "pytest --phase=red",
            ),
            "a-phase-cannot-be-skipped": (
                TDD,
                at("RED", exited=True),
                "refactor",
                "REFACTOR does not follow RED: GREEN does",
                "pytest --phase=green",
            ),
            "any-other-earlier-phase-needs-rewind": (
                TDD,
                at("REFACTOR"),
                "green",
                "GREEN is before REFACTOR, where the task is",
                REWIND.format("green"),
            ),
            "auto-at-done": (
                TDD,
                at(DONE, exited=True),
                "auto",
                "the cycle is done: auto does not start a new one by itself",
                "pytest --phase=red  # starts the next cycle",
            ),
            "a-phase-that-this-workflow-does-not-have": (
                TDD,
                ELSEWHERE,
                "auto",
                "the task is in PLAN, which workflow tdd does not have",
                "continue with the workflow that the cycle began with: --phase-workflow=other",
            ),
            "start-is-the-workflows-choice": (
                STRICT,
                NEW_STATE,
                "green",
                "workflow strict begins with RED, not with GREEN",
                "pytest --phase=red",
            ),
            "so-is-rewinding-by-option": (
                STRICT,
                at("GREEN"),
                "red",
                "GREEN has not ended the cycle, and workflow strict does not go back by option",
                REWIND.format("red"),
            ),
        }
    ),
)
def test_refused(workflow: Workflow, state: State, requested: str, problem: str, remedy: str) -> None:
    with pytest.raises(PhaseOrderError) as caught:
        decide_entry(state, workflow, requested)
    assert (caught.value.problem, caught.value.remedy, caught.value.exit_code) == (problem, remedy, 13)


@pytest.mark.parametrize(
    ("requested", "shown"),
    [
        pytest.param("blue", "'blue'", id="an-unknown-name"),
        pytest.param("x" * 80, f"'{'x' * 59}…'", id="a-novel-is-cut"),
    ],
)
def test_an_unknown_phase_is_a_usage_error(requested: str, shown: str) -> None:
    with pytest.raises(UsageError) as caught:
        decide_entry(at("GREEN"), TDD, requested)
    assert caught.value.problem == f"unknown phase {shown} in workflow tdd"
    assert caught.value.remedy == "use one of: red, green, refactor, document, auto"


# --- what an entry writes


def events_of(state: State, how: How, name: str = "RED", *, allow: bool = False) -> list[Event]:
    return entry_events(state, Entry(phase(name), how), TDD, run="r1", allow_non_interactive=allow)


@pytest.mark.parametrize(
    ("how", "kinds"),
    [
        pytest.param("stay", [], id="staying-is-no-event"),
        pytest.param("next", ["phase-entered"], id="the-next-phase-is-entered"),
        pytest.param("begin", ["cycle-began", "phase-entered"], id="the-first-run-begins-a-cycle"),
        pytest.param("new-cycle", ["cycle-began", "phase-entered"], id="so-does-a-new-cycle"),
        pytest.param("rewind", [], id="a-rewind-takes-effect-only-when-its-complete-run-ends"),
    ],
)
def test_events_of_an_entry(how: How, kinds: list[str]) -> None:
    assert [event.kind for event in events_of(at("GREEN"), how)] == kinds


def test_a_new_cycle_takes_its_baseline_from_the_last_complete_run() -> None:
    latest = Snapshot(inventory="inventory", outcomes="outcomes")
    state = at(
        "GREEN",
        exited=True,
        latest_snapshot=latest,
        recovered=("a::b",),
        waivers=(Waiver(guard="tests-kept", findings=("f",), reason="r", by="b", at="then"),),
        overrides=({"kind": "guidance"},),
        signals_premature=3,
        streak=2,
    )
    began, entered = events_of(state, "new-cycle", allow=True)
    after = apply(apply(state, began), entered)
    assert (after.cycle, after.phase, after.visited) == (2, "RED", ("RED",))
    assert after.baseline == latest
    assert (after.first_snapshot, after.recovered, after.signals_premature) == (None, (), 0)
    assert (after.streak, after.iteration, after.exited) == (0, 0, False)
    assert (after.waivers, after.overrides, after.allow_non_interactive) == ((), (), True)


def test_entering_a_phase_is_a_clean_sheet() -> None:
    state = at("RED", exited=True, iteration=3, streak=2, streak_tree="t", evaluation=verdict("RED"))
    state = apply(
        state, Event(kind="fact-declared", data={"name": "n", "value": True, "reason": "r", "by": "b"}, at="now")
    )
    (entered,) = events_of(state, "next", "GREEN")
    after = apply(state, entered)
    assert (after.phase, after.iteration, after.exited) == ("GREEN", 0, False)
    assert (after.streak, after.streak_tree) == (0, None)
    assert (after.facts, after.measurement, after.evaluation_is_stale) == ((), None, True)
    assert after.visited == ("RED", "GREEN")
