"""A shared store in a PostgreSQL database: `postgresql://HOST/DATABASE#PROJECT`. Needs the extra `postgresql`.

Reading is one query, and a transaction one statement. The database itself keeps the order: a line's number is a primary
key, and a foreign key requires the line before it with the right hash. So no writer can leave a gap, fork a ledger or
insert a line, and the second of two writers is refused.
"""

from __future__ import annotations

import contextlib
import functools
import json
import time
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path

from phase_gate.errors import MovedError, RollbackError, StoreUnreachableError
from phase_gate.storage.ledger import GENESIS
from phase_gate.stores.choosing import StoreAddress
from phase_gate.stores.shared import UNKNOWN, Head, Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Row = tuple["Any", ...]

_SCHEMA = f"""
CREATE SCHEMA IF NOT EXISTS phase_gate;

CREATE TABLE IF NOT EXISTS phase_gate.lines (
  project text NOT NULL,
  task text NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  prev text NOT NULL,
  hash text NOT NULL CHECK (length(hash) = 64),
  content bytea NOT NULL,
  before bigint GENERATED ALWAYS AS (nullif(seq - 1, 0)) STORED,
  PRIMARY KEY (project, task, seq),
  UNIQUE (project, task, seq, hash),
  CHECK (seq > 1 OR prev = '{GENESIS}'),
  FOREIGN KEY (project, task, before, prev) REFERENCES phase_gate.lines (project, task, seq, hash)
);
CREATE INDEX IF NOT EXISTS lines_first ON phase_gate.lines (project, task) WHERE seq = 1;

CREATE TABLE IF NOT EXISTS phase_gate.objects (
  project text NOT NULL,
  task text NOT NULL,
  digest text NOT NULL CHECK (length(digest) = 64),
  seq bigint NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (project, task, digest),
  FOREIGN KEY (project, task, seq) REFERENCES phase_gate.lines (project, task, seq)
);
CREATE INDEX IF NOT EXISTS objects_brought ON phase_gate.objects (project, task, seq);

CREATE OR REPLACE FUNCTION phase_gate.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'phase_gate.% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON phase_gate.lines
  FOR EACH STATEMENT EXECUTE FUNCTION phase_gate.refuse_change();
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON phase_gate.objects
  FOR EACH STATEMENT EXECUTE FUNCTION phase_gate.refuse_change();

REVOKE ALL ON SCHEMA phase_gate FROM PUBLIC;
REVOKE ALL ON phase_gate.lines, phase_gate.objects FROM PUBLIC;
"""
#: A writer can only read and add.
_GRANTS = """
GRANT USAGE ON SCHEMA phase_gate TO {user};
GRANT SELECT, INSERT ON phase_gate.lines, phase_gate.objects TO {user};
"""
#: An order for those who run it at once: CREATE ... IF NOT EXISTS may still clash.
_IN_TURN = "SELECT pg_advisory_xact_lock(8100411650013);"

