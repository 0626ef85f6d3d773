"""A state folder as the copy of a shared store: taken over, verified, repaired, and accepted once it was rewritten."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phase_gate.cli.story import accept_rollback, audit
from phase_gate.errors import (
    MovedError,
    NotAllowedError,
    RollbackError,
    StateError,
    StoreUnreachableError,
    TamperedError,
)
from phase_gate.gate.overrides import Person
from phase_gate.gate.state import Event
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.opening import Place
from phase_gate.storage.root import task_folder
from phase_gate.storage.store import TaskStore
from phase_gate.stores.shared import Head, Tail
from phase_gate.stores.task_store import SharedTaskStore, catch_up_all
from phase_gate.values import replace
from tests.storage.stores import begin, declare, fact, facts, open_store, overwrite, share_task
from tests.stores import in_memory
from tests.stores.in_memory import InMemoryStore, machine
from tests.stores.kinds import KINDS, Server


@pytest.fixture
def server() -> in_memory.Server:
    return in_memory.Server()


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []
    monkeypatch.setattr("phase_gate.storage.lock.time.sleep", waits.append)
    return waits


# --- what one machine writes, another one reads


def test_reading_is_one_question_and_a_change_two(server: in_memory.Server, tmp_path: Path) -> None:
    one = begin(machine(server, tmp_path / "a"))
    shared = one.shared
    assert isinstance(shared, InMemoryStore)
    shared.reads = shared.writes = 0
    opened = one.read()
    with one.transaction(known=opened) as change:
        change.record(fact("it"))
    assert (shared.reads, shared.writes) == (1, 1)
    declare(machine(server, tmp_path / "b"), "more")
    shared.reads = 0
    one.read()
    assert shared.reads == 1


@pytest.mark.parametrize("is_known", [False, True], ids=["opened-inside", "opened-before"])
def test_it_is_called_again_and_judges_on_what_is_true_by_then(
    server: in_memory.Server, tmp_path: Path, no_waits: list[float], is_known: bool
) -> None:
    one, other = begin(machine(server, tmp_path / "a")), machine(server, tmp_path / "b")
    server.before_append = lambda: declare(other, "faster")
    opened = one.read() if is_known else None
    seen: list[set[str]] = []

    @again_if_moved
    def write() -> None:
        with one.transaction(known=opened) as change:
            seen.append({each.name for each in change.state.facts})
            change.record(fact("slower"))

    write()
    assert seen == [set(), {"faster"}]
    assert set(facts(other)) == {"faster", "slower"}


@pytest.mark.parametrize("follows", [False, True], ids=["alone", "another-has-followed"])
def test_a_lost_answer_is_looked_up(server: in_memory.Server, tmp_path: Path, follows: bool) -> None:
    one, other = begin(machine(server, tmp_path / "a")), machine(server, tmp_path / "b")
    server.loses_answer = True
    server.after_append = (lambda: declare(other, "faster")) if follows else None
    declare(one, "it")
    assert set(facts(one)) == set(facts(other)) == ({"it", "faster"} if follows else {"it"})
    assert one.ledger_file.read_bytes() == other.ledger_file.read_bytes()


def test_a_run_on_another_machine_lives_until_its_limit(
    server: in_memory.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = begin(machine(server, tmp_path / "a")), machine(server, tmp_path / "b")
    lock = one.hold("0123abcd")
    with one.transaction() as change:
        data = {"run": "0123abcd", "phase": "RED", "tree": "t", "rules": None, "limit": 60.0}
        change.record(Event(kind="run-started", data=data))
    state, began = other.read().state, time.time()
    for age, lost in ((0.0, ()), (50.0, ()), (61.0, ("0123abcd",))):
        monkeypatch.setattr("phase_gate.stores.task_store.time.time", lambda age=age: began + age)
        assert other.lost_runs(state) == lost
    assert not one.lost_runs(state), "its own machine has its lock"
    lock.release()


# --- what is not taken over


def change_line(server: in_memory.Server) -> None:
    server.rows["default"][1] = server.rows["default"][1].replace(b'"tdd"', b'"add"')


def change_objects(server: in_memory.Server) -> None:
    for brought in server.objects["default"].values():
        brought.update(dict.fromkeys(brought, b"another"))


@pytest.mark.parametrize("harm", [change_line, change_objects])
def test_what_was_changed_in_the_store_is_seen(
    server: in_memory.Server, tmp_path: Path, harm: Callable[[in_memory.Server], None]
) -> None:
    one = begin(machine(server, tmp_path / "a"))
    one.keep("evidence", {"lines": 3})
    declare(one, "it")
    assert machine(server, tmp_path / "c").read().serial == 4
    harm(server)
    other = machine(server, tmp_path / "b")
    with pytest.raises(TamperedError):
        other.read()
    assert not other.ledger_file.exists(), "nothing of it was taken over"


# --- all tasks at once: one question, each verified, and none hides that it can't be trusted


class Machine:
    def __init__(self, server: in_memory.Server, folder: Path) -> None:
        self.folder, self.shared = folder, InMemoryStore(server)

    def open(self, task: str) -> TaskStore:
        return SharedTaskStore(self.shared, Place(task_folder(self.folder, task), task, state_folder=self.folder))

    def catch_up(self) -> dict[str, StateError]:
        return catch_up_all(self.shared, self.folder, self.open)


@pytest.fixture
def one(server: in_memory.Server, tmp_path: Path) -> Machine:
    return Machine(server, tmp_path / "a")


@pytest.fixture
def other(server: in_memory.Server, tmp_path: Path) -> Machine:
    return Machine(server, tmp_path / "b")


def test_all_tasks_come_with_one_question_and_only_what_is_new_is_written(one: Machine, other: Machine) -> None:
    for name in ("default", "first", "second"):
        begin(one.open(name))
    assert other.catch_up() == {}
    assert other.shared.reads == 1
    for name in ("default", "first", "second"):
        written = task_folder(other.folder, name) / "ledger.jsonl"
        assert written.read_bytes() == (task_folder(one.folder, name) / "ledger.jsonl").read_bytes()
    declare(one.open("second"), "it")
    before = (other.folder / "tasks" / "first" / "state.json").stat().st_mtime_ns
    other.catch_up()
    assert other.shared.reads == 2
    assert (other.folder / "tasks" / "first" / "state.json").stat().st_mtime_ns == before
    assert set(facts(other.open("second").alone())) == {"it"}


def test_what_can_not_be_trusted_is_named_and_the_others_come(
    one: Machine, other: Machine, server: in_memory.Server
) -> None:
    for name in ("first", "second"):
        begin(one.open(name))
    server.rows["first"][1] = server.rows["first"][1].replace(b'"tdd"', b'"add"')
    assert list(other.catch_up()) == ["first"]
    assert (other.folder / "tasks" / "second" / "ledger.jsonl").exists()
    del server.rows["second"]
    assert "has no task of that name" in one.catch_up()["second"].problem
    server.is_down = True
    with pytest.raises(StoreUnreachableError):
        one.catch_up()


# --- `audit`: it verifies the whole store, and a person may accept that it was rewritten

ADA = Person(by="Ada", reason="the remote was restored from last night", is_at_terminal=True)


@pytest.fixture(params=[name for name in KINDS if name in ("memory", "git-file")])
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "server").mkdir()
    with KINDS[request.param](tmp_path / "server") as found:
        yield found


def at(remote: Server, folder: Path) -> SharedTaskStore:
    return share_task(remote.open(folder.with_suffix(".cache")), folder, guard=folder.with_suffix(".memory"))


@pytest.fixture
def here(remote: Server, tmp_path: Path) -> SharedTaskStore:
    store = begin(at(remote, tmp_path / "a"))
    store.keep("evidence", {"lines": 3})
    return declare(store, "first", "second")


def test_a_store_that_tells_new_machines_another_story_is_seen(
    here: SharedTaskStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = declare(begin(open_store(tmp_path / "c")), "first", "another").ledger_file.read_bytes()
    shared = here.shared
    read = shared.read

    def tell(task: str, after: Head) -> Tail:
        return replace(read(task, after), rows=rows, objects={}) if after == Head() else read(task, after)

    monkeypatch.setattr(shared, "read", tell)
    # Without a memory, as in CI: only the copy tells.
    assert isinstance(audit(share_task(shared, tmp_path / "a"))[1], TamperedError)


def test_a_damaged_copy_is_taken_anew(
    here: SharedTaskStore, remote: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overwrite(here.ledger_file, b'"first"', b'"wrong"')
    for path in (tmp_path / "a" / "objects").iterdir():
        path.write_bytes(b"damaged")
    again = at(remote, tmp_path / "a")
    assert isinstance(audit(again)[1], TamperedError)
    with monkeypatch.context() as patch:
        patch.setattr(again, "_take_over", lambda opened: 1 // 0)  # it dies in the middle
        with pytest.raises(ZeroDivisionError):
            again.download_again()
    assert facts(at(remote, tmp_path / "a")) == ["first", "second"]
    assert all(again.objects.load(name) for name in (path.stem for path in (again.folder / "objects").glob("*.z")))
    assert b'"wrong"' in (tmp_path / "a" / "ledger.damaged-1").read_bytes()
    overwrite(here.ledger_file, b'"first"', b'"wrong"')
    again = at(remote, tmp_path / "a")
    assert again.download_again()[0] == 5
    assert audit(at(remote, tmp_path / "a"))[1] is None


def test_a_store_that_was_cut_back_is_accepted_by_a_person(
    here: SharedTaskStore, remote: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_waits: list[float]
) -> None:
    remote.cut_back("default", 1)
    again = at(remote, tmp_path / "a")
    assert isinstance(audit(again)[1], RollbackError)
    with pytest.raises(NotAllowedError, match="for a person at a terminal"):
        accept_rollback(again, replace(ADA, is_at_terminal=False))
    append, is_late = again.shared.append, iter((True, False, False))

    def be_late(*given: object) -> None:
        if next(is_late):
            raise MovedError("another machine is first", remedy="again")
        append(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(again.shared, "append", be_late)
    assert accept_rollback(again, ADA)["serial"] == 4
    assert facts(again) == ["first"]
    # It is on record, for all machines.
    other = at(remote, tmp_path / "b")
    other.read()
    assert [*other.lines()][-1].event.kind == "rollback-accepted"
    assert (tmp_path / "a" / "ledger.damaged-1").exists()
    with pytest.raises(NotAllowedError, match="nothing was rolled back"):
        accept_rollback(at(remote, tmp_path / "a"), ADA)


def test_another_ledger_in_its_place_is_accepted_by_a_person(
    here: SharedTaskStore, remote: Server, tmp_path: Path
) -> None:
    stranger = share_task(remote.open(tmp_path / "c.cache"), tmp_path / "c")
    remote.remove("default")
    begin(stranger)
    again = at(remote, tmp_path / "a")
    assert isinstance(audit(again)[1], StateError)
    assert accept_rollback(again, ADA)["serial"] == 3
    assert again.read().lineage == stranger.read().lineage
