"""A state folder as the copy of a shared store: every rule on a store in this process."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from phase_gate.errors import (
    ForeignStateError,
    KeyMismatchError,
    MovedError,
    NotAllowedError,
    RollbackError,
    StoreBusyError,
    StoreUnreachableError,
    TamperedError,
)
from phase_gate.gate.state import Event
from phase_gate.storage.memory import Memory
from phase_gate.storage.store import TaskStore
from phase_gate.stores.shared import again_if_moved
from tests.storage.stores import begin, declare, fact, facts, open_store
from tests.stores.in_memory import InMemoryStore, Server, machine


@pytest.fixture
def server() -> Server:
    return Server()


def declare_one(store: TaskStore) -> None:
    declare(store, "faster")


def test_what_one_machine_writes_another_one_reads(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path / "a"))
    there = machine(server, tmp_path / "b")
    opened = there.look()
    assert (opened.state.phase, opened.serial) == ("RED", 3)
    assert (tmp_path / "b" / "ledger.jsonl").read_bytes() == (tmp_path / "a" / "ledger.jsonl").read_bytes()
    # What is known is not written again, and the folder opens by its own checkpoint.
    assert there.look() == opened


def test_a_damaged_object_is_not_taken_over(server: Server, tmp_path: Path) -> None:
    one = machine(server, tmp_path / "a")
    begin(one)
    name = one.keep("evidence", {"lines": 3})
    declare(one, "it")
    for brought in server.objects["default"].values():
        if name in brought:
            brought[name] = b"another"
    with pytest.raises(TamperedError):
        machine(server, tmp_path / "b").look()


def test_the_one_that_comes_second_writes_nothing(server: Server, tmp_path: Path) -> None:
    one, other = machine(server, tmp_path / "a"), machine(server, tmp_path / "b")
    begin(one)
    before = len(server.rows["default"])
    server.before_append = lambda: declare_one(other)
    with pytest.raises(MovedError):
        declare(one, "slower")
    assert len(server.rows["default"]) == before + 1
    assert set(facts(one)) == {"faster"}


def test_it_is_called_again_and_judges_on_what_is_true_by_then(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phase_gate.stores.shared.time.sleep", lambda seconds: None)
    one, other = machine(server, tmp_path / "a"), machine(server, tmp_path / "b")
    begin(one)
    server.before_append = lambda: declare_one(other)
    seen: list[set[str]] = []

    @again_if_moved
    def write() -> None:
        with one.transaction() as change:
            seen.append({each.name for each in change.state.facts})
            change.record(fact("slower"))

    write()
    assert seen == [set(), {"faster"}]
    assert set(facts(other)) == {"faster", "slower"}


def test_it_gives_up_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("phase_gate.stores.shared.time.sleep", waits.append)

    @again_if_moved
    def write() -> None:
        raise MovedError("moved", remedy="again")

    with pytest.raises(StoreBusyError):
        write()
    assert len(waits) == 12
    assert max(waits) <= 3.0


def test_a_slow_store_is_asked_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a crowd asks in vain most of the time."""
    waits: list[float] = []
    clock = itertools.count(step=2.0)  # a try takes two seconds
    monkeypatch.setattr("phase_gate.stores.shared.time.sleep", waits.append)
    monkeypatch.setattr("phase_gate.stores.shared.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("random.uniform", lambda least, most: most)

    @again_if_moved
    def write() -> None:
        raise MovedError("moved", remedy="again")

    with pytest.raises(StoreBusyError):
        write()
    assert waits == [2.0, 4.0, 8.0, 16.0, *[32.0] * 8]


def test_a_lost_answer_is_looked_up(server: Server, tmp_path: Path) -> None:
    one = machine(server, tmp_path / "a")
    begin(one)
    server.loses_answer = True
    declare(one, "it")
    assert set(facts(machine(server, tmp_path / "b"))) == {"it"}
    assert set(facts(one)) == {"it"}


def test_a_lost_answer_is_looked_up_where_another_machine_has_followed(server: Server, tmp_path: Path) -> None:
    one, other = machine(server, tmp_path / "a"), machine(server, tmp_path / "b")
    begin(one)
    server.loses_answer = True
    server.after_append = lambda: declare_one(other)
    declare(one, "it")
    assert set(facts(one)) == set(facts(other)) == {"it", "faster"}
    assert one.ledger_file.read_bytes() == other.ledger_file.read_bytes()


def test_what_the_store_does_not_have_is_not_in_the_folder(server: Server, tmp_path: Path) -> None:
    one = machine(server, tmp_path / "a")
    begin(one)
    before = (tmp_path / "a" / "ledger.jsonl").read_bytes()
    server.is_down = True
    with pytest.raises(StoreUnreachableError):
        declare(one, "it")
    assert (tmp_path / "a" / "ledger.jsonl").read_bytes() == before


def test_a_store_that_was_cut_back_is_seen(server: Server, tmp_path: Path) -> None:
    one = begin(machine(server, tmp_path / "a"))
    declare(one, "it")
    del server.rows["default"][-1]
    with pytest.raises(RollbackError):
        one.look()


def test_a_store_that_was_rewritten_is_seen(server: Server, tmp_path: Path) -> None:
    one = begin(machine(server, tmp_path / "a"))
    other = Server()
    begin(machine(other, tmp_path / "b"))
    server.rows, server.objects = other.rows, other.objects
    with pytest.raises(RollbackError):
        one.look()


def test_a_user_who_has_lost_the_folder_still_knows_how_far_the_store_was(server: Server, tmp_path: Path) -> None:
    folder, memory = tmp_path / "a", Memory(tmp_path / "seen.json", tmp_path / "a")
    declare(begin(machine(server, folder, memory=memory)), "it")
    shutil.rmtree(folder)
    assert machine(server, folder, memory=memory).look().serial == 4
    shutil.rmtree(folder)
    del server.rows["default"][-1]
    with pytest.raises(RollbackError, match="it was seen at 4"):
        machine(server, folder, memory=memory).look()


def test_another_ledger_does_not_take_the_place_of_one_whose_cycle_is_open(server: Server, tmp_path: Path) -> None:
    folder, memory = tmp_path / "a", Memory(tmp_path / "seen.json", tmp_path / "a")
    begin(machine(server, folder, memory=memory))
    shutil.rmtree(folder)
    other = Server()
    begin(machine(other, tmp_path / "b"))
    with pytest.raises(ForeignStateError):
        machine(other, folder, memory=memory).look()


def test_a_line_that_was_changed_is_seen(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path / "a"))
    server.rows["default"][1] = server.rows["default"][1].replace(b'"tdd"', b'"add"')
    with pytest.raises(TamperedError):
        machine(server, tmp_path / "b").look()


