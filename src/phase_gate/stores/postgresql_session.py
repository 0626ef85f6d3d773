"""One connection to a PostgreSQL server, by psycopg: ask, and get rows or the reason why not.

It connects by libpq's own ways: service files, PGPASSFILE, sslmode; no password stands in an address. Each question has
a time limit, and belongs to the process that opened the connection.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Generator, Iterator

from phase_gate.errors import StoreUnreachableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Row = tuple["Any", ...]

#: Seconds for a connection, and for an answer. A server that is stopped in its tracks answers nothing, and its machine
#: says that all is well.
_CONNECT_TIMEOUT, ANSWER_TIMEOUT = 10, 30.0

#: What we ask libpq for where the address says nothing else. A dead machine is noticed within a minute.
_DEFAULTS = {
    "connect_timeout": str(_CONNECT_TIMEOUT),
    "keepalives_idle": "15",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "45000",
    "fallback_application_name": "phase-gate",
}

#: What may have been set for the user or the database and would break a promise: an answer before the write is safe,
#: another meaning of names. A stricter `synchronous_commit` stays.
_GREETING = """
SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(),
  pg_catalog.set_config('search_path', 'pg_catalog', false),
  pg_catalog.set_config('synchronous_commit', CASE
    WHEN pg_catalog.current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
    ELSE pg_catalog.current_setting('synchronous_commit') END, false),
  pg_catalog.set_config('default_transaction_isolation', 'read committed', false),
  pg_catalog.set_config('default_transaction_read_only', 'off', false),
  pg_catalog.set_config('tcp_keepalives_idle', '15', false),
  pg_catalog.set_config('tcp_keepalives_interval', '10', false),
  pg_catalog.set_config('tcp_keepalives_count', '3', false),
  pg_catalog.set_config('tcp_user_timeout', '45000', false)
"""
_OWN_PID = "SELECT pg_catalog.pg_backend_pid()"
#: How often two connections are compared where a pooler stands between.
_LOOKS = 3


class Lost(Exception):  # noqa: N818  (both are caught by the store, which makes errors of them)
    """The connection is gone: whether the question was carried out is not known."""

    def __init__(self, text: str, *, is_late: bool = False) -> None:
        super().__init__(" ".join(text.split()) or "the connection is gone")
        #: No answer within the limit: asking again would take as long.
        self.is_late = is_late


class Refused(Exception):  # noqa: N818
    """The server says no."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(" ".join(text.split()))
        #: Of five characters, by the SQL standard.
        self.code = code


