"""One connection to a PostgreSQL server: ask, and get rows or the reason why not.

By libpq's own calls, which psycopg hands on: each question is one round trip, has a time limit, and belongs to the
process that opened the connection.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator

from phase_gate.stores.postgresql_connecting import (
    COUNT,
    IDLE,
    INTERVAL,
    UNANSWERED_MS,
    Lost,
    clean,
    connect,
    error_of,
    is_ready,
    load_psycopg,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Row = tuple[bytes, ...]

#: Seconds for an answer. A server that is stopped in its tracks answers nothing, and its machine says that all is well.
ANSWER_TIMEOUT = 30.0

#: What may have been set for the user or the database and would break a promise: an answer before the write is safe,
#: another meaning of names. A stricter `synchronous_commit` stays.
_GREETING = b"""
SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(),
  pg_catalog.set_config('search_path', 'pg_catalog', false),
  pg_catalog.set_config('synchronous_commit', CASE
    WHEN pg_catalog.current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
    ELSE pg_catalog.current_setting('synchronous_commit') END, false),
  pg_catalog.set_config('default_transaction_isolation', 'read committed', false),
  pg_catalog.set_config('default_transaction_read_only', 'off', false),
  pg_catalog.set_config('tcp_keepalives_idle', '%d', false),
  pg_catalog.set_config('tcp_keepalives_interval', '%d', false),
  pg_catalog.set_config('tcp_keepalives_count', '%d', false),
  pg_catalog.set_config('tcp_user_timeout', '%d', false)
""" % (IDLE, INTERVAL, COUNT, UNANSWERED_MS)

#: Types of what we send, as the server numbers them.
_BYTEA, _INT8, _TEXT = 17, 20, 25


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
        self._limit = limit
        self._owner = os.getpid()
        self._connection: Any = connect(place)
        self._connection.nonblocking = 1
        self._connection.enter_pipeline_mode()
        self._asked = 0
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
        return not self.is_inherited and self._connection.status == load_psycopg().pq.ConnStatus.OK

    def ask(self, statement: bytes, *values: object) -> list[Row]:
        """Run one statement as one transaction and return its rows. Raises Lost, Refused."""
        self._asked += 1
        number = _encode(self._asked)

        def send(connection: Any) -> None:
            # The question's number comes back before its answer: what a line brings twice is no answer to the next one.
            for text, sent in ((b"SELECT $1", [number]), (statement, [_encode(value) for value in values])):
                words, types, formats = ([each[index] for each in sent] for index in range(3))
                connection.send_query_params(text, words, types, formats, result_format=1)
            connection.pipeline_sync()

        with self._whole():
            found = self._exchange(send)
            if len(found) != 2 or not found[0].ntuples or as_int(found[0].get_value(0, 0)) != self._asked:
                raise Lost("an answer to another question")
            return _rows(found[1])

    def run(self, script: bytes) -> None:
        """Run several statements as one transaction. Raises Lost, Refused."""
        with self._whole():
            self._connection.exit_pipeline_mode()
            for result in self._exchange(lambda connection: connection.send_query(script)):
                _rows(result)
            self._connection.enter_pipeline_mode()

    def listen(self, channel: str) -> None:
        """Be told from now on what is said on a channel: a plain word."""
        self.ask(b"LISTEN " + channel.encode("ascii"))

    def wait(self, seconds: float) -> None:
        """Wait until something is said on a channel, or for so long."""
        connection, end = self._connection, time.monotonic() + seconds
        with self._whole():
            while connection.notifies() is None and is_ready(connection, end):
                connection.consume_input()
            while connection.notifies() is not None:
                pass

    def close(self) -> None:
        """End it; in a forked child only let go of it, for the parent goes on with it."""
        if not self.is_inherited:
            self._connection.finish()

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Close the connection unless the server's whole answer was read: the next one would be what is left of it."""
        try:
            yield
        except Refused:
            raise
        except load_psycopg().Error as error:
            self.close()
            raise Lost(clean(str(error))) from None
        except BaseException:  # Ctrl-C too
            self.close()
            raise

    def _exchange(self, send: Callable[[Any], None]) -> list[Any]:
        """Return what the server answers, up to where it says that the transaction is over."""
        pq, connection, end = load_psycopg().pq, self._connection, time.monotonic() + self._limit
        is_pipeline = connection.pipeline_status != pq.PipelineStatus.OFF
        send(connection)
        while connection.flush():
            self._wait_for(end, writes=True)
            # The server may have to say something before it takes more.
            connection.consume_input()
        results: list[Any] = []
        ends = 0
        while True:
            result = self._next_result(end)
            if connection.status != pq.ConnStatus.OK:
                raise Lost(error_of(connection))
            if result is None:
                ends += 1
                if not is_pipeline:
                    return results
                if ends > len(results):
                    raise Lost("half an answer")
            elif result.status == pq.ExecStatus.PIPELINE_SYNC:
                return results
            else:
                results.append(result)

    def _next_result(self, end: float) -> Any:
        while self._connection.is_busy():
            self._wait_for(end)
            self._connection.consume_input()
        return self._connection.get_result()

    def _wait_for(self, end: float, *, writes: bool = False) -> None:
        if not is_ready(self._connection, end, writes=writes):
            raise Lost(f"no answer within {self._limit:g} s", is_late=True)


def _rows(result: Any) -> list[Row]:
    """Return the rows of a result. Raises Refused."""
    pq = load_psycopg().pq
    if result.status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
        columns = range(result.nfields)
        return [tuple(result.get_value(row, column) for column in columns) for row in range(result.ntuples)]
    code = result.error_field(pq.DiagnosticField.SQLSTATE) or b""
    text = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"no reason"
    raise Refused(code.decode("ascii", "replace"), clean(text.decode("utf-8", "replace")))


def _encode(value: object) -> tuple[bytes, int, int]:
    """Return a value as the server reads it, its type, and whether it is written in binary."""
    match value:
        case bytes():
            return value, _BYTEA, 1
        case int():
            return str(value).encode(), _INT8, 0
        case str():
            return value.encode(), _TEXT, 0
    raise TypeError(f"not sent: {type(value).__name__}")
