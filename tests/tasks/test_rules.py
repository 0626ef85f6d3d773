"""Retries, escalation and time limits of the verification gate, as tables; and the statistics of many tasks."""

from __future__ import annotations

import pytest

from phase_gate.errors import NotAllowedError
from phase_gate.gate.state import Event
from phase_gate.tasks.rules import (
    Overview,
    delay_left,
    escalate,
    refuse_unchanged,
    require_attempt,
    retries_left,
)
from phase_gate.tasks.show import stats_to_json
from phase_gate.tasks.work import PHASE, FailureType, Status, TaskSpec, Verification
from phase_gate.values import replace
from tests.tasks.support import (
    AT,
    SPEC,
    at,
    began,
    check,
    failed,
    reported,
    reviewed,
    taken,
    task,
)

X, V, R, B, T, M = (
    FailureType.EXECUTION_FAILURE,
    FailureType.VERIFY_FAILURE,
    FailureType.ARCHITECT_REJECTION,
    FailureType.BLOCKED,
    FailureType.TIMEOUT,
    FailureType.MALFORMED,
)
STEP = {X: 1, V: 2, R: 3, T: 2, M: 1}


def attempt(number: int, kind: FailureType, *, when: str = AT) -> tuple[Event, ...]:
    """The events of an attempt that failed."""
    fails = failed(kind, step=STEP[kind], when=when)
    way: dict[FailureType, tuple[Event, ...]] = {
        V: (reported(), *check(run=str(number), exit_code=1)),
        T: (reported(), check(run=str(number))[0]),
        R: (reported(), *check(run=str(number)), reviewed("REJECTED")),
    }
    return (began(number), *way.get(kind, ()), fails)


def after(*kinds: FailureType, spec: TaskSpec = SPEC) -> Verification:
    events = [event for number, kind in enumerate(kinds, start=1) for event in attempt(number, kind)]
    return task(taken(spec), *events)


@pytest.mark.parametrize(
    ("kinds", "level"),
    [
        pytest.param((), 0, id="nothing-failed"),
        pytest.param((V,), 1, id="one-failure-is-tried-again"),
        pytest.param((V, X), 1, id="two-failures-are-tried-again"),
        pytest.param((V, X, V), 2, id="three-failures-ask-a-person"),
        pytest.param((R,), 1, id="one-rejection-is-tried-again"),
        pytest.param((R, R), 2, id="two-rejections-ask-a-person"),
        pytest.param((T, T), 2, id="two-time-outs-ask-a-person"),
        pytest.param((M, M), 1, id="two-malformed-results-are-tried-again"),
        pytest.param((M, M, M), 2, id="three-malformed-results-ask-a-person"),
    ],
)
def test_escalation(kinds: tuple[FailureType, ...], level: int) -> None:
    found = escalate(after(*kinds))
    assert found.level == level
    assert bool(found.actions) is (level > 0)


def test_the_table_of_retries_is_the_documents() -> None:
    retries = {kind: retries_left(after(kind)) for kind in (X, V, R, T, M)}
    assert retries == {X: 2, V: 2, R: 1, T: 1, M: 2}
    assert (retries_left(after(V, V)), retries_left(after(V, V, V, V))) == (1, 0)
    assert [round(delay_left(after(kind), AT)) for kind in STEP] == [0, 0, 0, 30, 0]


@pytest.mark.parametrize(
    ("kind", "tree", "is_refused"),
    [
        pytest.param(X, "T", False, id="execution-on-the-same-files"),
        pytest.param(V, "T", True, id="verify-on-the-same-files"),
        pytest.param(R, "T", True, id="rejection-on-the-same-files"),
        pytest.param(M, "T", False, id="malformed-on-the-same-files"),
        pytest.param(T, "T", False, id="time-out-on-the-same-files"),
        pytest.param(V, "U", False, id="verify-on-other-files"),
    ],
)
def test_nothing_is_run_again_on_the_same_files(kind: FailureType, tree: str, is_refused: bool) -> None:
    verification = after(kind)
    require_attempt(verification, at=at(31))  # somebody may well begin to mend it
    if not is_refused:
        refuse_unchanged(verification, tree)
        return
    with pytest.raises(NotAllowedError, match="no file has changed") as caught:
        refuse_unchanged(verification, tree)
    assert "phase-gate verify resume --task task-3-create-plannerid" in caught.value.remedy
    refuse_unchanged(replace(verification, resumed_after=len(verification.failures)), tree)


# --- all tasks together


def row(number: int, status: Status, *, attempts: int = 1) -> Verification:
    made = replace(after(), attempts={PHASE: attempts})
    spec = replace(made.spec, name=f"Task {number}")
    return replace(made, status=status, spec=spec, last_step_at=at(number))


def test_the_statistics_of_the_document() -> None:
    """Twelve tasks: 8 passed, 1 failed, 1 in progress, 2 pending, as the document shows them."""
    attempts = (1, 1, 1, 1, 1, 2, 2, 2)
    rows = [
        *(row(number, Status.APPROVED, attempts=tries) for number, tries in enumerate(attempts, start=1)),
        row(9, Status.VERIFYING),
        row(10, Status.FAILED),
        *(row(number, Status.PENDING, attempts=0) for number in (11, 12)),
    ]
    document = stats_to_json(Overview(rows=tuple(rows)))
    assert document["total_tasks"] == 12
    assert [document[name] for name in ("passed", "failed", "in_progress", "pending")] == [8, 1, 1, 2]
    assert document["pass_rate"] == "89%"
    assert document["avg_attempts"] == 1.3
    assert document["current_gate"] == {"task": "Task 9", "status": "VERIFYING", "attempt": 1}
