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

#: Seconds for an answer. A server that is stopped in its tracks answers nothing, and its machine says that all is well.
ANSWER_TIMEOUT = 30.0

#: What we ask libpq for where the address says nothing else. A dead machine is noticed within a minute, and a standby,
#: which may lag behind, is not asked.
_DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "45000",
    "target_session_attrs": "read-write",
    "fallback_application_name": "phase-gate",
}


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

    def __init__(self, place: str) -> None:
        """Connect. Raises Lost, with what libpq says."""
        self._owner, self._psycopg = os.getpid(), _load_psycopg()
        given = _read_address(place)
        try:
            self.connection: Any = _limited().connect(
                "", autocommit=True, prepare_threshold=None, cursor_factory=self._psycopg.RawCursor, **given
            )
        except self._psycopg.Error as error:
            raise Lost(str(error), is_late=isinstance(error, self._psycopg.errors.ConnectionTimeout)) from None

    @property
    def is_usable(self) -> bool:
        return self._owner == os.getpid() and not self.connection.closed

    def ask(self, statement: str, *values: object) -> list[Row]:
        """Run one statement as one transaction and return its rows. Raises Lost, Refused."""
        with self._whole():
            cursor = self.connection.execute(statement, values or None, binary=True)
            return cursor.fetchall() if cursor.description else []

    def run(self, script: str) -> None:
        """Run several statements as one transaction. Raises Lost, Refused."""
        with self._whole():
            self.connection.execute(script)

    def close(self) -> None:
        """End it; in a forked child only let go of it, for the parent goes on with it."""
        if self._owner == os.getpid():
            self.connection.close()

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Close the connection unless the server's whole answer was read: the next one would be what is left of it."""
        try:
            yield
        except self._psycopg.Error as error:
            if error.sqlstate and not self.connection.closed:
                raise Refused(error.sqlstate, error.diag.message_primary or "no reason") from None
            self.close()
            raise Lost(str(error)) from None
        except BaseException:  # Ctrl-C too
            self.close()
            raise


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
        def __del__(self) -> None:
            """Warn no one: it lives as long as the process, and libpq closes it, in the process that opened it."""

        def wait(self, gen: Any, *given: Any, **more: Any) -> Any:
            return super().wait(_until(gen, time.monotonic() + ANSWER_TIMEOUT), *given, **more)

    return Limited


def _until(asks: Generator[Any, Any, Any], end: float) -> Generator[Any, Any, Any]:
    """Hand on what psycopg waits for. Raises Lost when the time is over."""
    ready = None
    while True:
        try:
            wanted = asks.send(ready)
        except StopIteration as stop:
            return stop.value
        ready = yield wanted
        if not ready and time.monotonic() > end:
            raise Lost(f"no answer within {ANSWER_TIMEOUT:g} s", is_late=True)


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