#: In one statement, so that they fit together: the line that is known and those after it, the objects that came with
#: them, and the last line, for a ledger that is shorter than what is known.
_PARTS = """
SELECT 'line', task, seq, hash, content FROM asked CROSS JOIN LATERAL (
  SELECT seq, hash, content FROM phase_gate.lines
  WHERE project = $1 AND lines.task = asked.task AND seq >= asked.known) AS found
UNION ALL SELECT 'object', task, seq, digest, content FROM asked CROSS JOIN LATERAL (
  SELECT seq, digest, content FROM phase_gate.objects
  WHERE project = $1 AND objects.task = asked.task AND seq > asked.known) AS found
UNION ALL SELECT 'head', task, seq, hash, ''::bytea FROM asked CROSS JOIN LATERAL (
  SELECT seq, hash FROM phase_gate.lines
  WHERE project = $1 AND lines.task = asked.task ORDER BY seq DESC LIMIT 1) AS found
"""
_READ = f"WITH asked AS (SELECT $2::text AS task, $3::bigint AS known) {_PARTS}"
_READ_ALL = f"""
WITH asked AS (
  SELECT task, coalesce(value::bigint, 0) AS known
  FROM phase_gate.lines LEFT JOIN jsonb_each_text($2::jsonb) ON key = task WHERE project = $1 AND seq = 1)
{_PARTS}"""
#: The lines first: two writers meet there, and the second one waits before it has touched anything else. And whatever
#: was set for the user, the database or another's session in a pooler: the answer comes when the disk has it.
_APPEND = """
WITH added AS (
  INSERT INTO phase_gate.lines (project, task, seq, prev, hash, content)
  SELECT $1, $2, * FROM unnest($3::bigint[], $4::text[], $5::text[], $6::bytea[]) RETURNING 1),
kept AS (
  INSERT INTO phase_gate.objects (project, task, seq, digest, content)
  SELECT $1, $2, $7, * FROM unnest($8::text[], $9::bytea[])
  WHERE (SELECT count(*) FROM added) > 0 ON CONFLICT DO NOTHING)
SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
  THEN 'on' ELSE current_setting('synchronous_commit') END, true)
"""
_FIND_LINE = "SELECT 1 FROM phase_gate.lines WHERE project = $1 AND task = $2 AND seq = $3 AND hash = $4"
_TASKS = 'SELECT task FROM phase_gate.lines WHERE project = $1 AND seq = 1 ORDER BY task COLLATE "C"'

#: Another line has that number; the line before is not the one that was read; the server chose one of two writers.
_MOVED = frozenset({"23505", "23503", "40001", "40P01"})

#: What helps, by the server's codes.
_REMEDIES = {
    "42P01": "phase-gate store init",
    "3F000": "phase-gate store init",
    "42501": "ask the owner of the database: phase-gate store init ADDRESS --writer YOU",
    "25006": "connect to the primary, as a user whose transactions may write",
}


def open_store(address: StoreAddress, cache: Path, environment: Mapping[str, str]) -> PostgresqlStore:
    """Return the store. It connects when it is asked, and keeps nothing on this machine."""
    return PostgresqlStore(address)


class PostgresqlStore:
    """A project's tasks in a database. Each question has a connection of its own and a time limit.

    libpq connects: by service files, PGPASSFILE and sslmode. No password is in an address.
    """

    def __init__(self, address: StoreAddress) -> None:
        self.shown = str(address)
        self._project, self._place = address.project, address.place

    # --- the protocol --------------------------------------------------------------------------------------------

    def read(self, task: str, after: Head) -> Tail:
        found = _tail(after, [(kind, *rest) for kind, _, *rest in self._ask(_READ, self._project, task, after.serial)])
        if found is None:
            raise RollbackError(
                f"{self.shown} has another line {after.serial} of task {task} than the one that was read before",
                remedy="bring the store's own ledger back, then phase-gate audit",
            )
        return found

    def read_all(self, known: Mapping[str, Head]) -> dict[str, Tail]:
        serials = json.dumps({task: head.serial for task, head in known.items()})
        rows: dict[str, list[Row]] = {}
        for kind, task, *rest in self._ask(_READ_ALL, self._project, serials):
            rows.setdefault(task, []).append((kind, *rest))
        return {task: _tail(known.get(task, Head()), found) or UNKNOWN for task, found in rows.items()}

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        lines = rows.splitlines(keepends=True)
        hashes = [json.loads(content)["hash"] for content in lines]
        values = (
            *(self._project, task),
            *([*range(after.serial + 1, last.serial + 1)], [after.hash, *hashes[:-1]], hashes, lines),
            *(last.serial, sorted(objects), [objects[name] for name in sorted(objects)]),
        )
        try:
            self._ask(_APPEND, *values)
        except MovedError:
            # The same lines may be there already: an earlier answer was lost.
            if not self._ask(_FIND_LINE, self._project, task, last.serial, last.hash):
                raise

    def list_tasks(self) -> tuple[str, ...]:
        return tuple(task for (task,) in self._ask(_TASKS, self._project))

    def forget(self, task: str) -> None:
        """Nothing was kept on this machine."""

    # --- beyond it -----------------------------------------------------------------------------------------------

    def make_tables(self, writers: Iterable[str]) -> None:
        """Make what is missing, in one transaction.

        :param writers: users of the database that may read and add from now on.
        """
        quoted = (name.replace('"', '""') for name in writers)
        grants = "".join(_GRANTS.format(user=f'"{name}"') for name in quoted)
        self._ask(_IN_TURN + _SCHEMA + grants)

    def _ask(self, statement: str, *values: object) -> list[Row]:
        """Run a statement, or without values several, as one transaction; return its rows.

        Raises MovedError if another line is there, StoreUnreachableError if the server does not answer, or refuses.
        """
        psycopg = _load_psycopg()
        try:
            with contextlib.closing(_connect(self._place)) as connection:
                cursor = connection.execute(statement, values or None, binary=bool(values))
                return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise self._translate(error) from None

    def _translate(self, error: Any) -> MovedError | StoreUnreachableError:
        code = getattr(error, "sqlstate", None)
        if code is None:
            message = " ".join(str(error).split()) or "the connection is gone"
            return StoreUnreachableError(f"{self.shown} does not answer: {message}", remedy=_CONNECT)
        if code in _MOVED:
            return MovedError("another machine added to the task first", remedy="try again, with the new state")
        remedy = _REMEDIES.get(code, "fix the cause on the server, then run again")
        message = " ".join((error.diag.message_primary or "no reason").split())
        return StoreUnreachableError(f"{self.shown}: {message} ({code})", remedy=remedy)


