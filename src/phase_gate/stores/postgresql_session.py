"""One connection to a PostgreSQL server: ask, and get rows or the reason why not.

By libpq's own calls, which psycopg hands on: each question is one round trip, has a time limit, and belongs to the
process that opened the connection.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

from phase_gate.errors import StoreUnreachableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Row = tuple[bytes, ...]

#: Seconds for a connection, and for an answer. A server that is stopped in its tracks answers nothing, and its machine
#: says that all is well.
CONNECT_TIMEOUT = 10
ANSWER_TIMEOUT = 30.0

#: A dead machine is noticed within a minute, on both sides: the server holds a dead run's lock no longer.
_IDLE, _INTERVAL, _COUNT, _UNANSWERED_MS = 15, 10, 3, 45_000

#: What we ask libpq for where the address says nothing else.
_DEFAULTS = {
    "connect_timeout": str(CONNECT_TIMEOUT),
    "keepalives_idle": str(_IDLE),
    "keepalives_interval": str(_INTERVAL),
    "keepalives_count": str(_COUNT),
    "tcp_user_timeout": str(_UNANSWERED_MS),
    "fallback_application_name": "phase-gate",
}

#: What may have been set for the user or the database and would break a promise: an answer before the write is safe,
#: another meaning of names, a lock that goes because a run takes long. A stricter `synchronous_commit` stays.
_GREETING = b"""
SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(),
  pg_catalog.set_config('search_path', 'pg_catalog', false),
  pg_catalog.set_config('synchronous_commit', CASE
    WHEN pg_catalog.current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
    ELSE pg_catalog.current_setting('synchronous_commit') END, false),
  pg_catalog.set_config('default_transaction_isolation', 'read committed', false),
  pg_catalog.set_config('default_transaction_read_only', 'off', false),
  pg_catalog.set_config('idle_session_timeout', '0', false),
  pg_catalog.set_config('tcp_keepalives_idle', '%d', false),
  pg_catalog.set_config('tcp_keepalives_interval', '%d', false),
  pg_catalog.set_config('tcp_keepalives_count', '%d', false),
  pg_catalog.set_config('tcp_user_timeout', '%d', false)
""" % (_IDLE, _INTERVAL, _COUNT, _UNANSWERED_MS)

_OWN_PID = b"SELECT pg_catalog.pg_backend_pid()"

#: How often two connections are compared where a pooler stands between.
_LOOKS = 3

#: Types of what we send, as the server numbers them.
_BYTEA, _INT8, _TEXT, _INT8_ARRAY = 17, 20, 25, 1016


class Lost(Exception):  # noqa: N818  (both are caught by the store, which makes errors of them)
    """The connection is gone: whether the question was carried out is not known."""

    def __init__(self, text: str, *, is_late: bool = False) -> None:
        super().__init__(text)
        #: No answer within the limit: asking again would take as long.
        self.is_late = is_late


class Refused(Exception):  # noqa: N818
    """The server says no."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        #: Of five characters, by the SQL standard.
        self.code = code


def as_int(value: bytes) -> int:
    return int.from_bytes(value, "big", signed=True)


