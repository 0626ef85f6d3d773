"""One connection to a PostgreSQL server, by psycopg: ask, and get rows or the reason why not.

It connects by libpq's own ways: service files, PGPASSFILE, sslmode; no password stands in an address. Each question has
a time limit, and belongs to the process that opened the connection.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Generator

from phase_gate.errors import StoreUnreachableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Row = tuple["Any", ...]

_CONNECT = "psql with the same address; passwords belong into PGPASSFILE or a service file"

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


class Refused(Exception):  # noqa: N818  (caught by the store, which makes errors of it)
    """The server says no."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(" ".join(text.split()))
        #: Of five characters, by the SQL standard.
        self.code = code


class _LateError(Exception):
    """No answer within the limit: asking again would take as long."""


class Connection:
    """A connection that is made when it is asked for, and anew where it broke, or in another process."""

    def __init__(self, place: str, shown: str) -> None:
        """Take a server.

        :param shown: how messages name the store.
        """
        self._place, self._shown, self._owner = place, shown, 0
        self.opened: Any = None

    def ask(self, statement: str, *values: object) -> list[Row]:
        """Run a statement, or without values several, as one transaction; return its rows.

        Raises Refused where the server says no, StoreUnreachableError where it does not answer. Asked twice where the
        connection breaks.
        """
        psycopg = _load_psycopg()
        for is_last in (False, True):
            try:
                return self._run(statement, values)
            except (psycopg.Error, _LateError) as error:
                if is_last or isinstance(error, (_LateError, psycopg.errors.ConnectionTimeout)):
                    said = " ".join(str(error).split()) or "the connection is gone"
                    raise StoreUnreachableError(f"{self._shown} does not answer: {said}", remedy=_CONNECT) from None
        raise AssertionError("the last one returns or raises")

    def close(self) -> None:
        """End it; in a forked child only let go of it, for the parent goes on with it."""
        if self.opened is not None and self._owner == os.getpid():
            self.opened.close()
        self.opened = None

    def _run(self, statement: str, values: tuple[object, ...]) -> list[Row]:
        psycopg = _load_psycopg()
        if self.opened is None or self._owner != os.getpid() or self.opened.closed:
            self.opened = _limited().connect(
                "",
                autocommit=True,
                prepare_threshold=None,
                cursor_factory=psycopg.RawCursor,
                **_read_address(self._place),
            )
            self._owner = os.getpid()
        try:
            cursor = self.opened.execute(statement, values or None, binary=bool(values))
            return cursor.fetchall() if cursor.description else []
        except BaseException as error:  # Ctrl-C too
            if isinstance(error, psycopg.Error) and error.sqlstate and not self.opened.closed:
                raise Refused(error.sqlstate, error.diag.message_primary or "no reason") from None
            # Unless the server's whole answer was read: the next one would be what is left of it.
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
    """Hand on what psycopg waits for. Raises _LateError when the time is over."""
    ready = None
    while True:
        try:
            wanted = asks.send(ready)
        except StopIteration as stop:
            return stop.value
        ready = yield wanted
        if not ready and time.monotonic() > end:
            raise _LateError(f"no answer within {ANSWER_TIMEOUT:g} s")


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
