"""What every shared store has to be: the same tests for all kinds, by the protocol and by a task's store on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from phase_gate.errors import (
    MovedError,
    NotAllowedError,
    RollbackError,
    StoreUnreachableError,
)
from phase_gate.gate.state import Event
from phase_gate.storage.ledger import encode_transaction
from phase_gate.storage.store import TaskStore
from phase_gate.stores.shared import Head, SharedStore, Tail
from tests.storage.stores import begin, declare, share_task
from tests.stores.kinds import KINDS, Server

pytestmark = pytest.mark.processes


#: By ssh every question takes more processes, and the server does the same: a few tests in the suite, all of them with
#: `tox -e sweeps`.
SAMPLE = frozenset({"test_what_is_added_is_read", "test_the_second_of_two_is_told_that_it_moved"})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "server" in metafunc.fixturenames:
        long = {"git-ssh"} if metafunc.function.__name__ not in SAMPLE else set()
        kinds = [pytest.param(kind, marks=[pytest.mark.sweep] if kind in long else []) for kind in KINDS]
        metafunc.parametrize("server", kinds, indirect=True)


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with KINDS[request.param](tmp_path) as server:
        yield server


@pytest.fixture
def one(server: Server, tmp_path: Path) -> SharedStore:
    return server.open(tmp_path / "one")


@pytest.fixture
def other(server: Server, tmp_path: Path) -> SharedStore:
    return server.open(tmp_path / "other")


def machine(server: Server, folder: Path, *, key: bytes | None = None) -> TaskStore:
    """Return the task as one machine has it."""
    return share_task(server.open(folder), folder / ".phase-gate", key=key)


def line(after: Head, text: str, kind: str = "fact-declared", **data: Any) -> tuple[Head, bytes]:
    """Return a transaction of one line that follows another."""
    event = Event(kind=kind, data={"name": text, **data}, at="2026-01-01T00:00:00.000Z")
    rows, last = encode_transaction([event], seq=after.serial + 1, prev=after.hash, state_digest="0" * 64, key=None)
    return Head(last.seq, last.hash), rows


def add(store: SharedStore, after: Head, text: str, **objects: bytes) -> Head:
    last, rows = line(after, text)
    store.append("default", after, last, rows, objects)
    return last


# --- the protocol


def test_an_empty_store_has_nothing(one: SharedStore) -> None:
    assert one.read("default", Head()) == Tail()
    assert one.list_tasks() == ()


def test_what_is_added_is_read(one: SharedStore, other: SharedStore) -> None:
    first, rows = line(Head(), "first")
    one.append("default", Head(), first, rows, {"ab" * 32: b"packed"})
    assert other.read("default", Head()) == Tail(head=first, rows=rows, objects={"ab" * 32: b"packed"})
    second, more = line(first, "second")
    other.append("default", first, second, more, {"cd" * 32: b"two"})
    objects = {"ab" * 32: b"packed", "cd" * 32: b"two"}
    assert one.read("default", first) == Tail(head=second, rows=more, objects={"cd" * 32: b"two"})
    assert one.read("default", Head()) == Tail(head=second, rows=rows + more, objects=objects)
    assert one.read("default", second) == Tail(head=second)


def test_the_second_of_two_is_told_that_it_moved(one: SharedStore, other: SharedStore) -> None:
    head = add(one, Head(), "first")
    other.read("default", Head())
    second = add(one, head, "second")
    with pytest.raises(MovedError):
        add(other, head, "another")
    assert other.read("default", head).head == second


def test_what_is_there_already_is_added_once(one: SharedStore, server: Server, tmp_path: Path) -> None:
    last, rows = line(Head(), "first")
    for store in (one, one, server.open(tmp_path / "one"), server.open(tmp_path / "third")):
        store.append("default", Head(), last, rows, {})
    assert one.read("default", Head()) == Tail(head=last, rows=rows)


def test_a_line_that_is_not_known_is_not_followed(one: SharedStore) -> None:
    add(one, Head(), "first")
    other, _ = line(Head(), "another first")
    with pytest.raises(RollbackError):
        one.read("default", other)
    with pytest.raises(MovedError):
        add(one, other, "second")


@pytest.mark.parametrize("name", ["a", "A-b_c", "v1.2.3", "a" * 64])
def test_tasks_are_listed_and_kept_apart(one: SharedStore, other: SharedStore, name: str) -> None:
    add(one, Head(), "first")
    last, rows = line(Head(), "of another task")
    one.append(name, Head(), last, rows, {})
    assert set(other.list_tasks()) == {"default", name}
    assert other.read(name, Head()).rows == rows


def test_all_tasks_are_read_at_once_and_a_bad_one_hides_no_other(
    server: Server, one: SharedStore, other: SharedStore
) -> None:
    heads = {}
    for task in ("first", "second", "third"):
        heads[task], rows = line(Head(), task)
        one.append(task, Head(), heads[task], rows, {})
    assert {task: tail.head for task, tail in other.read_all({}).items()} == heads
    known = {task: heads[task] for task in ("first", "second")}
    last, more = line(heads["second"], "more")
    one.append("second", heads["second"], last, more, {})
    found = other.read_all(known)
    assert found == {
        "first": Tail(head=heads["first"]),
        "second": Tail(head=last, rows=more),
        "third": other.read("third", Head()),
    }
    server.cut_back("second", 1)
    gone = other.read_all({**known, "second": last})
    assert gone["second"].rows == b""
    assert gone["second"].head != last
    assert gone["first"] == Tail(head=heads["first"])


# --- a server that fails, or lies


def test_a_store_that_can_not_be_asked_says_so(server: Server, one: SharedStore, tmp_path: Path) -> None:
    head = add(one, Head(), "first")
    server.stop()
    for store in (one, server.open(tmp_path / "third")):
        with pytest.raises(StoreUnreachableError):
            store.read("default", Head())
        with pytest.raises(StoreUnreachableError):
            add(store, head, "second")
        with pytest.raises(StoreUnreachableError):
            store.list_tasks()
    server.start()
    assert one.read("default", head) == Tail(head=head)


def rewrite(server: Server, folder: Path) -> None:
    """Put a longer ledger in its place."""
    head = Head()
    for number in range(4):
        last, rows = line(head, f"forged {number}")
        server.open(folder).append("forged", head, last, rows, {})
        head = last
    server.replace("default", "forged")


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda server, folder: server.cut_back("default", 1), id="cut-back"),
        pytest.param(lambda server, folder: server.remove("default"), id="lost"),
        pytest.param(rewrite, id="rewritten"),
    ],
)
def test_a_store_that_is_not_what_it_was_is_seen(
    server: Server, tmp_path: Path, harm: Callable[[Server, Path], None]
) -> None:
    store = declare(begin(machine(server, tmp_path / "one")), "it")
    harm(server, tmp_path / "other")
    with pytest.raises((RollbackError, NotAllowedError)):
        store.read()
    with pytest.raises((RollbackError, NotAllowedError)):
        declare(machine(server, tmp_path / "one"), "more")
