"""All tasks of a shared store at once: one question, each verified, and none hides that it can't be trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.errors import StateError, StoreUnreachableError
from phase_gate.storage.places import task_folder
from phase_gate.storage.store import TaskStore
from phase_gate.stores.task_store import SharedTaskStore, catch_up_all
from tests.storage.stores import begin, declare, facts
from tests.stores.in_memory import InMemoryStore, Server


class Machine:
    def __init__(self, server: Server, folder: Path) -> None:
        self.folder, self.shared = folder, InMemoryStore(server)

    def open(self, task: str) -> TaskStore:
        return SharedTaskStore(self.shared, task_folder(self.folder, task), task=task, state_folder=self.folder)

    def catch_up(self) -> dict[str, StateError]:
        return catch_up_all(self.shared, self.folder, self.open)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def one(server: Server, tmp_path: Path) -> Machine:
    return Machine(server, tmp_path / "a")


@pytest.fixture
def other(server: Server, tmp_path: Path) -> Machine:
    return Machine(server, tmp_path / "b")


def test_all_tasks_come_with_one_question(one: Machine, other: Machine) -> None:
    for name in ("default", "first", "second"):
        begin(one.open(name))
    assert other.catch_up() == {}
    assert other.shared.reads == 1
    for name in ("default", "first", "second"):
        written = task_folder(other.folder, name) / "ledger.jsonl"
        assert written.read_bytes() == (task_folder(one.folder, name) / "ledger.jsonl").read_bytes()


def test_only_what_is_new_is_written(one: Machine, other: Machine) -> None:
    for name in ("first", "second"):
        begin(one.open(name))
    other.catch_up()
    declare(one.open("second"), "it")
    before = (other.folder / "tasks" / "first" / "state.json").stat().st_mtime_ns
    other.catch_up()
    assert other.shared.reads == 2
    assert (other.folder / "tasks" / "first" / "state.json").stat().st_mtime_ns == before
    assert set(facts(other.open("second").alone())) == {"it"}


def test_a_checkpoint_that_lags_does_no_harm(one: Machine, other: Machine) -> None:
    begin(one.open("first"))
    other.catch_up()
    before = (other.folder / "tasks" / "first" / "state.json").read_bytes()
    declare(other.open("first"), "mine")
    (other.folder / "tasks" / "first" / "state.json").write_bytes(before)
    declare(one.open("first"), "theirs")
    assert other.catch_up() == {}
    assert set(facts(other.open("first"))) == {"mine", "theirs"}


def test_one_that_was_changed_is_named_and_the_others_come(one: Machine, other: Machine, server: Server) -> None:
    for name in ("first", "second"):
        begin(one.open(name))
    server.rows["first"][1] = server.rows["first"][1].replace(b'"tdd"', b'"add"')
    assert list(other.catch_up()) == ["first"]
    assert (other.folder / "tasks" / "second" / "ledger.jsonl").exists()


def test_one_that_was_removed_from_the_store_is_named(one: Machine, server: Server) -> None:
    begin(one.open("first"))
    del server.rows["first"]
    refused = one.catch_up()
    assert "has no task of that name" in refused["first"].problem


def test_a_store_that_does_not_answer_is_no_empty_one(one: Machine, server: Server) -> None:
    server.is_down = True
    with pytest.raises(StoreUnreachableError):
        one.catch_up()
