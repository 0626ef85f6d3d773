"""What `check` answers: does the last verdict still hold? Every condition of the design, one row each."""

from __future__ import annotations

import pytest

from phase_gate.gate.measured import Waiver
from phase_gate.gate.standing import WayOn, assess
from phase_gate.gate.state import NEW_STATE, Fact, OpenRun, Overrides, RunSummary, State, Trees
from phase_gate.gate.verdict import Evaluation
from phase_gate.values import replace
from phase_gate.workflow.names import DONE
from tests.gate.verdicts import AT, verdict

TREE = "tree-1"


EXITED = replace(NEW_STATE, phase="GREEN", iteration=2, exited=True, trees=Trees(last=TREE), evaluation=verdict())
GOING_ON = OpenRun(id="0123456789ab", phase="GREEN", at="now", tree=TREE)
LATER = "2026-01-01T00:00:01.000Z"
CLOSED = replace(EXITED, exited=False, evaluation=verdict(can_exit=False, gate_1=False, status="closed"))
WITHOUT_RUN = verdict(phase="DOCUMENT", run=None, metrics={"code_as_tested": True})
DOCUMENT = replace(
    NEW_STATE, phase="DOCUMENT", trees=Trees(last="partial-run-left", green=TREE), evaluation=WITHOUT_RUN
)


def test_an_exited_phase_holds() -> None:
    standing = assess(EXITED, tree=TREE, at=AT)
    assert (standing.is_open, standing.exit_code) == (True, 0)
    assert (standing.status, standing.next_command) == ("open", "pytest --phase=refactor")
    assert standing.reason == "both gates are open: GREEN has exited"


@pytest.mark.parametrize(
    ("state", "tree", "reason", "following"),
    [
        pytest.param(NEW_STATE, TREE, "no run is recorded yet", "pytest --phase=red", id="nothing-was-ever-run"),
        pytest.param(
            replace(EXITED, phase="REFACTOR", evaluation_is_stale=True),
            TREE,
            "no complete run in REFACTOR yet",
            "pytest --phase=auto",
            id="another-phase-was-entered-since",
        ),
        pytest.param(
            replace(EXITED, evaluation=None),
            TREE,
            "no complete run in GREEN yet",
            "pytest --phase=auto",
            id="the-phase-has-no-verdict",
        ),
        pytest.param(
            replace(EXITED, evaluation_is_stale=True),
            TREE,
            "a run came after the last verdict: only a complete run makes a new one",
            "pytest --phase=auto",
            id="something-happened-since",
        ),
        pytest.param(
            replace(
                EXITED,
                evaluation_is_stale=True,
                last_run=RunSummary(id="r2", kind="partial", phase="GREEN", at="now"),
            ),
            TREE,
            "a run came after the last verdict (partial): only a complete run makes a new one",
            "pytest --phase=auto",
            id="a-partial-run-came-since",
        ),
        pytest.param(
            EXITED, "tree-2", "files have changed since the last run", "pytest --phase=auto", id="the-tree-is-another"
        ),
        pytest.param(
            replace(EXITED, trees=Trees()),
            TREE,
            "files have changed since the last run",
            "pytest --phase=auto",
            id="what-the-run-left-is-not-known",
        ),
        pytest.param(
            replace(EXITED, open_runs=(GOING_ON,)),
            TREE,
            "a run is going on",
            "wait for it to end",
            id="a-run-is-going-on",
        ),
        pytest.param(
            replace(EXITED, task="login", open_runs=(), evaluation_is_stale=True),
            TREE,
            "a run came after the last verdict: only a complete run makes a new one",
            "pytest --phase=auto --phase-task=login",
            id="the-next-command-names-the-task",
        ),
        pytest.param(
            replace(
                EXITED,
                evaluation=verdict(
                    can_exit=False, reason="Gate 1 is open; Gate 2 waits", status="waiting", next_command="signal"
                ),
            ),
            TREE,
            "Gate 1 is open; Gate 2 waits",
            "signal",
            id="gate-2-is-missing",
        ),
        pytest.param(
            replace(
                EXITED,
                evaluation=verdict(
                    can_exit=False, gate_1=False, status="closed", reason="1 fails", next_command="", next_hint="mend"
                ),
            ),
            TREE,
            "1 fails",
            "mend",
            id="gate-1-is-closed",
        ),
        pytest.param(
            replace(CLOSED, facts=(Fact(name="refactoring_complete", value=True, reason="r", by="Ada", at=LATER),)),
            TREE,
            "refactoring_complete was declared after the last verdict, which does not know of it",
            "pytest --phase=auto",
            id="after-a-declaration-a-run-is-missing",
        ),
        pytest.param(
            replace(
                CLOSED,
                overrides=Overrides(
                    waivers=(Waiver(guard="tests-kept", findings=("f",), reason="r", by="Ada", at=LATER),)
                ),
            ),
            TREE,
            "tests-kept was waived after the last verdict, which does not know of it",
            "pytest --phase=auto",
            id="so-it-is-after-a-waiver",
        ),
        pytest.param(
            replace(EXITED, evaluation=verdict(can_exit=False, status="halted", reason="the circuit is open")),
            TREE,
            "the circuit is half-open: the next complete run on changed files decides",
            "pytest --phase=auto",
            id="and-once-the-circuit-was-reset",
        ),
        pytest.param(
            replace(EXITED, exited=False, iteration=0, evaluation_is_stale=True),
            TREE,
            "no complete run in GREEN yet",
            "pytest --phase=auto",
            id="a-phase-that-was-rewound-has-no-verdict",
        ),
        pytest.param(
            DOCUMENT,
            "tree-2",
            "files have changed since the last run",
            "pytest --phase=auto",
            id="code-that-nobody-tested-under-a-verdict-without-a-run",
        ),
    ],
)
def test_closed(state: State, tree: str, reason: str, following: str) -> None:
    standing = assess(state, tree=tree, at=AT)
    assert (standing.is_open, standing.exit_code) == (False, 10)
    assert (standing.reason, standing.next_step) == (reason, following)


