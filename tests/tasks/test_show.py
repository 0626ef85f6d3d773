"""What people see of a task's way."""

from __future__ import annotations

import pytest

from phase_gate.config.rule_files import load_shipped_workflow
from phase_gate.gate.state import State
from phase_gate.tasks.show import route_rows, route_to_json
from phase_gate.tasks.work import Pipeline

TDD, PIPELINE = load_shipped_workflow("tdd"), load_shipped_workflow("pipeline")


@pytest.mark.parametrize(
    ("state", "blocked", "marks"),
    [
        pytest.param(State(phase="RED", visited=("RED",)), False, "here ahead ahead ahead ahead", id="begun"),
        pytest.param(State(phase="RED", visited=("RED",)), True, "blocked ahead ahead ahead ahead", id="closed"),
        pytest.param(State(phase="GREEN", visited=("RED", "GREEN")), False, "done here ahead ahead ahead", id="next"),
        pytest.param(State(phase="GREEN", visited=("GREEN",)), False, "left-out here ahead ahead ahead", id="later"),
        pytest.param(State(phase="RED", visited=("RED", "GREEN")), False, "here again ahead ahead ahead", id="rewound"),
    ],
)
def test_the_marks_of_a_way(state: State, blocked: bool, marks: str) -> None:
    route = route_to_json(state, TDD, blocked=blocked)
    assert [row["mark"] for row in route["phases"]] == marks.split()


def test_in_a_recovery_the_failed_gate_is_where_it_is_blocked() -> None:
    pipeline = Pipeline(
        attempts={"INTAKE": 2, "RECOVERY_LOOP": 1},
        failed_phase="INTAKE",
        recoveries=1,
    )
    state = State(phase="RECOVERY_LOOP", visited=("INTAKE", "RECOVERY_LOOP"), parts={"work": pipeline})
    rows = route_rows(route_to_json(state, PIPELINE, blocked=False), 5)
    assert rows[0] == "  [!] INTAKE                  here, blocked, 2 times"
    assert rows[-2:] == [
        "  [>] RECOVERY_LOOP           here",
        "recoveries  1 of 5 used",
    ]
    stuck = State(phase="STUCK", visited=("INTAKE",), exited=True, parts={"work": pipeline})
    found = {row["phase"]: row["mark"] for row in route_to_json(stuck, PIPELINE, blocked=True)["phases"]}
    assert (found["INTAKE"], found["STUCK"], found["RECOVERY_LOOP"]) == ("blocked", "blocked", "aside")
