"""What `check` answers: does the last verdict still hold? Every condition of the design, one row each."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.gate import freshness
from phase_gate.gate.freshness import CurrentStatus
from phase_gate.gate.state import NEW_STATE, Run, State
from phase_gate.gate.verdict import Evaluation, Fact
from phase_gate.values import replace
from phase_gate.workflow.names import DONE
from tests.gate.verdicts import AT, verdict
from tests.tables import named

TREE = "tree-1"


EXITED = replace(NEW_STATE, phase="GREEN", iteration=2, exited=True, last_tree=TREE, evaluation=verdict())
GOING_ON = Run(id="0123456789ab", phase="GREEN", at="now", tree=TREE)
LATER = "2026-01-01T00:00:01.000Z"
CLOSED = replace(EXITED, exited=False, evaluation=verdict(can_exit=False, gate_1=False, status="closed"))
WITHOUT_RUN = verdict(phase="DOCUMENT", run=None, metrics={"code_as_tested": True})
DOCUMENT = replace(NEW_STATE, phase="DOCUMENT", last_tree="partial-run-left", green_tree=TREE, evaluation=WITHOUT_RUN)


AUTO = "pytest --phase=auto"
STALE = replace(EXITED, evaluation_is_stale=True)
CAME_AFTER = "a run came after the last verdict: only a complete run makes a new one"
CHANGED = "files have changed since the last run"
DECLARED = Fact(name="refactoring_complete", value=True, reason="r", by="Ada", at=LATER)
PARTIAL = Run(id="r2", kind="partial", phase="GREEN", at="now")


def assess(
    state: State,
    *,
    tree: str = TREE,
    lost: tuple[str, ...] = (),
    gate_1_only: bool = False,
    again: tuple[str, bool] = (AUTO, True),
) -> CurrentStatus:
    return freshness.assess(
        state,
        tree=tree,
        at=AT,
        lost=lost,
        gate_1_only=gate_1_only,
        begin="pytest --phase=red",
        next_step=lambda: again,
    )


def judged(**said: Any) -> State:
    return replace(EXITED, evaluation=verdict(can_exit=False, **said))


@pytest.mark.parametrize(
    ("state", "reason", "following"),
    named(
        {
            "nothing-was-ever-run": (NEW_STATE, "no run is recorded yet", "pytest --phase=red"),
            "another-phase": (replace(STALE, phase="REFACTOR"), "no complete run in REFACTOR yet", AUTO),
            "no-verdict": (replace(EXITED, evaluation=None), "no complete run in GREEN yet", AUTO),
            "something-happened-since": (STALE, CAME_AFTER, AUTO),
            "a-partial-run-since": (replace(STALE, last_run=PARTIAL), CAME_AFTER.replace(":", " (partial):"), AUTO),
            "an-empty-run-since": (
                replace(STALE, last_run=replace(PARTIAL, kind="empty")),
                CAME_AFTER.replace(":", " (empty):"),
                f"{AUTO}  # let a test run: write one, restore its file, or stop skipping it",
            ),
            "only-an-empty-run": (
                replace(EXITED, evaluation=None, last_run=replace(PARTIAL, kind="empty", why="no test was collected")),
                "no complete run in GREEN yet: the last one was empty: no test was collected",
                f"{AUTO}  # let a test run: write one, restore its file, or stop skipping it",
            ),
            "the-tree-is-another": (replace(EXITED, last_tree="tree-2"), CHANGED, AUTO),
            "a-run-is-going-on": (replace(EXITED, open_runs=(GOING_ON,)), "a run is in progress", "wait for it to end"),
            "gate-2-is-missing": (
                judged(reason="Gate 2 waits", status="waiting", next_command="signal"),
                "Gate 2 waits",
                "signal",
            ),
            "after-a-declaration-a-run-is-missing": (
                replace(CLOSED, facts=(DECLARED,)),
                "refactoring_complete was declared after the last verdict, which does not know of it",
                AUTO,
            ),
            "and-once-the-circuit-was-reset": (
                judged(status="halted", reason="the circuit is open"),
                "the circuit is half-open: the next complete run on changed files decides",
                AUTO,
            ),
            "it-was-rewound": (replace(STALE, exited=False, iteration=0), "no complete run in GREEN yet", AUTO),
            "code-that-nobody-tested-under-a-verdict-without-a-run": (
                replace(DOCUMENT, last_tree=TREE, green_tree="tree-2"),
                CHANGED,
                AUTO,
            ),
        }
    ),
)
def test_closed(state: State, reason: str, following: str) -> None:
    standing = assess(state)
    assert (standing.is_open, standing.exit_code) == (False, 10)
    assert (standing.reason, standing.next_step) == (reason, following)


def test_a_phase_without_tests_is_looked_at_and_not_run() -> None:
    state = replace(EXITED, phase="DOCUMENT", exited=False, evaluation_is_stale=True)
    standing = assess(state, again=("phase-gate advance", False))
    assert (standing.reason, standing.next_command) == ("no verdict on DOCUMENT yet", "phase-gate advance")


@pytest.mark.parametrize(
    ("state", "tree"),
    [
        pytest.param(replace(EXITED, phase=DONE, evaluation=verdict(phase="DOCUMENT")), TREE, id="at-done"),
        pytest.param(replace(EXITED, open_runs=(replace(GOING_ON, nested=True),)), TREE, id="a-nested-run-is-going-on"),
        pytest.param(DOCUMENT, TREE, id="a-verdict-without-a-run-on-the-tested-code"),
        pytest.param(replace(EXITED, forced=True, evaluation=verdict(gate_1=False)), TREE, id="a-forced-exit-counts"),
    ],
)
def test_holds(state: State, tree: str) -> None:
    assert assess(state, tree=tree).is_open


def test_a_lost_run_closes_and_is_named() -> None:
    state = replace(EXITED, open_runs=(GOING_ON,))
    standing = assess(state, lost=(GOING_ON.id,))
    assert (standing.is_open, standing.reason) == (False, "run 01234567 began and never ended")


@pytest.mark.parametrize(
    ("evaluation", "with_both", "gate_1_only"),
    [
        pytest.param(verdict(), True, True, id="both-gates"),
        pytest.param(verdict(can_exit=False), False, True, id="gate-1-alone"),
        pytest.param(verdict(can_exit=False, gate_1=False), False, False, id="neither"),
        pytest.param(verdict(gate_1=False), True, True, id="forced"),
    ],
)
def test_gate_1_only_leaves_gate_2_out(evaluation: Evaluation, with_both: bool, gate_1_only: bool) -> None:
    state = replace(EXITED, evaluation=evaluation)
    assert assess(state).is_open is with_both
    assert assess(state, gate_1_only=True).is_open is gate_1_only


def test_gate_1_only_leaves_nothing_else_out() -> None:
    for state in (
        STALE,
        replace(EXITED, last_tree="tree-2"),
        replace(EXITED, open_runs=(GOING_ON,)),
        NEW_STATE,
    ):
        assert not assess(state, gate_1_only=True).is_open


def test_a_first_run_that_did_not_count_is_explained() -> None:
    last = Run(id="r1", kind="empty", phase="RED", at="then", why="every test was skipped")
    standing = assess(State(phase="RED", last_run=last), tree="t")
    assert (standing.status, standing.reason) == (
        "unstarted",
        "no complete run in RED yet: the last one was empty: every test was skipped",
    )
    counted = assess(State(phase="GREEN", last_run=last), tree="t")
    assert counted.reason == "no complete run in GREEN yet"