def test_a_phase_without_tests_is_looked_at_and_not_run() -> None:
    state = replace(EXITED, phase="DOCUMENT", exited=False, evaluation_is_stale=True)
    standing = assess(state, tree=TREE, at=AT, way_on=lambda: WayOn("phase-gate advance", takes_run=False))
    assert (standing.reason, standing.next_command) == ("no verdict on DOCUMENT yet", "phase-gate advance")


@pytest.mark.parametrize(
    ("state", "tree"),
    [
        pytest.param(
            replace(EXITED, phase=DONE, evaluation=verdict(phase="DOCUMENT")),
            TREE,
            id="at-done-the-last-verdict-counts",
        ),
        pytest.param(
            replace(EXITED, open_runs=(replace(GOING_ON, nested=True),)), TREE, id="a-nested-run-that-is-going-on"
        ),
        pytest.param(
            replace(EXITED, last_run=RunSummary(id="r1", kind="complete", phase="GREEN", at="now")),
            TREE,
            id="the-run-itself-is-the-last",
        ),
        pytest.param(DOCUMENT, TREE, id="a-verdict-without-a-run-on-the-tested-code"),
        pytest.param(
            replace(DOCUMENT, evaluation=verdict(phase="DOCUMENT", run=None), trees=Trees(last="partial-run-left")),
            "tree-2",
            id="a-verdict-that-never-asked-for-tested-code",
        ),
        pytest.param(
            replace(EXITED, forced=True, evaluation=verdict(gate_1=False, forced_exit=True)),
            TREE,
            id="a-forced-exit-counts",
        ),
    ],
)
def test_holds(state: State, tree: str) -> None:
    assert assess(state, tree=tree, at=AT).is_open


def test_a_lost_run_closes_and_is_named() -> None:
    state = replace(EXITED, open_runs=(GOING_ON,))
    standing = assess(state, tree=TREE, at=AT, lost=(GOING_ON.id,))
    assert (standing.is_open, standing.reason) == (False, "run 01234567 began and never ended")


def test_a_lost_nested_run_does_no_harm() -> None:
    state = replace(EXITED, open_runs=(replace(GOING_ON, nested=True),))
    assert assess(state, tree=TREE, at=AT, lost=(GOING_ON.id,)).is_open


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
    assert assess(state, tree=TREE, at=AT).is_open is with_both
    assert assess(state, tree=TREE, at=AT, gate_1_only=True).is_open is gate_1_only


def test_gate_1_only_leaves_nothing_else_out() -> None:
    for state, tree, lost in (
        (replace(EXITED, evaluation_is_stale=True), TREE, ()),
        (EXITED, "tree-2", ()),
        (replace(EXITED, open_runs=(GOING_ON,)), TREE, ()),
        (replace(EXITED, open_runs=(GOING_ON,)), TREE, (GOING_ON.id,)),
        (NEW_STATE, TREE, ()),
    ):
        assert not assess(state, tree=tree, at=AT, lost=lost, gate_1_only=True).is_open


def test_a_first_run_that_did_not_count_is_explained() -> None:
    last = RunSummary(id="r1", kind="empty", phase="RED", at="then", why="every test was skipped")
    standing = assess(State(phase="RED", last_run=last), tree="t", at=AT)
    assert (standing.status, standing.reason) == (
        "unstarted",
        "no complete run in RED yet: the last one was empty: every test was skipped",
    )
    counted = assess(State(phase="GREEN", last_run=last), tree="t", at=AT)
    assert counted.reason == "no complete run in GREEN yet"
