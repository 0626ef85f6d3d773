"""The verdict on a verify task: each unmet clause has a name, and each status a next step that leads on."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.gate.state import Event
from phase_gate.tasks.verify_verdict import advise_task
from phase_gate.tasks.work import FailureType
from tests.tasks.support import SPEC, began, check, exited, failed, reported, reviewed, taken, task
from tests.tasks.verifying import WRONG, Gate


def unmet(document: Any) -> set[str]:
    gate_1 = document["evaluation"]["gate_1"]
    clauses = {clause["text"] for clause in gate_1["clauses"] if clause["met"] is not True}
    return clauses | {guard["name"] for guard in gate_1["guards"] if guard["met"] is not True}


@pytest.mark.processes
@pytest.mark.criterion("VG-07")
def test_each_missing_row_has_a_name(gate: Gate) -> None:
    gate.start()
    gate.paper("result.yaml", gate.result("failure"))
    document = gate.json("verify", "executor", "result.yaml")
    assert 'executor_status == "success"' in unmet(document)
    assert "verify_ran == true" in unmet(document)
    gate.project.write(planner=WRONG)
    gate.paper("result.yaml", gate.result(done_criteria_met=False))
    document = gate.json("verify", "executor", "result.yaml")
    assert "done_criteria_met == true" in unmet(document)
    assert document["previous_failures"][-1]["error"].endswith("also that the done-criteria are not met")
    gate.project.write(planner=WRONG + "\n")
    gate.executor()
    document = gate.json("verify", "run")
    assert "verify_exit_code == 0" in unmet(document)
    assert document["evaluation"]["gate_2"]["satisfied"] is False


def attempts(*kinds: FailureType) -> tuple[Event, ...]:
    """Attempts that failed at their first step."""
    return tuple(event for number, kind in enumerate(kinds, 1) for event in (began(number), failed(kind, step=1)))


X, B, T, M = FailureType.EXECUTION_FAILURE, FailureType.BLOCKED, FailureType.TIMEOUT, FailureType.MALFORMED
REVIEWING = (began(), reported(), *check())
APPROVES = reviewed("APPROVED", recommendation="commit")


@pytest.mark.parametrize(
    ("events", "status", "step"),
    [
        pytest.param((), "waiting", "verify start", id="PENDING"),
        pytest.param((began(),), "waiting", "verify executor FILE", id="EXECUTING"),
        pytest.param((began(), reported()), "waiting", "verify run", id="VERIFYING"),
        pytest.param((began(), reported(), check()[0]), "running", "verify status", id="while-it-runs"),
        pytest.param(REVIEWING, "waiting", "verify show", id="REVIEWING"),
        pytest.param((*REVIEWING, failed(M, step=3)), "waiting", "verify review FILE --by NAME", id="no-verdict"),
        pytest.param((*REVIEWING, APPROVES, exited()), "open", "verify commit", id="APPROVED"),
        pytest.param((began(), reported("blocked"), failed(B, step=1)), "needs-person", "verify show", id="BLOCKED"),
        pytest.param(attempts(X), "failed", "verify show", id="FAILED"),
        pytest.param(attempts(T), "failed", "verify executor FILE", id="a-time-out"),
        pytest.param(attempts(X, X, X), "needs-person", 'verify resume --reason "..." --by NAME', id="three-failures"),
    ],
)
def test_the_next_step_leads_on(events: tuple[Event, ...], status: str, step: str) -> None:
    verdict = advise_task(task(taken(), *events))
    assert verdict.status == status
    assert f"phase-gate {step} --task {SPEC.slug}" in verdict.next_step
