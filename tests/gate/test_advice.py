"""What follows from a verdict is a command that can be typed, or a hint for people; and it names every way out."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from phase_gate.config.workflow_files import load_shipped_workflow, load_workflow
from phase_gate.gate import verdict
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.judging import evaluate, with_breaker
from phase_gate.gate.measured import ALREADY_PASSING, TEST_FAILS, Finding, Measured, cap_findings, name_tests
from phase_gate.gate.state import NEW_STATE, Case
from phase_gate.gate.verdict import ABSENT, Answer, Evaluation, Signal, Verdict
from phase_gate.tasks.verify_verdict import advise_task
from phase_gate.tasks.work import FailureType
from phase_gate.values import replace
from phase_gate.workflow.model import Phase, Workflow
from tests.conftest import ROOT
from tests.gate.verdicts import AT, GREEN
from tests.tables import named
from tests.tasks import support as verify
from tests.typable import is_typable

SHIPPED = {name: load_shipped_workflow(name) for name in ("tdd", "exit-gate", "confidence", "pipeline")}
EXAMPLES = ROOT / "examples" / "workflows"
WORKFLOWS = SHIPPED | {
    name: load_workflow(f"{name}.yaml", root=EXAMPLES) for name in ("feature-flow", "release-checklist")
}
PHASES = [
    pytest.param(workflow, phase, id=f"{workflow.name}-{phase.name}")
    for workflow in SHIPPED.values()
    for phase in workflow.phases
]


def judge_answer(
    workflow: Workflow, phase: Phase, answer: Answer, *, task: str = "default", **fields: Any
) -> Evaluation:
    reading = Signal(answer=answer, reason="why")
    state = replace(NEW_STATE, task=task)
    case = Case(state=state, workflow=workflow, phase=phase, at=AT, reading=reading)
    return evaluate(case, Measured(), run="r1", **{"iteration": 1, **fields})


@pytest.mark.parametrize("task", ["default", "login"])
@pytest.mark.parametrize("answer", get_args(Answer))
@pytest.mark.parametrize(("workflow", "phase"), PHASES)
def test_every_command_can_be_typed(workflow: Workflow, phase: Phase, answer: Answer, task: str) -> None:
    closed = judge_answer(workflow, phase, answer, task=task)
    halted = with_breaker(closed, Breaker(status="open", opened_at=AT, reason="stuck"))
    void = judge_answer(workflow, phase, answer, task=task, iteration=None)
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
    shipped = SHIPPED["tdd"]
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


# --- the ways out of a closed gate, in commands of the task's own workflow


def phase_of(workflow: Workflow, name: str) -> Phase:
    found = workflow.phase(name)
    assert found is not None
    return found


def judge(
    name: str, phase: str, *findings: Finding, task: str = "default", reading: Signal = ABSENT, **metrics: Any
) -> Evaluation:
    workflow = WORKFLOWS[name]
    state, seen = replace(NEW_STATE, task=task), Measured(metrics={**GREEN, **metrics}, findings=findings)
    case = Case(state=state, workflow=workflow, phase=phase_of(workflow, phase), at=AT, reading=reading)
    return evaluate(case, seen, iteration=1, run="r1")


ALTERED = Finding(slug="tests-unchanged", tier="hard", id="t.py::test_a", detail="altered")
GONE = Finding(slug="tests-kept", tier="hard", id="t.py::test_a", detail="gone")
DOUBT = Finding(slug="outcome-rewritten", guard="outcomes-genuine", tier="hard", id="t.py::test_a", detail="odd")
VANISHED = Finding(
    slug="red-was-seen", tier="hard", detail="RED was seen here, and the state folder that showed it is gone"
)
NARROW = Finding(slug="complete-run", tier="hard", detail="1 known test did not run")


@pytest.mark.parametrize(
    ("workflow", "phase", "finding", "metrics", "command", "hint"),
    named(
        {
            "a-frozen-test-was-altered": (
                "tdd",
                "GREEN",
                ALTERED,
                {"tests_altered": 1},
                "",
                "undo the change: t.py::test_a, then run: pytest --phase=green; or go back: pytest --phase=red; "
                'or waive it: phase-gate waive tests-unchanged --reason "..." --by NAME',
            ),
            "where-red-is-not-the-first-phase-only-rewind-leads-there": (
                "feature-flow",
                "GREEN",
                ALTERED,
                {"tests_altered": 1},
                "",
                "undo the change: t.py::test_a, then run: pytest --phase=green; "
                'or go back: phase-gate rewind red --reason "..."; '
                'or waive it: phase-gate waive tests-unchanged --reason "..." --by NAME',
            ),
            "a-workflow-without-red-names-none": (
                "exit-gate",
                "WORK",
                GONE,
                {"tests_missing": 1},
                "",
                "put the tests back: t.py::test_a, then run: pytest --phase=work; "
                'or waive it: phase-gate waive tests-kept --reason "..." --by NAME',
            ),
            "no-way-back-where-it-would-not-help": (
                "tdd",
                "REFACTOR",
                DOUBT,
                {"outcomes_doubtful": 1},
                "pytest --phase=refactor",
                "remove what changes outcomes: phase-gate explain outcomes-genuine names it; "
                'or waive it: phase-gate waive outcomes-genuine --reason "..." --by NAME',
            ),
            "only-red-can-show-a-red": (
                "tdd",
                "GREEN",
                VANISHED,
                {"red_seen": False},
                "pytest --phase=red",
                'make these tests fail first (or waive it: phase-gate waive red-was-seen --reason "..." --by NAME)',
            ),
            "a-run-that-does-not-count-is-never-waived": (
                "tdd",
                "GREEN",
                NARROW,
                {"run_complete": False},
                "pytest --phase=green",
                "leave out -k, -m, -x, --lf and paths, and let the run end",
            ),
        }
    ),
)
def test_a_guard_names_every_way_out(
    workflow: str, phase: str, finding: Finding, metrics: dict[str, Any], command: str, hint: str
) -> None:
    evaluation = judge(workflow, phase, finding, **metrics)
    assert (evaluation.next_command, evaluation.next_hint) == (command, hint)
    assert not command or is_typable(command)


FAILS = name_tests(TEST_FAILS, "advisory", [f"test_fare.py::test_{name}" for name in "abcd"], "fails")
FLAKY = Finding(slug="flaky", tier="advisory", id="t.py::test_a", detail="passed only after a rerun")
BROKEN = Finding(slug="broken-module", tier="advisory", file="test_fare.py", detail="can't be imported: NameError")
UNREAD = {
    "has_adr": True,
    "docs_generated": 3,
    "has_c4_diagrams": True,
    "diagrams_total": 1,
    "diagrams_valid": 1,
    "code_as_tested": True,
}


@pytest.mark.parametrize(
    ("phase", "findings", "metrics", "reason", "first"),
    named(
        {
            "one-test": (
                "GREEN",
                FAILS[:1],
                {"tests_failing": 1},
                "test_fare.py::test_a fails",
                "change the code until test_fare.py::test_a passes",
            ),
            "several-tests": (
                "REFACTOR",
                FAILS,
                {"tests_failing": 4},
                "test_fare.py::test_a, test_fare.py::test_b, test_fare.py::test_c and 1 more fail",
                "change the code until test_fare.py::test_a, test_fare.py::test_b, test_fare.py::test_c and 1 more "
                "pass",
            ),
            "a-flaky-test": (
                "GREEN",
                (FLAKY,),
                {"tests_flaky": 1, "consecutive_green_runs": 0},
                "1 test passed only after a rerun: the streak starts over",
                "make t.py::test_a pass without a rerun",
            ),
            "a-broken-module": (
                "GREEN",
                (BROKEN, *FAILS[:1]),
                {"tests_failing": 1},
                "test_fare.py can't be imported: NameError; test_fare.py::test_a fails",
                "fix that",
            ),
            "no-document": (
                "DOCUMENT",
                (),
                UNREAD | {"docs_generated": 0},
                "0 of 3 documents",
                "write them in Markdown, in docs",
            ),
            "no-decision": ("DOCUMENT", (), UNREAD | {"has_adr": False}, "there is no architecture", "add one"),
            "too-few-tests": (
                "RED",
                (),
                {
                    "tests_failing": 1,
                    "tests_passing": 0,
                    "tests_total": 1,
                    "criteria_count": 2,
                    "tests_refused": 0,
                    "baseline_failing": 0,
                },
                "1 test for 2 criteria",
                "write a test for each criterion",
            ),
        }
    ),
)
def test_a_closed_gate_names_tests_and_leads_with_what_changes_something(
    phase: str, findings: tuple[Finding, ...], metrics: dict[str, Any], reason: str, first: str
) -> None:
    evaluation = judge("tdd", phase, *findings, **metrics)
    assert evaluation.reason.startswith(reason)
    assert evaluation.next_step == f"{first}, then run: {evaluation.next_command}"


def test_a_missing_extra_is_installed_first() -> None:
    workflow = WORKFLOWS["tdd"]
    seen = Measured(metrics=GREEN, warnings=("docs_generated is unknown",), missing_extra="documents")
    case = Case(state=NEW_STATE, workflow=workflow, phase=phase_of(workflow, "DOCUMENT"), at=AT)
    hint = evaluate(case, seen, iteration=1, run="r1").next_hint
    assert hint == "pip install 'pytest-phase-gate[documents]'"


@pytest.mark.parametrize("findings", [(), (BROKEN,)], ids=["green", "broken"])
def test_code_that_no_run_has_tested_takes_a_run_also_where_a_phase_needs_none(findings: tuple[Finding, ...]) -> None:
    assert judge("tdd", "DOCUMENT", *findings, code_as_tested=False).next_command == "pytest --phase=document"


def test_refactor_offers_to_declare() -> None:
    evaluation = judge("tdd", "REFACTOR")
    assert evaluation.next_command == "", "only people can write the reason"
    assert evaluation.next_step == 'phase-gate declare refactoring_complete=true --reason "..."'


def test_a_phase_without_tests_is_never_entered_by_a_run() -> None:
    done = Signal(answer="done", reason="it is", by="Ada")
    evaluation = judge("tdd", "REFACTOR", reading=done, refactoring_complete=True)
    assert evaluation.status == "open"
    assert evaluation.next_step == "phase-gate advance  # or pytest --phase=red for the next cycle"
