"""A ledger belongs to one task of one lineage: what takes its place is refused, and what only moved goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.errors import ForeignStateError
from phase_gate.gate.order import Entry, entry_events
from phase_gate.gate.state import Event, state_to_json
from phase_gate.project import load_compiled
from phase_gate.storage.opening import guard_file
from phase_gate.storage.repair import repair
from phase_gate.storage.store import TaskStore
from tests.storage.stores import assert_refused, begin, contents, declare, end_cycle, fact, facts, open_store, overwrite


class User:
    """Somebody with a memory, or without one, as in CI."""

    def __init__(self, home: Path | None) -> None:
        self._home = home

    def store(self, folder: Path, task: str = "default") -> TaskStore:
        environment = {"CI": "1"} if self._home is None else {"XDG_STATE_HOME": str(self._home)}
        return open_store(folder, task=task, guard=guard_file(folder, environment))


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path / "home")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".phase-gate"


def exchange(folder: Path, other: Path) -> None:
    """Put the files of another folder in this one's place."""
    shutil.rmtree(folder)
    shutil.copytree(other, folder)


# --- what is refused


def put_in_another_task(user: User, folder: Path) -> None:
    begin(user.store(folder / "tasks" / "t2", task="t2"))
    for name in ("ledger.jsonl", "state.json"):
        shutil.copy2(folder / "tasks" / "t2" / name, folder / name)


def put_in_another_clone(user: User, folder: Path) -> None:
    other = folder.parent.with_name("clone") / ".phase-gate"
    declare(begin(user.store(other)), "a", "b", "c", "d")
    exchange(folder, other)


def put_in_what_a_container_made(user: User, folder: Path) -> None:
    shutil.rmtree(folder)
    begin(User(None).store(folder))


def begin_anew(user: User, folder: Path) -> None:
    shutil.rmtree(folder)
    begin(user.store(folder))


FOREIGN: dict[str, tuple[str, Callable[[User, Path], None]]] = {
    "the-files-of-another-task": ("the ledger here belongs to task t2, and this is task default", put_in_another_task),
    "the-folder-of-another-clone": ("another ledger than the one seen here", put_in_another_clone),
    "one-made-by-somebody-without-a-memory": ("another ledger than the one seen here", put_in_what_a_container_made),
}


@pytest.mark.parametrize("way", ["by-checkpoint", "by-replay"])
@pytest.mark.parametrize(("problem", "happens"), FOREIGN.values(), ids=FOREIGN)
def test_a_ledger_from_elsewhere_is_refused_in_mid_cycle(
    user: User, folder: Path, problem: str, happens: Callable[[User, Path], None], way: str
) -> None:
    declare(begin(user.store(folder)), "one")
    happens(user, folder)
    if way == "by-replay":
        (folder / "state.json").unlink()
    store = user.store(folder)
    said = assert_refused(store, ForeignStateError, problem)
    assert said.slug == "state-foreign"
    assert "start again" in said.remedy
    before = contents(folder)
    with pytest.raises(ForeignStateError):
        repair(store)
    assert contents(folder) == before


def test_another_task_s_ledger_can_not_be_accepted(user: User, folder: Path) -> None:
    begin(user.store(folder))
    put_in_another_task(user, folder)
    with pytest.raises(ForeignStateError), user.store(folder).transaction(accept_rollback=True) as change:
        change.record(fact("lost"))


# --- twins: what goes on


def move(folder: Path) -> Path:
    return folder.parent.rename(folder.parent.with_name("elsewhere")) / folder.name


