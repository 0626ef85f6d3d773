"""How far a task has come: what is done, where it is, what has to be done again; and how that is drawn."""

from __future__ import annotations

import pytest

from phase_gate.config.files import load_shipped_guards, load_shipped_workflow
from phase_gate.config.workflow import parse_workflow
from phase_gate.gate.state import State
from phase_gate.tasks.pipeline import Pipeline, Step
from phase_gate.tasks.route import MAX_TURNS, WIDTH, Mark, Route, Stop, Turn, find_route, render_route, route_to_json
from phase_gate.workflow.model import Workflow

TDD = load_shipped_workflow("tdd")


def line(*names: str) -> Workflow:
    phases = "".join(f"  {name}:\n    gate_1: {{name: n, condition: tests_total > 0}}\n" for name in names)
    return parse_workflow(f"workflow: line\nphases:\n{phases}", name="w.yaml", guards=load_shipped_guards())


def marks(route: Route) -> dict[str, Mark]:
    return {stop.phase: stop.mark for stop in route.stops}


@pytest.mark.parametrize(
    ("state", "blocked", "expected"),
    [
        pytest.param(State(phase="A", visited=("A",)), False, "here ahead ahead ahead", id="begun"),
        pytest.param(State(phase="A", visited=("A",)), True, "blocked ahead ahead ahead", id="closed"),
        pytest.param(State(phase="A", visited=("A",), exited=True), False, "done ahead ahead ahead", id="exited"),
        pytest.param(State(phase="B", visited=("A", "B")), False, "done here ahead ahead", id="one-is-done"),
        pytest.param(State(phase="B", visited=("B",)), False, "left-out here ahead ahead", id="begun-later"),
        pytest.param(State(phase="A", visited=("A", "B", "C")), False, "here again again ahead", id="rewound"),
        pytest.param(
            State(phase="DONE", visited=("A", "B", "C"), exited=True), False, "done done done done", id="done"
        ),
    ],
)
def test_marks(state: State, blocked: bool, expected: str) -> None:
    route = find_route(state, line("A", "B", "C"), blocked=blocked)
    assert list(marks(route)) == ["A", "B", "C", "DONE"]
    assert list(marks(route).values()) == expected.split()
    assert route.is_straight is ("again" not in expected)


RECOVERING = load_shipped_workflow("pipeline")


def steps(*names: str) -> tuple[Step, ...]:
    return tuple(Step(*name.split()) for name in names)


def test_in_a_recovery_the_failed_gate_is_where_it_is_blocked() -> None:
    pipeline = Pipeline(
        attempts={"INTAKE": 1, "CONSENSUS_MASTER_PLAN": 2, "RECOVERY_LOOP": 1},
        steps=steps("INTAKE begin", "CONSENSUS_MASTER_PLAN next", "RECOVERY_LOOP failure"),
        failed_phase="CONSENSUS_MASTER_PLAN",
        recoveries=1,
    )
    visited = ("INTAKE", "CONSENSUS_MASTER_PLAN", "RECOVERY_LOOP")
    state = State(phase="RECOVERY_LOOP", visited=visited, parts={"pipeline": pipeline})
    route = find_route(state, RECOVERING, blocked=False)
    found = marks(route)
    assert [found[name] for name in (*visited, "ARCHITECTURE", "DONE")] == ["done", "blocked", "here", "ahead", "ahead"]
    assert "STUCK" not in found
    assert route.turns == (Turn(source="CONSENSUS_MASTER_PLAN", target="RECOVERY_LOOP", how="failure"),)
    assert (route.recoveries, route.is_straight) == (1, False)


def test_stuck_is_drawn() -> None:
    pipeline = Pipeline(failed_phase="INTAKE", recoveries=5)
    state = State(phase="STUCK", visited=("INTAKE", "RECOVERY_LOOP"), exited=True, parts={"pipeline": pipeline})
    found = marks(find_route(state, RECOVERING, blocked=True))
    assert (found["INTAKE"], found["STUCK"], found["RECOVERY_LOOP"]) == ("blocked", "blocked", "aside")


def test_the_drawing() -> None:
    route = Route(
        stops=(
            Stop(phase="PLAN", mark="done", entered=2),
            Stop(phase="BUILD", mark="blocked", entered=3),
            Stop(phase="REVIEW", mark="again", entered=1),
            Stop(phase="SHIP", mark="ahead"),
            Stop(phase="DONE", mark="ahead"),
            Stop(phase="MEND", mark="aside", entered=11),
        ),
        turns=(
            Turn(source="REVIEW", target="MEND", how="failure"),
            Turn(source="MEND", target="PLAN", how="recovered"),
        ),
        recoveries=1,
    )
    assert render_route(route, recoveries=5) == [
        "  [x] PLAN    2 times",
        "  [!] BUILD   here, blocked, 3rd time",
        "  [~] REVIEW  to be done again",
        "  [ ] SHIP",
        "  [ ] DONE",
        "  [ ] MEND    where a gate that fails leads to, 11 times",
        "turns",
        "  REVIEW -> MEND: the gate failed",
        "  MEND -> PLAN: recovered",
        "recoveries  1 of 5 used",
    ]
    assert route_to_json(route)["phases"][1] == {"phase": "BUILD", "mark": "blocked", "entered": 3}


def test_it_never_is_wider_than_a_terminal_or_as_long_as_a_history() -> None:
    turns = tuple(Turn(source=f"A{number}", target="B" * 90, how="rewind") for number in range(20))
    route = Route(stops=(Stop(phase="A" * 70, mark="here"),), turns=turns)
    rows = render_route(route)
    assert max(map(len, rows)) == WIDTH
    assert len(rows) == 2 + MAX_TURNS
    assert rows[1] == "turns, the last 5 of 20"
    assert rows[2].startswith("  A15 -> ")