def _tail(known: Head, rows: Iterable[Row]) -> Tail | None:
    """Return what a task has after the known line; None if it has another line in that place."""
    head, lines, objects = Head(), {}, {}
    for kind, serial, name, content in rows:
        if kind == "object":
            objects[name] = content
        elif kind == "head":
            head = Head(serial, name)
        elif serial > known.serial:
            lines[serial] = content
        elif name != known.hash:
            return None
    return Tail(head=head, rows=b"".join(lines[serial] for serial in sorted(lines)), objects=objects)


# --- a connection, by psycopg


_CONNECT = "psql with the same address; passwords belong into PGPASSFILE or a service file"

#: Seconds for an answer. A server that hangs never answers, although its machine accepts connections.
ANSWER_TIMEOUT = 30.0

#: Defaults for libpq. A dead machine is noticed within a minute, and a standby, which may lag behind, is not used.
_DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "45000",
    "target_session_attrs": "read-write",
    "fallback_application_name": "phase-gate",
}


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


def _connect(place: str) -> Any:
    psycopg = _load_psycopg()
    settings = _DEFAULTS | psycopg.conninfo.conninfo_to_dict(place)
    # Nothing is prepared: a connection pooler may hand the next statement to another session.
    return _limited().connect("", autocommit=True, prepare_threshold=None, cursor_factory=psycopg.RawCursor, **settings)


@functools.cache
def _limited() -> Any:
    """Return psycopg's connection with a time limit for every answer."""
    kind: Any = _load_psycopg().Connection

    class Limited(kind):  # type: ignore[misc]
        def wait(self, gen: Any, *given: Any, **more: Any) -> Any:
            return super().wait(_until(gen, time.monotonic() + ANSWER_TIMEOUT), *given, **more)

    return Limited


def _until(asks: Generator[Any, Any, Any], end: float) -> Generator[Any, Any, Any]:
    """Hand on what psycopg waits for. Raises its error for a lost connection when the time is over."""
    ready = None
    while True:
        try:
            wanted = asks.send(ready)
        except StopIteration as stop:
            return stop.value
        ready = yield wanted
        if not ready and time.monotonic() > end:
            raise _load_psycopg().OperationalError(f"no answer within {ANSWER_TIMEOUT:g} s")