def test_a_folder_that_the_store_does_not_know_is_not_mixed_with_it(server: Server, tmp_path: Path) -> None:
    begin(open_store(tmp_path / "a"))
    with pytest.raises(NotAllowedError, match="has none of that name"):
        machine(server, tmp_path / "a").look()


def test_another_key_does_not_read_it(server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path / "a", key=b"one"))
    with pytest.raises(KeyMismatchError):
        machine(server, tmp_path / "b", key=b"two").look()
    with pytest.raises(KeyMismatchError):
        machine(server, tmp_path / "c").look()
    assert machine(server, tmp_path / "d", key=b"one").look().serial == 3


def test_a_run_on_another_machine_lives_until_its_limit(server: Server, tmp_path: Path) -> None:
    one, other = machine(server, tmp_path / "a"), machine(server, tmp_path / "b")
    begin(one)
    lock = one.hold("0123abcd")
    with one.transaction() as change:
        data = {"run": "0123abcd", "phase": "RED", "tree": "t", "rules": None, "limit": 60.0}
        change.record(Event(kind="run-started", data=data))
    state = other.look().state
    assert not other.lost_runs(state)
    server.ages["default", 4] = 59.0
    assert not other.lost_runs(state)
    server.ages["default", 4] = 61.0
    assert other.lost_runs(state) == ("0123abcd",)
    assert not one.lost_runs(state), "its own machine has its lock"
    lock.release()


def test_reading_is_one_question_and_a_change_two(server: Server, tmp_path: Path) -> None:
    one = begin(machine(server, tmp_path / "a"))
    shared = one.shared
    assert isinstance(shared, InMemoryStore)
    shared.reads = shared.writes = 0
    opened = one.look()
    assert (shared.reads, shared.writes) == (1, 0)
    with one.transaction(known=opened) as change:
        change.record(fact("it"))
    assert (shared.reads, shared.writes) == (1, 1)
