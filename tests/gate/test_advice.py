"""What follows from a verdict is a command that can be typed, or a hint for people."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from phase_gate.config.workflow_files import load_shipped_workflow
from phase_gate.gate import verdict
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.judging import evaluate, with_breaker
from phase_gate.gate.measured import ALREADY_PASSING, Measured, cap_findings, name_tests
from phase_gate.gate.state import NEW_STATE, Case
from phase_gate.gate.verdict import Answer, Evaluation, Signal, Verdict
from phase_gate.tasks.verify_verdict import advise_task
from phase_gate.tasks.work import FailureType
from phase_gate.values import replace
from phase_gate.workflow.model import Phase, Workflow
from tests.tasks import support as verify
from tests.typable import is_typable

AT = "2026-01-26T14:00:00.000Z"
WORKFLOWS = [load_shipped_workflow(name) for name in ("tdd", "exit-gate", "confidence", "pipeline")]
PHASES = [
    pytest.param(workflow, phase, id=f"{workflow.name}-{phase.name}")
    for workflow in WORKFLOWS
    for phase in workflow.phases
]


def judge(workflow: Workflow, phase: Phase, answer: Answer, *, task: str = "default", **fields: Any) -> Evaluation:
    reading = Signal(answer=answer, reason="why")
    state = replace(NEW_STATE, task=task)
    case = Case(state=state, workflow=workflow, phase=phase, at=AT, reading=reading)
    return evaluate(case, Measured(), run="r1", **{"iteration": 1, **fields})


@pytest.mark.parametrize("task", ["default", "login"])
@pytest.mark.parametrize("answer", get_args(Answer))
@pytest.mark.parametrize(("workflow", "phase"), PHASES)
def test_every_command_can_be_typed(workflow: Workflow, phase: Phase, answer: Answer, task: str) -> None:
    closed = judge(workflow, phase, answer, task=task)
    halted = with_breaker(closed, Breaker(status="open", opened_at=AT, reason="stuck"))
    void = judge(workflow, phase, answer, task=task, iteration=None)
    for evaluation in (closed, halted, void):
        assert evaluation.next_command or evaluation.next_hint
        assert not evaluation.next_command or is_typable(evaluation.next_command)
        assert evaluation.status in get_args(verdict.Status)
        assert (evaluation.status == "open") == evaluation.can_exit


@pytest.mark.parametrize(
    "advice",
    [
        pytest.param(advise_task(verify.task(verify.taken())), id="pending"),
        pytest.param(advise_task(verify.task(verify.taken(), verify.began())), id="executing"),
        pytest.param(advise_task(verify.task(verify.taken(), verify.began(), verify.reported())), id="verifying"),
        pytest.param(
            advise_task(verify.task(verify.taken(), verify.began(), verify.reported(), *verify.check())), id="reviewing"
        ),
        pytest.param(
            advise_task(verify.task(verify.taken(), verify.began(), verify.failed(FailureType.TIMEOUT, step=1))),
            id="timeout",
        ),
    ],
)
def test_a_verify_task_says_what_to_type_or_what_to_do(advice: Verdict) -> None:
    assert advice.next_command or advice.next_hint
    assert not advice.next_command or is_typable(advice.next_command)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest --phase=red --phase-task=login", True),
        ('phase-gate signal --reason "..." --task login', False),
        ("phase-gate pipeline recover", True),
        ("phase-gate verify executor FILE --task t", False),
        ("pytest --phase=red starts the next cycle", False),
        ("phase-gate recover", False),
        ("wait for it to end", False),
    ],
)
def test_the_check_itself(command: str, expected: bool) -> None:
    assert is_typable(command) is expected


@pytest.mark.parametrize(
    ("guards", "slug"),
    [
        pytest.param((), ALREADY_PASSING, id="clause"),
        pytest.param(("red-for-a-reason",), "red-for-a-reason", id="guard"),
    ],
)
def test_names_and_the_number_of_the_others_add_up(guards: tuple[str, ...], slug: str) -> None:
    shipped = WORKFLOWS[0]
    red = shipped.phases[0]
    phase = replace(red, gate_1=replace(red.gate_1, guards=guards))
    workflow = replace(shipped, phases=(phase, *shipped.phases[1:]))
    ids = [f"t.py::test_{number:02}" for number in range(29)]
    measured = Measured(
        metrics={"tests_total": 29, "tests_passing": 29, "tests_failing": 0, "criteria_count": 1},
        findings=cap_findings(name_tests(slug, "hard", ids, "passes already")),
    )
    case = Case(state=NEW_STATE, workflow=workflow, phase=phase, at=AT)
    reason = evaluate(case, measured, run="r1", iteration=1).reason
    assert "t.py::test_00, t.py::test_01, t.py::test_02 and 26 more" in reason