class Session:
    """A connection, for the process that made it."""

    def __init__(self, place: str, *, limit: float = ANSWER_TIMEOUT) -> None:
        """Connect. Raises Lost, with what libpq says."""
        pq = _load().pq
        self._limit = limit
        self._owner = os.getpid()
        self._connection: Any = pq.PGconn.connect(_conninfo(place))
        if self._connection.status != pq.ConnStatus.OK:
            text = _one_line(self._connection)
            self._connection.finish()
            raise Lost(text)
        self._connection.nonblocking = 1
        _remember(self)
        try:
            row = self.ask(_GREETING)[0]
        except Refused as error:
            self.close()
            raise Lost(str(error)) from None
        #: The server's process that answered.
        self.pid = as_int(row[0])
        self.is_standby = row[1] == b"\x01"
        #: Another program answers in the server's place: it has its own numbers for connections.
        self.is_pooled = self.pid != self._connection.backend_pid

    @property
    def is_inherited(self) -> bool:
        """Tell whether a parent made it, which goes on with it: a forked child must not write into it."""
        return self._owner != os.getpid()

    @property
    def is_usable(self) -> bool:
        return not self.is_inherited and self._connection.status == _load().pq.ConnStatus.OK

    def ask(self, statement: bytes, *values: object) -> list[Row]:
        """Run one statement as one transaction and return its rows. Raises Lost, Refused."""
        binary = _load().pq.Format.BINARY
        sent = [_encode(value) for value in values]
        texts, types, formats = ([each[index] for each in sent] for index in range(3))
        return self._exchange(
            lambda connection: connection.send_query_params(statement, texts, types, formats, result_format=binary)
        )

    def run(self, script: bytes) -> None:
        """Run several statements as one transaction. Raises Lost, Refused."""
        self._exchange(lambda connection: connection.send_query(script))

    def listen(self, channel: str) -> None:
        """Be told from now on what is said on a channel: a plain word."""
        self.ask(b"LISTEN " + channel.encode("ascii"))

    def wait(self, seconds: float) -> None:
        """Wait until something is said on a channel, or for so long."""
        connection, end = self._connection, time.monotonic() + seconds
        while connection.notifies() is None and self._is_ready(end, reads=True):
            self._take_in()
        while connection.notifies() is not None:
            pass

    def close(self) -> None:
        """End it; in a forked child only let go of it, for the parent goes on with it."""
        _forget(self)
        if not self.is_inherited:
            self._connection.finish()

    def let_go_in_child(self) -> None:
        """Close the copy of its socket that a forked child has: else a run whose process died would seem to live."""
        try:
            os.close(self._connection.socket)
        except Exception:  # it had gone before
            return

    def _exchange(self, send: Callable[[Any], None]) -> list[Row]:
        try:
            return self._read_answer(send, time.monotonic() + self._limit)
        except Refused:
            raise
        except BaseException:
            # Ctrl-C too: a connection with half an answer answers the next question with the other half.
            self.close()
            raise

    def _read_answer(self, send: Callable[[Any], None], end: float) -> list[Row]:
        pq, connection = _load().pq, self._connection
        try:
            send(connection)
            while connection.flush():
                self._wait_for(end, reads=True, writes=True)
                # The server may have to say something before it takes more.
                connection.consume_input()
        except _load().Error as error:
            raise Lost(_clean(str(error))) from None
        results = []
        while (result := self._next_result(end)) is not None:
            results.append(result)
        if not results or connection.status != pq.ConnStatus.OK:
            raise Lost(_one_line(connection))
        last = results[-1]
        if last.status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            return [tuple(last.get_value(row, column) for column in range(last.nfields)) for row in range(last.ntuples)]
        code = last.error_field(pq.DiagnosticField.SQLSTATE) or b""
        text = last.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"no reason"
        raise Refused(code.decode("ascii", "replace"), _clean(text.decode("utf-8", "replace")))

    def _next_result(self, end: float) -> Any:
        while self._connection.is_busy():
            self._wait_for(end, reads=True)
            self._take_in()
        return self._connection.get_result()

    def _take_in(self) -> None:
        try:
            self._connection.consume_input()
        except _load().Error as error:
            raise Lost(_clean(str(error))) from None

    def _wait_for(self, end: float, *, reads: bool = False, writes: bool = False) -> None:
        if not self._is_ready(end, reads=reads, writes=writes):
            raise Lost(f"no answer within {self._limit:g} s", is_late=True)

    def _is_ready(self, end: float, *, reads: bool = False, writes: bool = False) -> bool:
        """Wait until the connection can be read or written; False: not in time."""
        try:
            socket = self._connection.socket
        except _load().Error as error:
            raise Lost(_clean(str(error))) from None
        left = max(0.0, end - time.monotonic())
        found = select.select([socket] if reads else [], [socket] if writes else [], [], left)
        return any(found)


