"""What events do to a state: the streak, the end of each kind of run, and the same state from the same events."""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

import pytest

from phase_gate.gate.events import apply
from phase_gate.gate.outcomes import Green, Kind
from phase_gate.gate.state import NEW_STATE, Event, State, state_from_json, state_to_json
from phase_gate.gate.verdict import Signal
from phase_gate.proof.verdicts import Proof
from phase_gate.values import Value, replace
from tests.report.history import History

#: Trees: what the files were.
T, EDITED, REWRITTEN = "tree-1", "tree-2", "tree-3"


class Run(Value):
    """One run of a story: the tree it began on, the one it left, and what it was."""

    before: str = T
    after: str = ""
    kind: Kind = "complete"
    green: Green = "green"
    nested: bool = False

    @property
    def left(self) -> str:
        return self.after or self.before


GREEN = Run()
ODD = Run(green="odd")
RED = Run(green="not-green")


def partial(green: Green = "green", before: str = T) -> Run:
    return Run(kind="partial", green=green, before=before)


def incomplete(green: Green = "green", before: str = T, after: str = "") -> Run:
    return Run(kind="incomplete", green=green, before=before, after=after)


def entered(phase: str = "GREEN", state: State = NEW_STATE) -> State:
    return apply(state, Event(kind="phase-entered", data={"phase": phase, "how": "next", "run": None}))


def begin(state: State, run: str, tree: str = T, *, nested: bool = False) -> State:
    data = {"run": run, "phase": "GREEN", "tree": tree, "nested": nested, "rules": "rules"}
    return apply(state, Event(kind="run-started", data=data, at=f"at-{run}"))


def end(state: State, run: str, what: Run = GREEN, *, before: State | None = None) -> State:
    counts = what.kind == "complete"
    data: dict[str, Any] = {
        "run": run,
        "kind": what.kind,
        "green": what.green,
        "tree": what.left,
        "iteration": state.iteration + 1 if counts else None,
        "metrics": {},
        "inventory": f"inventory-{run}",
        "outcomes": f"outcomes-{run}",
        "known": f"inventory-{run}",
    }
    if before is not None:
        data["before"] = state_to_json(before)
    return apply(state, Event(kind="run-ended", data=data, at=f"end-{run}"))


def play(*runs: Run, state: State | None = None) -> State:
    state = entered() if state is None else state
    for number, run in enumerate(runs, start=1):
        state = end(begin(state, f"run-{number}", run.before, nested=run.nested), f"run-{number}", run)
    return state


@pytest.mark.parametrize(
    ("runs", "streak"),
    [
        pytest.param([], 0, id="entering-a-phase-begins-at-0"),
        pytest.param([GREEN], 1, id="the-first-green-run-is-1"),
        pytest.param([GREEN, GREEN], 2, id="another-on-the-same-tree-adds-1"),
        pytest.param([GREEN, Run(before=EDITED)], 1, id="an-edit-between-two-green-runs-starts-anew-at-1"),
        pytest.param(
            [GREEN, Run(before=EDITED), GREEN], 1, id="an-edit-that-is-taken-back-is-two-edits-and-starts-anew"
        ),
        pytest.param([Run(after=REWRITTEN), Run(before=REWRITTEN)], 2, id="files-that-the-tests-write-do-no-harm"),
        pytest.param([GREEN, GREEN, RED], 0, id="a-failing-run-is-0"),
        pytest.param([GREEN, ODD, GREEN], 2, id="an-odd-run-does-not-end-it-either"),
        pytest.param([GREEN, partial(), GREEN], 2, id="a-passing-partial-run-keeps-the-chain"),
        pytest.param([GREEN, partial(before=EDITED)], 1, id="a-partial-run-after-an-edit-still-leaves-the-number"),
        pytest.param([GREEN, incomplete("not-green")], 0, id="an-interrupted-run-with-a-failure-is-0"),
        pytest.param(
            [GREEN, incomplete(after=REWRITTEN), Run(before=REWRITTEN)],
            2,
            id="what-the-run-itself-rewrote-is-not-an-edit-in-between",
        ),
        pytest.param([GREEN, Run(kind="empty", green="odd")], 0, id="an-empty-run-is-0"),
        pytest.param([GREEN, Run(kind="void", green="odd"), GREEN], 2, id="a-void-run-changes-nothing"),
        pytest.param(
            [GREEN, Run(kind="nested", green="not-green", nested=True), GREEN],
            2,
            id="a-failing-nested-run-changes-nothing",
        ),
    ],
)
def test_streak(runs: list[Run], streak: int) -> None:
    assert play(*runs).streak == streak


def test_a_lost_run_is_0_and_nobody_knows_what_it_left() -> None:
    state = apply(begin(play(GREEN, GREEN), "lost"), Event(kind="run-lost", data={"run": "lost"}, at="later"))
    assert (state.streak, state.streak_tree, state.last_tree) == (0, None, None)
    assert state.last_run is not None
    assert (state.last_run.kind, state.last_run.why) == ("lost", "it began and never ended")
    assert not state.open_runs
    assert play(GREEN, state=state).streak == 1


