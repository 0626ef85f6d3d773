"""A store in PostgreSQL: what the database itself refuses, who may do what, what breaks, and errors with remedies."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phase_gate.cli import main
from phase_gate.errors import StoreUnreachableError, UsageError
from phase_gate.storage.ledger import GENESIS
from phase_gate.stores import postgresql_store
from phase_gate.stores.choosing import StoreAddress, parse_address
from phase_gate.stores.postgresql_store import PostgresqlStore
from phase_gate.stores.shared import Head
from tests.stores.database import Database, free_port
from tests.stores.test_conformance import add

Addresses = Callable[..., StoreAddress]

pytestmark = pytest.mark.processes


@pytest.fixture
def store(address: Addresses) -> PostgresqlStore:
    return PostgresqlStore(address())


# --- what the database refuses


@pytest.mark.parametrize("user", ["dev", "boss"])
@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE phase_gate.lines SET content = ''", id="change-a-line"),
        pytest.param("DELETE FROM phase_gate.lines", id="remove-lines"),
    ],
)
def test_history_is_not_changed(database: Database, store: PostgresqlStore, user: str, statement: str) -> None:
    import psycopg

    last = add(store, Head(), "one")
    # The owner too: what he really wants he has to do on purpose.
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        database.query(statement, user=user)
    assert store.read("default", Head()).head == last


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("ALTER TABLE phase_gate.lines DISABLE TRIGGER append_only", id="take-the-trigger-off"),
        pytest.param("CREATE RULE mine AS ON INSERT TO phase_gate.lines DO INSTEAD NOTHING", id="swallow-lines"),
    ],
)
def test_a_writer_changes_no_rule(database: Database, statement: str) -> None:
    import psycopg

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        database.query(statement, user="dev")


A, B, C = ("a" * 64, "b" * 64, "c" * 64)


@pytest.mark.parametrize(
    ("seq", "prev"),
    [
        pytest.param(2, A, id="the-number-is-taken"),
        pytest.param(4, B, id="a-gap"),
        pytest.param(1, C, id="a-beginning-that-follows-something"),
    ],
)
@pytest.mark.parametrize("user", ["dev", "boss"])
def test_no_line_is_forged_into_the_sequence(
    database: Database, request: pytest.FixtureRequest, user: str, seq: int, prev: str
) -> None:
    import psycopg

    project = f"forged-{request.node.callspec.id}"
    insert = "INSERT INTO phase_gate.lines (project, task, seq, prev, hash, content) VALUES"
    database.query(f"{insert} ('{project}', 't', 1, '{GENESIS}', '{A}', ''), ('{project}', 't', 2, '{A}', '{B}', '')")
    with pytest.raises(psycopg.errors.IntegrityError):
        database.query(f"{insert} ('{project}', 't', {seq}, '{prev}', '{C}', '')", user=user)
    # Its honest twin.
    database.query(f"{insert} ('{project}', 't', 3, '{B}', '{C}', '')", user=user)


# --- rights and tables


def test_init_may_be_run_again_and_at_once(
    database: Database, tmp_path: Path, clean_environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database.query("CREATE DATABASE twice")
    threads = [threading.Thread(target=database.init, kwargs={"database": "twice"}) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    writer = PostgresqlStore(parse_address(f"{database.place(database='twice')}#any"))
    add(writer, Head(), "one")
    clean_environment.chdir(tmp_path)
    owner = f"{database.place('boss', database='twice')}#any"
    assert main(["store", "init", owner, "--writer", "dev"]) == 0
    out = capsys.readouterr().out
    assert "dev may read and add, never change or remove" in out
    assert f"PHASE_GATE_STORE={owner}" in out
    assert writer.list_tasks() == ("default",), "what was there stays"


# --- errors


def refusal(store: PostgresqlStore) -> StoreUnreachableError:
    with pytest.raises(StoreUnreachableError) as caught:
        store.read("default", Head())
    return caught.value


def test_what_is_not_there_is_named(
    database: Database, address: Addresses, clean_environment: pytest.MonkeyPatch
) -> None:
    away = refusal(PostgresqlStore(address(port=free_port())))
    assert "does not answer" in away.problem
    assert "psql" in away.remedy
    assert '"elsewhere" does not exist' in refusal(PostgresqlStore(address(database="elsewhere"))).problem
    database.query("CREATE DATABASE bare")
    assert refusal(PostgresqlStore(address(database="bare"))).remedy == "phase-gate store init"
    clean_environment.setitem(sys.modules, "psycopg", None)
    assert refusal(PostgresqlStore(address())).remedy == "pip install 'pytest-phase-gate[postgresql]'"


def test_no_right_to_write(database: Database, address: Addresses, clean_environment: pytest.MonkeyPatch) -> None:
    database.query("CREATE ROLE guest LOGIN PASSWORD 'guest-s3cret'")
    clean_environment.setenv("PGPASSWORD", "guest-s3cret")
    store = PostgresqlStore(address("guest"))
    assert "--writer" in refusal(store).remedy
    database.query("GRANT USAGE ON SCHEMA phase_gate TO guest; GRANT SELECT ON phase_gate.lines TO guest")
    with pytest.raises(StoreUnreachableError, match="permission denied"):
        add(store, Head(), "one")
    with pytest.raises(StoreUnreachableError, match="permission denied"):
        store.make_tables(())


# --- what breaks


def test_a_server_that_is_stopped_in_its_tracks(
    database: Database, store: PostgresqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers nothing, and its machine says that all is well."""
    real, stopped = postgresql_store._connect, []

    def connect(place: str) -> Any:
        found = real(place)
        stopped.append(found.info.backend_pid)
        os.kill(stopped[0], signal.SIGSTOP)
        return found

    monkeypatch.setattr(postgresql_store, "ANSWER_TIMEOUT", 0.2)
    monkeypatch.setattr(postgresql_store, "_connect", connect)
    try:
        with pytest.raises(StoreUnreachableError, match=r"no answer within 0.2 s"):
            store.read("default", Head())
    finally:
        os.kill(stopped[0], signal.SIGCONT)


# --- secrets

SECRET = "hunter2-of-the-store"


@pytest.mark.parametrize(
    "place",
    [
        f"postgresql://dev:{SECRET}@127.0.0.1/db",
        f"postgres://dev:{SECRET}@127.0.0.1/db",
        f"postgresql://:{SECRET}@127.0.0.1/db",
        f"postgresql://dev:a@{SECRET}@127.0.0.1/db",
        f"postgresql://127.0.0.1/db?password={SECRET}",
        f"postgresql://127.0.0.1/db?user=dev&sslpassword={SECRET}",
        f"postgresql://127.0.0.1/db?PASSWORD={SECRET}",
        f"postgresql://127.0.0.1/db?pass%77ord={SECRET}",
        f"postgresql://dev:pass/{SECRET}@127.0.0.1/db",
    ],
)
def test_an_address_with_a_password_is_refused(place: str) -> None:
    for text in (f"{place}#shop", place, f"{place}#no project"):
        with pytest.raises(UsageError) as caught:
            parse_address(text)
        assert SECRET not in f"{caught.value} {caught.value!r}"
