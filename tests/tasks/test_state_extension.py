"""The verification gate as tables: which status follows which, and what each event makes of a task."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from phase_gate.gate.events import apply
from phase_gate.gate.state import Event, state_from_json, state_to_json
from phase_gate.tasks.state_extension import TRANSITIONS, move
from phase_gate.tasks.work import (
    FailureType,
    Status,
    Verification,
    find_verification,
)
from tests.tasks.support import AT, SPEC, approved, began, check, failed, reported, reviewed, story, taken
from tests.tasks.verifying import RIGHT, TASK, WRONG, Gate

#: What the document draws, with the ways to and from BLOCKED, to SKIPPED, and back from APPROVED before its commit.
DRAWN = {
    ("PENDING", "EXECUTING"),
    ("EXECUTING", "VERIFYING"),
    ("VERIFYING", "REVIEWING"),
    ("REVIEWING", "APPROVED"),
    ("EXECUTING", "FAILED"),
    ("VERIFYING", "FAILED"),
    ("REVIEWING", "REJECTED"),
    ("FAILED", "EXECUTING"),
    ("REJECTED", "EXECUTING"),
    ("EXECUTING", "BLOCKED"),
    ("BLOCKED", "EXECUTING"),
    ("APPROVED", "REJECTED"),
    *((status, "SKIPPED") for status in Status if status not in ("APPROVED", "SKIPPED")),
}


@pytest.mark.parametrize(("before", "after"), list(itertools.product(Status, Status)))
def test_only_what_is_drawn_follows(before: Status, after: Status) -> None:
    verification = Verification(spec=SPEC, taken_at=AT, status=before)
    assert (after in TRANSITIONS[before]) is ((before, after) in DRAWN)
    if (before, after) in DRAWN:
        assert move(verification, after).status is after
    else:
        with pytest.raises(ValueError, match="can't follow"):
            move(verification, after)


#: A way to each status, and what can't happen there.
WAYS: dict[Status, tuple[Event, ...]] = {
    Status.PENDING: (taken(),),
    Status.EXECUTING: (taken(), began()),
    Status.VERIFYING: (taken(), began(), reported()),
    Status.REVIEWING: (taken(), began(), reported(), *check()),
    Status.APPROVED: approved(),
    Status.FAILED: (taken(), began(), failed(FailureType.EXECUTION_FAILURE, step=1)),
    Status.REJECTED: (
        *(taken(), began(), reported(), *check()),
        *(reviewed("REJECTED"), failed(FailureType.ARCHITECT_REJECTION, step=3)),
    ),
    Status.BLOCKED: (taken(), began(), reported("blocked")),
    Status.SKIPPED: (
        taken(),
        Event(
            kind="overridden",
            data={"kind": "force", "mark": "forced", "skip_kind": "", "reason": "r", "by": "b"},
            at=AT,
        ),
    ),
}


@pytest.mark.parametrize("status", Status)
def test_each_status_is_reached_by_its_events_and_survives_json(status: Status) -> None:
    state = story(*WAYS[status])
    found = find_verification(state)
    assert found is not None
    assert found.status is status
    assert state_from_json(state_to_json(state)) == state


@pytest.mark.parametrize(
    ("status", "event"),
    [
        pytest.param(Status.PENDING, reported(), id="a-report-before-the-attempt"),
        pytest.param(Status.EXECUTING, check()[0], id="a-verify-run-without-a-report"),
        pytest.param(Status.VERIFYING, reviewed("APPROVED"), id="a-verdict-without-a-verify-run"),
        pytest.param(Status.VERIFYING, Event(kind="committed", data={"commit": "1"}, at=AT), id="a-commit-too-early"),
        pytest.param(Status.FAILED, reported(), id="a-report-of-an-attempt-that-is-over"),
        pytest.param(Status.APPROVED, began(2), id="an-attempt-of-what-is-approved"),
        pytest.param(Status.APPROVED, taken(), id="what-has-begun-is-not-taken-again"),
        pytest.param(Status.SKIPPED, began(), id="an-attempt-of-what-was-skipped"),
    ],
)
def test_what_can_not_happen_raises(status: Status, event: Event) -> None:
    with pytest.raises(ValueError, match=r"follow|not|taken once more"):
        apply(story(*WAYS[status]), event)


@pytest.mark.processes
@pytest.mark.criterion("VG-02")
def test_the_states_of_a_task_that_fails_twice_and_passes(gate: Gate) -> None:
    """The table itself, with everything that can't follow, is in tests/tasks/test_state_extension.py."""
    gate.project.write(planner=WRONG)
    states = []

    def then(code: int, ran: Any) -> None:
        assert ran.code == code, ran
        states.append(gate.state)

    tasks = [gate.task(name="Task 9: Other", files=["other.py"]), gate.task()]
    then(0, gate.start(document=tasks))
    then(0, gate.call("verify", "start", "--task", TASK))
    then(0, gate.executor())
    then(10, gate.verify())
    gate.project.write(planner=RIGHT)
    then(0, gate.executor())
    then(0, gate.verify())
    then(10, gate.review(gate.verdict("REJECTED")))
    gate.project.write(planner=RIGHT + "# says what it is\n")
    then(12, gate.executor(gate.result("blocked")))
    then(0, gate.executor())
    then(0, gate.verify())
    then(0, gate.review())
    assert states == [
        *("PENDING", "EXECUTING", "VERIFYING", "FAILED", "VERIFYING", "REVIEWING", "REJECTED"),
        *("BLOCKED", "VERIFYING", "REVIEWING", "APPROVED"),
    ]