def link(folder: Path) -> Path:
    (place := folder.parent.with_name("link")).symlink_to(folder.parent)
    return place / folder.name


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(move, id="the-project-was-moved"),
        pytest.param(link, id="a-linked-parent"),
    ],
)
def test_twin_the_same_ledger_by_another_path(user: User, folder: Path, happens: Callable[[Path], Path]) -> None:
    declare(begin(user.store(folder)), "one")
    assert facts(declare(user.store(happens(folder)), "two")) == ["one", "two"]


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(put_in_another_clone, id="another-clone-s-folder"),
        pytest.param(put_in_what_a_container_made, id="somebody-without-a-memory"),
        pytest.param(begin_anew, id="begun-anew"),
    ],
)
def test_twin_another_ledger_between_cycles(user: User, folder: Path, happens: Callable[[User, Path], object]) -> None:
    end_cycle(begin(user.store(folder)))
    happens(user, folder)
    store = declare(user.store(folder), "mine")
    assert facts(store)[-1] == "mine"
    assert not store.read().state.vanished


# --- a folder that vanished in mid-cycle: it may begin anew, and that is not forgotten until a cycle has ended


def enter_green(store: TaskStore) -> TaskStore:
    """Begin in GREEN, as a run does."""
    workflow = load_compiled("tdd")
    assert workflow is not None
    with store.transaction() as change:
        entry = Entry(workflow.phases[1], "begin")
        change.record(*entry_events(change.state, entry, workflow, run="run", allow_non_interactive=False))
    return store


def begin_with_red(store: TaskStore) -> TaskStore:
    """Go through RED: something would be lost with the folder."""
    with begin(store).transaction() as change:
        change.record(Event(kind="phase-exited", data={"next": "GREEN", "freezes": True}))
    return store


def take_back(store: TaskStore) -> None:
    """A run that turns out to be void takes back the cycle that it began."""
    with store.transaction() as change:
        before = state_to_json(change.state)
    with enter_green(store).transaction() as change:
        change.record(Event(kind="run-started", data={"run": "run", "phase": "GREEN", "tree": "", "rules": None}))
        change.record(Event(kind="run-ended", data={"run": "run", "kind": "void", "before": before}))
    assert store.read().state.phase is None


def take_baseline(store: TaskStore) -> None:
    with store.transaction() as change:
        change.record(Event(kind="baseline-taken", data={"inventory": "i", "outcomes": "o"}))


def damage_and_repair(store: TaskStore) -> None:
    begin(User(None).store(store.folder))
    store.ledger_file.write_bytes(b"{}\n")
    repair(store)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(lambda store: None, id="at-once"),
        pytest.param(take_baseline, id="after-a-baseline"),
        pytest.param(take_back, id="after-a-void-run"),
        pytest.param(damage_and_repair, id="after-a-repair-of-nothing"),
    ],
)
def test_a_folder_that_vanished_in_mid_cycle_is_not_forgotten(
    user: User, folder: Path, first: Callable[[TaskStore], None]
) -> None:
    begin_with_red(user.store(folder))
    shutil.rmtree(folder)
    first(user.store(folder))
    store = enter_green(user.store(folder))
    assert store.read().state.vanished
    assert not enter_green(User(None).store(folder.with_name("new"))).read().state.vanished


def test_twin_a_folder_without_a_red_may_go(user: User, folder: Path) -> None:
    """After one trial, say: nothing that was seen is lost."""
    begin(user.store(folder))
    shutil.rmtree(folder)
    assert not enter_green(user.store(folder)).read().state.vanished


def test_twin_after_a_whole_cycle_it_is_past(user: User, folder: Path) -> None:
    begin_with_red(user.store(folder))
    shutil.rmtree(folder)
    end_cycle(enter_green(user.store(folder)))
    shutil.rmtree(folder)
    assert not enter_green(user.store(folder)).read().state.vanished


def test_a_repair_that_cuts_the_open_cycle_off_asks_for_red_again(user: User, folder: Path) -> None:
    store = end_cycle(declare(begin(user.store(folder)), "one"))
    with store.transaction() as change:
        change.record(Event(kind="cycle-began", data={"workflow": "tdd"}))
        change.record(Event(kind="phase-entered", data={"phase": "RED"}))
        change.record(Event(kind="phase-exited", data={"next": "GREEN", "freezes": True}))
    overwrite(store.ledger_file, b'"freezes":true', b'"freezes":fals')
    repair(store)
    state = store.read().state
    assert (state.phase, state.vanished, state.freeze.red_exited) == ("DONE", True, False)