def refuse_pooler(session: Session, place: str, shown: str) -> None:
    """Raise StoreUnreachableError if a session is not one server process for as long as it lives.

    In transaction mode a pooler gives each transaction to the process that is free: locks that tell of living runs stay
    behind with a process that others use. In session mode no harm is done.
    """
    if not session.is_pooled:
        return
    other = Session(place, limit=CONNECT_TIMEOUT)
    try:
        # One of them idles while the other one asks: a pooler in transaction mode gives both the same process, or
        # gives one of them another than before.
        for _ in range(_LOOKS):
            found = (as_int(session.ask(_OWN_PID)[0][0]), as_int(other.ask(_OWN_PID)[0][0]))
            if found != (session.pid, other.pid) or session.pid == other.pid:
                raise pooled(shown)
    except Lost as error:
        raise StoreUnreachableError(
            f"{shown} is behind a pooler that gives no second connection: {error}",
            remedy="connect to the server itself, or allow the pooler more connections",
        ) from None
    finally:
        other.close()


def pooled(shown: str) -> StoreUnreachableError:
    return StoreUnreachableError(
        f"{shown} is behind a pooler in transaction mode: the locks that tell of living runs do not survive in it",
        remedy="connect to the server itself, or set pool_mode = session in the pooler",
    )


def _load() -> Any:
    """Return psycopg. Raises StoreUnreachableError where it is not installed."""
    try:
        import psycopg  # here: it takes longer to load than all of us
    except ImportError as error:
        raise StoreUnreachableError(
            f"a store in PostgreSQL needs the package psycopg, from version 3.2 on ({error})",
            remedy="pip install 'pytest-phase-gate[postgresql]'",
        ) from None
    return psycopg


def _conninfo(place: str) -> bytes:
    """Return what libpq connects with. Raises StoreUnreachableError for what it can't read: its reason may show all."""
    psycopg = _load()
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    try:
        given = conninfo_to_dict(place)
    except psycopg.Error:
        given = {"password": None}
    if "password" in given or "sslpassword" in given:  # however it is spelt
        raise StoreUnreachableError(
            "libpq can't read the store's address, or finds a password in it",
            remedy="write postgresql://USER@HOST/DATABASE#PROJECT, or postgresql:///?service=NAME#PROJECT",
        )
    text: str = make_conninfo("", **{**_DEFAULTS, **given})
    return text.encode()


def _encode(value: object) -> tuple[bytes, int, int]:
    """Return a value as the server reads it, its type, and whether it is written in binary."""
    match value:
        case bytes():
            return value, _BYTEA, 1
        case int():
            return str(value).encode(), _INT8, 0
        case str():
            return value.encode(), _TEXT, 0
        case frozenset():
            return b"{" + b",".join(str(each).encode() for each in sorted(value)) + b"}", _INT8_ARRAY, 0
    raise TypeError(f"not sent: {type(value).__name__}")


def _one_line(connection: Any) -> str:
    return _clean(connection.get_error_message())


def _clean(text: str) -> str:
    """Return what libpq says, in one line. It never prints a password."""
    return " ".join(text.split()) or "the connection is gone"


# --- fork ------------------------------------------------------------------------------------------------------------

_live: list[Session] = []
_is_watching = False


def _remember(session: Session) -> None:
    global _is_watching
    _live.append(session)
    if not _is_watching and hasattr(os, "register_at_fork"):
        _is_watching = True
        os.register_at_fork(after_in_child=_let_go_in_child)


def _forget(session: Session) -> None:
    if session in _live:
        _live.remove(session)


def _let_go_in_child() -> None:
    # Kept, not dropped: what is collected would be closed.
    for session in _live:
        session.let_go_in_child()
    _inherited.extend(_live)
    _live.clear()


_inherited: list[Session] = []