class Session:
    """A connection, for the process that made it."""

    def __init__(self, place: str, *, limit: float = ANSWER_TIMEOUT) -> None:
        """Connect. Raises Lost, with what libpq says."""
        self._owner, self._psycopg = os.getpid(), _load_psycopg()
        given = _read_address(place)
        try:
            self._connection: Any = _limited().connect(
                "", autocommit=True, prepare_threshold=None, cursor_factory=self._psycopg.RawCursor, **given
            )
        except self._psycopg.Error as error:
            raise Lost(str(error), is_late=isinstance(error, self._psycopg.errors.ConnectionTimeout)) from None
        self.limit = limit
        try:
            #: The server's process that answered.
            self.pid, self.is_standby, *_ = self.ask(_GREETING)[0]
        except Refused as error:
            self.close()
            raise Lost(str(error)) from None

    @property
    def limit(self) -> float:
        """Seconds for an answer."""
        return float(self._connection.limit)

    @limit.setter
    def limit(self, seconds: float) -> None:
        self._connection.limit = seconds

    @property
    def is_usable(self) -> bool:
        return self._owner == os.getpid() and not self._connection.closed

    def ask(self, statement: str, *values: object) -> list[Row]:
        """Run one statement as one transaction and return its rows. Raises Lost, Refused."""
        with self._whole():
            cursor = self._connection.execute(statement, values or None, binary=True)
            return cursor.fetchall() if cursor.description else []

    def run(self, script: str) -> None:
        """Run several statements as one transaction. Raises Lost, Refused."""
        with self._whole():
            self._connection.execute(script)

    def wait(self, seconds: float) -> None:
        """Wait until something is said on a channel that it listens to, or for so long."""
        with self._whole():
            for _ in self._connection.notifies(timeout=seconds, stop_after=1):
                pass

    def close(self) -> None:
        """End it; in a forked child only let go of it, for the parent goes on with it."""
        if self._owner == os.getpid():
            self._connection.close()

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Close the connection unless the server's whole answer was read: the next one would be what is left of it."""
        try:
            yield
        except self._psycopg.Error as error:
            if error.sqlstate and not self._connection.closed:
                raise Refused(error.sqlstate, error.diag.message_primary or "no reason") from None
            self.close()
            raise Lost(str(error)) from None
        except BaseException:  # Ctrl-C too
            self.close()
            raise

    def refuse_pooler(self, place: str, shown: str) -> None:
        """Raise StoreUnreachableError if it is not one server process for as long as it lives.

        In transaction mode a pooler gives each transaction to the process that is free: what our session has set, that
        an answer waits for the disk, holds in another one. In session mode no harm is done.
        """
        if self.pid == self._connection.info.backend_pid:
            return
        other = Session(place, limit=_CONNECT_TIMEOUT)
        try:
            # One of them idles while the other one asks: a pooler in transaction mode gives both the same process, or
            # gives one of them another than before.
            for _ in range(_LOOKS):
                found = (self.ask(_OWN_PID)[0][0], other.ask(_OWN_PID)[0][0])
                if found != (self.pid, other.pid) or self.pid == other.pid:
                    raise StoreUnreachableError(
                        f"{shown} is behind a pooler in transaction mode: what makes a write safe is not set in all of"
                        " its processes",
                        remedy="connect to the server itself, or set pool_mode = session in the pooler",
                    )
        finally:
            other.close()


def _load_psycopg() -> Any:
    """Return psycopg. Raises StoreUnreachableError where it is not installed."""
    try:
        import psycopg  # here: it takes longer to load than all of us
    except ImportError as error:
        raise StoreUnreachableError(
            f"a store in PostgreSQL needs the package psycopg, from version 3.2 on ({error})",
            remedy="pip install 'pytest-phase-gate[postgresql]'",
        ) from None
    return psycopg


@functools.cache
def _limited() -> Any:
    """Return psycopg's connection with a time limit for every answer."""
    kind: Any = _load_psycopg().Connection

    class Limited(kind):  # type: ignore[misc]
        limit = ANSWER_TIMEOUT

        def __del__(self) -> None:
            """Warn no one: it lives as long as the process, and libpq closes it, in the process that opened it."""

        def wait(self, gen: Any, *given: Any, **more: Any) -> Any:
            # A wait for notifications has a limit of its own.
            return super().wait(gen if given or more else _until(gen, self.limit), *given, **more)

    return Limited


def _until(asks: Generator[Any, Any, Any], limit: float) -> Generator[Any, Any, Any]:
    """Hand on what psycopg waits for. Raises Lost when the time is over."""
    end, ready = time.monotonic() + limit, None
    while True:
        try:
            wanted = asks.send(ready)
        except StopIteration as stop:
            return stop.value
        ready = yield wanted
        if not ready and time.monotonic() > end:
            raise Lost(f"no answer within {limit:g} s", is_late=True)


def _read_address(place: str) -> dict[str, str]:
    """Return what libpq connects with. Raises StoreUnreachableError for what it can't read: its reason may show all."""
    psycopg = _load_psycopg()
    from psycopg.conninfo import conninfo_to_dict

    try:
        given = {name: str(value) for name, value in conninfo_to_dict(place).items()}
        float(given.get("connect_timeout", 0))
    except (psycopg.Error, ValueError):
        given = {"password": ""}
    if "password" in given or "sslpassword" in given:  # however it is spelt
        raise StoreUnreachableError(
            "libpq can't read the store's address, or finds a password in it",
            remedy="write postgresql://USER@HOST/DATABASE#PROJECT, or postgresql:///?service=NAME#PROJECT",
        )
    return {**_DEFAULTS, **given}
