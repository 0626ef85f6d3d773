"""A store in PostgreSQL when things break: connections, the server, a pooler between. Nothing is lost or doubled."""

from __future__ import annotations

import contextlib
import shutil
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from phase_gate.errors import StoreUnreachableError
from phase_gate.stores import postgresql_session
from phase_gate.stores.address import StoreAddress
from phase_gate.stores.postgresql import PostgresqlStore
from phase_gate.stores.shared import Head
from tests.stores.database import PASSWORDS, Database, free_port
from tests.stores.lines import rows
from tests.stores.proxy import Once, Proxy
from tests.stores.test_postgresql import pid_of

Addresses = Callable[..., StoreAddress]

pytestmark = pytest.mark.processes

POOLER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@pytest.fixture
def line(database: Database) -> Iterator[Proxy]:
    with Proxy(database.port) as proxy:
        yield proxy


def add(store: PostgresqlStore, after: Head, *texts: str) -> Head:
    data, last = rows(after, *texts)
    store.append("it", after, last, data, {})
    return last


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_connection_that_is_cut_loses_and_doubles_nothing(line: Proxy, address: Addresses, way: str) -> None:
    store = PostgresqlStore(address(port=line.port))
    last = add(store, Head(), "one")
    # On its way up it was not carried out, on its way down only the answer is lost: here nobody can tell.
    line.rule = Once(way)
    last = add(store, last, "two")
    line.rule = Once(way)
    assert store.read("it", Head()).head == last
    assert [head.serial for head in (last, PostgresqlStore(address()).read("it", Head()).head)] == [2, 2]


def test_an_answer_that_is_lost_while_others_go_on(line: Proxy, address: Addresses) -> None:
    store, other = PostgresqlStore(address(port=line.port)), PostgresqlStore(address())
    first = add(store, Head(), "one")

    def lose_answer(way: str, data: bytes) -> bytes | None:
        if way == "up":
            return data
        add(other, other.read("it", Head()).head, "theirs")
        line.rule = Once("")
        return None

    line.rule = lose_answer
    # It is there, and another one after it: were it told that it moved, it would be added a second time.
    add(store, first, "two")
    found = other.read("it", Head())
    assert (found.head.serial, found.rows.count(b'"two"'), found.rows.count(b'"theirs"')) == (3, 1, 1)


def test_a_line_that_stays_cut(line: Proxy, address: Addresses) -> None:
    store = PostgresqlStore(address(port=line.port))
    last = add(store, Head(), "one")
    line.rule = lambda way, data: None
    with pytest.raises(StoreUnreachableError, match="does not answer"):
        add(store, last, "two")
    line.rule = Once("")
    assert store.read("it", Head()).head == last


def test_a_server_that_says_nothing(line: Proxy, address: Addresses, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PostgresqlStore(address(port=line.port))
    add(store, Head(), "one")
    line.rule = lambda way, data: b""
    monkeypatch.setattr(postgresql_session, "ANSWER_TIMEOUT", 0.2)
    with pytest.raises(StoreUnreachableError, match=r"no answer within 0.2 s"):
        store.read("it", Head())


def test_a_session_that_the_server_ends(database: Database, address: Addresses) -> None:
    store = PostgresqlStore(address())
    last = add(store, Head(), "one")
    assert store._session is not None
    for text in ("two", "three"):
        database.query(f"SELECT pg_terminate_backend({pid_of(store)})")
        last = add(store, last, text)
    assert store.read("it", Head()).head == Head(3, last.hash)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL], ids=["fast", "immediate", "kill"])
def test_a_server_that_comes_back(database: Database, address: Addresses, how: signal.Signals) -> None:
    store = PostgresqlStore(address())
    last = add(store, Head(), "one")
    database.stop(how)
    try:
        with pytest.raises(StoreUnreachableError, match="does not answer"):
            add(store, last, "two")
    finally:
        database.start()
    second = add(store, last, "two")
    assert store.read("it", last).head == second


@contextlib.contextmanager
def pooler(database: Database, mode: str, size: int) -> Iterator[int]:
    """Start a pooler in front of the server; give its port."""
    port = free_port()
    users = database.folder / "users.txt"
    users.write_text("".join(f'"{name}" "{word}"\n' for name, word in PASSWORDS.items()), encoding="utf-8")
    file = database.folder / f"pooler-{mode}-{size}.ini"
    file.write_text(
        f"[databases]\n* = host=127.0.0.1 port={database.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = plain\nauth_file = {users}\npool_mode = {mode}\n"
        f"default_pool_size = {size}\n",
        encoding="utf-8",
    )
    assert POOLER is not None
    process = database.spawn([POOLER, "-q", str(file)])
    try:
        end = time.monotonic() + 30
        while not database.answers(port):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        yield port
    finally:
        process.kill()
        process.wait(30)


@pytest.mark.parametrize(
    ("mode", "size"),
    [
        pytest.param("transaction", 1, id="transactions-one-process"),
        pytest.param("transaction", 20, id="transactions-many-processes"),
        pytest.param("statement", 20, id="statements"),
        pytest.param("session", 20, id="sessions"),
    ],
)
def test_a_pooler(database: Database, address: Addresses, mode: str, size: int) -> None:
    with pooler(database, mode, size) as port:
        store = PostgresqlStore(address(port=port))
        last = add(store, Head(), "one")
        assert store.read("it", Head()).head == last


#: It is tried where there is one.
vars(test_a_pooler)["__test__"] = POOLER is not None
