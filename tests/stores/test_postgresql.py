"""A store in PostgreSQL: what the database itself refuses, who may do what, and errors that name their remedy."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.cli import main
from phase_gate.errors import MovedError, StoreUnreachableError, UsageError
from phase_gate.storage.ledger import GENESIS
from phase_gate.stores.address import StoreAddress, parse_address
from phase_gate.stores.postgresql import _APPEND, WRITER, PostgresqlStore
from phase_gate.stores.shared import Head
from tests.stores.database import PASSWORDS, Database, free_port
from tests.stores.lines import rows

Addresses = Callable[..., StoreAddress]

pytestmark = pytest.mark.processes


@pytest.fixture
def store(address: Addresses) -> PostgresqlStore:
    return PostgresqlStore(address())


def add(store: PostgresqlStore, after: Head, *texts: str) -> Head:
    data, last = rows(after, *texts)
    store.append("it", after, last, data, {})
    return last


# --- what the database refuses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", ["dev", "boss"])
@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE phase_gate.lines SET content = ''", id="change-a-line"),
        pytest.param("DELETE FROM phase_gate.lines", id="remove-lines"),
        pytest.param("DELETE FROM phase_gate.lines WHERE false", id="remove-no-line"),
        pytest.param("TRUNCATE phase_gate.lines CASCADE", id="empty-the-table"),
        pytest.param("UPDATE phase_gate.objects SET content = ''", id="change-an-object"),
        pytest.param("DELETE FROM phase_gate.objects", id="remove-objects"),
    ],
)
def test_history_is_not_changed(database: Database, store: PostgresqlStore, user: str, statement: str) -> None:
    import psycopg

    last = add(store, Head(), "one", "two")
    # The owner too: what he really wants he has to do on purpose.
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        database.query(statement, user=user)
    assert store.read("it", Head()).head == last


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("ALTER TABLE phase_gate.lines DISABLE TRIGGER append_only", id="take-the-trigger-off"),
        pytest.param("ALTER TABLE phase_gate.lines DROP CONSTRAINT lines_pkey CASCADE", id="drop-the-key"),
        pytest.param("DROP TABLE phase_gate.lines CASCADE", id="drop-the-table"),
        pytest.param("DROP SCHEMA phase_gate CASCADE", id="drop-the-schema"),
        pytest.param("CREATE TABLE phase_gate.mine (it text)", id="add-a-table"),
        pytest.param("CREATE RULE mine AS ON INSERT TO phase_gate.lines DO INSTEAD NOTHING", id="swallow-lines"),
        pytest.param("SET session_replication_role = replica", id="switch-keys-off"),
        pytest.param(
            "INSERT INTO phase_gate.lines (project, task, seq, prev, hash, content, at)"
            f" VALUES ('p', 't', 1, '{GENESIS}', repeat('a', 64), '', '2001-01-01')",
            id="say-when-it-was",
        ),
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
        pytest.param(3, A, id="behind-an-older-line"),
        pytest.param(3, C, id="behind-a-line-that-is-not-there"),
        pytest.param(3, GENESIS, id="a-second-beginning"),
        pytest.param(1, C, id="a-beginning-that-follows-something"),
        pytest.param(0, GENESIS, id="before-the-first"),
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


# --- rights and tables ------------------------------------------------------------------------------------------------


def test_who_may_rewrite_is_told(address: Addresses) -> None:
    writer = PostgresqlStore(address("dev")).read_rights()
    assert (writer.user, writer.has_tables, writer.may_write, writer.may_rewrite) == ("dev", True, True, False)
    owner = PostgresqlStore(address("boss")).read_rights()
    assert (owner.user, owner.may_write, owner.may_rewrite) == ("boss", True, True)
    # The server of the tests does not wait for its disk.
    assert not owner.is_durable


def test_init_may_be_run_again_and_at_once(database: Database) -> None:
    database.query("CREATE DATABASE twice")
    made: list[bool] = []
    threads = [threading.Thread(target=lambda: made.append(database.init(database="twice")[0])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(made) == 3
    assert database.init(database="twice") == (False, True)
    writer = PostgresqlStore(parse_address(f"{database.place(database='twice')}#any"))
    add(writer, Head(), "one")
    # What was there stays.
    database.init(database="twice")
    assert writer.list_tasks() == ("it",)


# --- errors -----------------------------------------------------------------------------------------------------------


def refusal(store: PostgresqlStore) -> StoreUnreachableError:
    with pytest.raises(StoreUnreachableError) as caught:
        store.read("it", Head())
    return caught.value


def test_no_server(database: Database, address: Addresses) -> None:
    error = refusal(PostgresqlStore(address(port=free_port())))
    assert "does not answer" in error.problem
    assert "psql" in error.remedy


def test_no_such_database(address: Addresses) -> None:
    assert '"elsewhere" does not exist' in refusal(PostgresqlStore(address(database="elsewhere"))).problem


def test_no_tables(database: Database, address: Addresses) -> None:
    database.query("CREATE DATABASE bare")
    store = PostgresqlStore(address(database="bare"))
    assert refusal(store).remedy == "phase-gate store init"
    assert not store.read_rights().has_tables


def test_no_right_to_write(database: Database, address: Addresses, clean_environment: pytest.MonkeyPatch) -> None:
    database.query("CREATE ROLE guest LOGIN PASSWORD 'guest-s3cret'")
    clean_environment.setenv("PGPASSWORD", "guest-s3cret")
    store = PostgresqlStore(address("guest"))
    assert WRITER in refusal(store).remedy
    database.query("GRANT USAGE ON SCHEMA phase_gate TO guest; GRANT SELECT ON phase_gate.lines TO guest")
    with pytest.raises(StoreUnreachableError, match="permission denied"):
        add(store, Head(), "one")
    with pytest.raises(StoreUnreachableError) as caught:
        database.init(user="guest")
    assert "permission denied" in caught.value.problem


def test_a_server_that_is_down_beside_one_that_answers(database: Database, address: Addresses) -> None:
    place = (
        f"postgresql://dev@127.0.0.1:{free_port()},127.0.0.1:{database.port}/postgres?target_session_attrs=read-write"
    )
    add(PostgresqlStore(parse_address(f"{place}#two-hosts")), Head(), "one")


def test_nothing_loads_psycopg_before_a_store_is_asked() -> None:
    loads = "import sys, phase_gate.plugin, phase_gate.cli, phase_gate.cli.store, phase_gate.stores.postgresql"
    done = subprocess.run([sys.executable, "-c", f"{loads}; sys.exit('psycopg' in sys.modules)"], check=False)
    assert done.returncode == 0


def test_without_psycopg(address: Addresses, clean_environment: pytest.MonkeyPatch) -> None:
    clean_environment.setitem(sys.modules, "psycopg", None)
    assert refusal(PostgresqlStore(address())).remedy == "pip install 'pytest-phase-gate[postgresql]'"


def test_a_habit_of_the_server_weakens_nothing(database: Database, address: Addresses) -> None:
    store = PostgresqlStore(address())
    try:
        database.query("ALTER ROLE dev SET synchronous_commit = off")
        database.query("ALTER ROLE dev SET default_transaction_isolation = 'serializable'")
        last = add(store, Head(), "one")
        found = store._ask(_APPEND, store._project, "it", [2], [last.hash], ["a" * 64], [b""], 2, [], [])
    finally:
        database.query("ALTER ROLE dev RESET ALL")
    assert found == [("on",)]


def test_init_and_status_say_what_the_user_may_do(
    database: Database, tmp_path: Path, clean_environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database.query("CREATE DATABASE told")
    clean_environment.chdir(tmp_path)
    owner, writer = (f"{database.place(user, database='told')}#shop" for user in ("boss", "dev"))
    assert main(["store", "init", owner, "--writer", "dev"]) == 0
    out = capsys.readouterr().out
    assert "tables: made" in out
    assert f"role {WRITER}: may read and add, never change or remove, and now also dev" in out
    assert "boss may rewrite its history" in out
    assert f"PHASE_GATE_STORE={owner}" in out
    clean_environment.setenv("PHASE_GATE_STORE", writer)
    assert main(["store", "status"]) == 0
    assert "dev may read and add, and change nothing that is there" in capsys.readouterr().out


# --- secrets ----------------------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize(
    "place",
    [
        f"postgresql://dev:pass/{SECRET}@127.0.0.1/db",
        f"postgresql://127.0.0.1/db?pass%77ord={SECRET}",
        f"postgresql://127.0.0.1/db?{SECRET}",
    ],
)
def test_what_libpq_can_not_read_is_not_repeated(place: str) -> None:
    store = PostgresqlStore(StoreAddress(kind="postgresql", place=place, project="shop"))
    error = refusal(store)
    assert SECRET not in f"{error} {error!r} {store!r}"


def test_a_password_is_shown_nowhere(
    database: Database, address: Addresses, clean_environment: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    clean_environment.delenv("PGPASSFILE")
    clean_environment.setenv("PGPASSWORD", SECRET)
    wrong = PostgresqlStore(address())
    texts = [str(refusal(wrong)), repr(wrong)]
    clean_environment.setenv("PGPASSWORD", PASSWORDS["dev"])
    right = PostgresqlStore(address())
    add(right, Head(), "one")
    texts += [repr(right), repr(right._session), repr(vars(right)), right.shown]
    with pytest.raises(MovedError) as moved:
        add(right, Head(), "two")
    texts += [str(moved.value), *capfd.readouterr()]
    assert not [text for text in texts for secret in (SECRET, PASSWORDS["dev"]) if secret in text]
    assert "password authentication failed" in texts[0]


def test_a_service_file_is_read(database: Database, tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    lines = ("[team]", "host=127.0.0.1", f"port={database.port}", "user=dev", "dbname=postgres")
    (tmp_path / "services").write_text("\n".join(lines), encoding="utf-8")
    clean_environment.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    store = PostgresqlStore(parse_address("postgresql:///?service=team#by-service"))
    add(store, Head(), "one")
    assert store.list_tasks() == ("it",)


def pid_of(store: PostgresqlStore) -> int:
    """Return which process of the server answers."""
    assert store._session is not None
    found: int = store._session.connection.info.backend_pid
    return found


# --- processes --------------------------------------------------------------------------------------------------------


def in_child(act: Callable[[], bool]) -> bool:
    """Return what a forked child finds."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            code = 0 if act() else 1
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def test_a_forked_child_has_a_connection_of_its_own(store: PostgresqlStore) -> None:
    last = add(store, Head(), "one")
    assert store._session is not None
    pid = pid_of(store)

    def look() -> bool:
        is_same = store.read("it", Head()).head == last
        add(store, last, "two")
        return is_same and pid_of(store) != pid

    assert in_child(look)
    assert store.read("it", Head()).head.serial == 2
    assert pid_of(store) == pid


def test_the_servers_clock_says_how_old_a_line_is(store: PostgresqlStore, database: Database) -> None:
    last = add(store, Head(), "one")
    assert store.age("it", last.serial) < 60
    where = f"project = '{store._project}' AND seq = {last.serial}"
    change = f"UPDATE phase_gate.lines SET at = at - interval '2 hours' WHERE {where}"
    database.query(f"SET session_replication_role = replica; {change}")
    assert 7200 <= store.age("it", last.serial) < 7260
