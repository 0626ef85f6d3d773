"""What has to be so after every fault, every kill and every power failure. Each sweep uses these, and no others."""

from __future__ import annotations

import re
from collections.abc import Collection

from phase_gate.gate.runs import Green, Kind
from phase_gate.storage.lock import is_free
from phase_gate.storage.store import TaskStore
from tests.faults.children import Ended
from tests.faults.operations import GATE, PYTEST, Operation, Project
from tests.faults.pictures import DAMAGED, could_not_read_signal, take_picture, without_gate_2

SUMMARY = re.compile(r"=+ .*\b\d+ (?:passed|failed)\b.* in [\d.]+s")


def assert_old_or_new(store: TaskStore, allowed: Collection[str], cause: str) -> str:
    """The state is exactly one of those that an operation without a fault goes through. Returns which.

    A signal that could not be read is the one thing that may differ: the verdict says so, and is closed.
    """
    seen = take_picture(store)
    if cause and could_not_read_signal(seen, cause):
        alike = [each for each in allowed if without_gate_2(each) == without_gate_2(seen)]
        assert alike, f"neither old nor new, but for the signal: {seen}"
        return alike[0]
    assert seen in allowed, f"neither old nor new: {seen}\nallowed: {allowed}"
    return seen


def assert_chain_holds(project: Project) -> None:
    """Every line follows the one before, by the reader and by the command."""
    list(project.store.lines())
    audited = project.run(GATE, "audit")
    assert audited.code == 0, audited.text
    assert audited.out.startswith("intact: "), audited.text


def assert_locks_free(store: TaskStore) -> None:
    """Nobody holds the task, and no run that is gone counts as alive."""
    assert is_free(store.lock_file), "the lock is still held"
    state = store.look().state
    assert store.lost_runs(state) == tuple(run.id for run in state.open_runs), "a dead run holds its lock"


def assert_streak_has_evidence(store: TaskStore) -> None:
    """The streak is not higher than the complete green runs in a row that the ledger shows."""
    runs = 0
    for line in store.lines():
        kind, data = line.event.kind, line.event.data
        if kind in ("run-lost", "phase-entered", "repaired", "rollback-accepted"):
            runs = 0
        elif kind == "run-ended":
            if data["kind"] == Kind.COMPLETE and data["green"] == Green.GREEN:
                runs += 1
            elif data["green"] == Green.NOT_GREEN or data["kind"] == Kind.EMPTY:
                runs = 0
    assert store.look().state.streak.count <= runs, f"the streak says more than the {runs} runs that the ledger has"


def assert_output_complete(operation: Operation, ended: Ended) -> None:
    """Whatever happened to us, the user's tests ran and all of pytest's own output is there."""
    assert "INTERNALERROR" not in ended.text, ended.text
    assert "Traceback" not in ended.err, ended.text
    if operation.is_run:
        missing = [text for text in operation.shows if text not in ended.out]
        assert not missing, f"{missing} not in\n{ended.text}"
        assert SUMMARY.search(ended.out), ended.text


def assert_cause_named(operation: Operation, ended: Ended, cause: str) -> None:
    """What did not end well says why, in the words of the system."""
    if ended.code != operation.code:
        assert cause in ended.flat, f"ended with {ended.code} and does not say {cause!r}:\n{ended.text}"


def assert_acknowledged_is_there(operation: Operation, ended: Ended, seen: str, new: str) -> None:
    """A command that says that all went well has written all of it."""
    if ended.code == operation.code:
        assert seen == new, f"acknowledged, and not there:\n{seen}\n{new}\n{ended.text}"


def assert_life_goes_on(project: Project, *, is_damaged: bool, is_lost: bool) -> None:
    """The next run works without any manual step, and a run that was lost is reported as lost."""
    if is_lost:
        checked = project.run(GATE, "check")
        assert checked.code == 10, checked.text
        assert "began and never ended" in checked.flat, checked.text
    if is_damaged:
        # Somebody asked for a repair that did not happen: asking again is no extra step.
        repaired = project.run(GATE, "audit", "--repair")
        assert repaired.code == 0, repaired.text
    before = project.store.look().serial
    following = project.run(*PYTEST, "--phase=auto")
    assert following.code in (0, 10), following.text
    assert "nothing recorded" not in following.out, following.text
    assert SUMMARY.search(following.out), following.text
    after = project.store.look()
    assert after.serial > before
    assert not after.state.open_runs
    if is_lost:
        assert "was lost: it never ended" in following.flat, following.text
        kinds = [line.event.kind for line in project.store.lines()]
        assert kinds.count("run-lost") == 1, kinds
    assert_chain_holds(project)
    assert_streak_has_evidence(project.store)


def assert_all_is_well(project: Project, allowed: Collection[str], cause: str = "") -> str:
    """What can be told from the disk alone. Returns the picture."""
    store = project.store
    seen = assert_old_or_new(store, allowed, cause)
    assert is_free(store.lock_file), "the lock is still held"
    if seen != DAMAGED:
        list(store.lines())
        assert_locks_free(store)
        assert_streak_has_evidence(store)
    return seen