def test_overlapping_green_runs_do_not_extend_the_streak() -> None:
    state = begin(begin(play(GREEN), "a"), "b")
    assert [run.overlaps for run in state.open_runs] == [True, True]
    state = end(state, "a")
    assert state.streak == 1
    state = end(state, "b")
    assert (state.streak, state.iteration) == (1, 3), "both are complete and count as iterations"
    assert play(GREEN, state=state).streak == 2, "the chain held through both"


def test_the_tree_of_the_last_green_run_is_kept_for_the_documents() -> None:
    assert play(Run(after=REWRITTEN)).green_tree == REWRITTEN
    assert play(GREEN, RED).green_tree is None
    assert play(GREEN, ODD).green_tree == T
    assert play(GREEN, partial("not-green")).green_tree == T, "only a complete run speaks of the whole suite"


# --- what else a run's end does, by kind


@pytest.mark.parametrize(
    ("run", "counts"),
    [
        pytest.param(GREEN, True, id="a-complete-run"),
        pytest.param(partial("not-green"), False, id="a-partial-run"),
        pytest.param(incomplete("not-green"), False, id="an-incomplete-run"),
        pytest.param(Run(kind="void"), False, id="a-void-run"),
    ],
)
def test_only_a_complete_run_is_an_iteration_and_takes_an_exit_back(run: Run, counts: bool) -> None:
    state = apply(play(GREEN), Event(kind="phase-exited", data={"phase": "GREEN", "next": "REFACTOR"}))
    after = play(run, state=state)
    assert (after.iteration, after.exited) == ((2, False) if counts else (1, True))


def test_a_void_run_takes_the_entry_back_that_it_began_with() -> None:
    state = play(GREEN)
    entry = Event(kind="phase-entered", data={"phase": "REFACTOR", "how": "next", "run": "typo"})
    during = begin(apply(state, entry), "typo")
    assert during.phase == "REFACTOR"
    after = end(during, "typo", Run(kind="void"), before=state)
    assert after == state


def test_what_happened_meanwhile_is_not_taken_back() -> None:
    entry = Event(kind="phase-entered", data={"phase": "REFACTOR", "how": "next", "run": "typo"})
    state = begin(begin(apply(play(GREEN), entry), "typo"), "other")
    after = end(state, "typo", Run(kind="void"))
    assert after.phase == "REFACTOR"
    assert [run.id for run in after.open_runs] == ["other"]


# --- any events, and the state that they give


def through_json(document: Any) -> Any:
    return json.loads(json.dumps(document))


def happened() -> list[Event]:
    """Return the events of two cycles: runs of every kind, signals, overrides, a proof, and a run that never ended."""
    history, done = History(), Signal(answer="done", reason="so it is", by="Ada")
    old = {"test_a.py::test_one": "p", "test_a.py::test_two": "s"}
    history.run("GREEN", old, tree="a")
    history.run("GREEN", old, tree="a", signal=done)
    history.run("RED", {**old, "test_b.py::test_new": "f"}, signal=done)
    history.run("GREEN", {**old, "test_b.py::test_new": "f"}, signal=done)
    history.run("GREEN", {**old, "test_b.py::test_new": "p"}, tree="b", unselected=1)
    history.run("GREEN", {**old, "test_b.py::test_new": "k"}, tree="b", interrupted="interrupted")
    history.prove(Proof())
    for kind in ("breaker-reset", "force"):
        history.override(kind, reason="it is known", by="Ada")
    history.run("RED", {**old, "test_b.py::test_new": "f"})
    history.begin_run("RED")
    fact = {"name": "fact", "value": True, "reason": "r", "by": "Ada"}
    repaired = Event(kind="repaired", data={"vanished": True}, at="later")
    return [*history.events, Event(kind="fact-declared", data=fact, at="later"), repaired]


def test_replaying_gives_the_same_state_through_any_checkpoint() -> None:
    events = happened()
    whole = reduce(apply, events, NEW_STATE)
    for cut in range(len(events)):
        checkpoint = state_from_json(through_json(state_to_json(reduce(apply, events[:cut], NEW_STATE))))
        rest = [replace(event, data=through_json(event.data)) for event in events[cut:]]
        assert reduce(apply, rest, checkpoint) == whole


@pytest.mark.parametrize("kind", ["signal-refused", "signal-withdrawn", "signal-spent"])
def test_a_signal_file_that_is_done_with_is_known(kind: str) -> None:
    state = replace(NEW_STATE, spent_signal="old")
    assert apply(state, Event(kind=kind, data={"file": "new"})).spent_signal == "new"
    assert apply(state, Event(kind=kind, data={"file": ""})).spent_signal == "old", "given without a file"


@pytest.mark.parametrize("kind", ["rewound", "something-newer"])
def test_kinds_that_are_kept_for_history_change_nothing(kind: str) -> None:
    assert apply(NEW_STATE, Event(kind=kind, data={})) is NEW_STATE
