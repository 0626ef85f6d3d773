"""A shared store in a PostgreSQL database: `postgresql://HOST/DATABASE#PROJECT`. Needs the extra `postgresql`.

Reading is one question, and a transaction one statement. The database itself keeps the order: a line's number is a
primary key, and a foreign key asks that the line before it is there with the hash that this one follows. So no writer
can leave a gap, fork a ledger or put a line in between, and the second of two is refused. How old a line is, the
server's clock says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from phase_gate.errors import MovedError, RollbackError, StoreUnreachableError
from phase_gate.storage.ledger import GENESIS
from phase_gate.stores.address import StoreAddress
from phase_gate.stores.postgresql_session import Connection, Refused, Row
from phase_gate.stores.shared import Head, Tail

_SCHEMA = f"""
CREATE SCHEMA IF NOT EXISTS phase_gate;

CREATE TABLE IF NOT EXISTS phase_gate.lines (
  project text NOT NULL,
  task text NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  prev text NOT NULL,
  hash text NOT NULL CHECK (length(hash) = 64),
  content bytea NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
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
#: A writer may read and add, and nothing else. By columns: the server's clock says when, not the writer's.
_GRANTS = """
GRANT USAGE ON SCHEMA phase_gate TO {user};
GRANT SELECT ON phase_gate.lines, phase_gate.objects TO {user};
GRANT INSERT (project, task, seq, prev, hash, content) ON phase_gate.lines TO {user};
GRANT INSERT (project, task, digest, seq, content) ON phase_gate.objects TO {user};
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
_AGE = """
SELECT extract(epoch FROM clock_timestamp() - at)::float8 FROM phase_gate.lines
WHERE project = $1 AND task = $2 AND seq = $3
"""

#: Another line has that number; the line before is not the one that was read; the server chose one of two writers.
_MOVED = frozenset({"23505", "23503", "40001", "40P01"})

#: What helps, by the server's codes.
_REMEDIES = {
    "42P01": "phase-gate store init",
    "3F000": "phase-gate store init",
    "42501": "ask the owner of the database: phase-gate store init ADDRESS --writer YOU",
    "25006": "connect to the primary, as a user whose transactions may write",
    "53100": "make room on the server's disk, then run again",
    "53300": "allow the server more connections, then run again",
}


def open_store(address: StoreAddress, cache: Path, environment: Mapping[str, str]) -> PostgresqlStore:
    """Return the store. It connects when it is asked, and keeps nothing on this machine."""
    return PostgresqlStore(address)


class PostgresqlStore:
    def __init__(self, address: StoreAddress) -> None:
        self.shown = str(address)
        self._project, self._connection = address.project, Connection(address.place, self.shown)

    # --- the protocol --------------------------------------------------------------------------------------------

    def read(self, task: str, after: Head) -> Tail:
        found = _Answer(after)
        for kind, _, *rest in self._ask(_READ, self._project, task, after.serial):
            found.add(kind, *rest)
        if found.is_other:
            raise RollbackError(
                f"{self.shown} has another line {after.serial} of task {task} than the one that was read before",
                remedy="bring the store's own ledger back, then phase-gate audit",
            )
        return found.tail()

    def read_all(self, known: Mapping[str, Head]) -> dict[str, Tail]:
        """Return what each task has after the line that is known of it; of one whose line is another, only the last."""
        serials = json.dumps({task: head.serial for task, head in known.items()})
        answers: dict[str, _Answer] = {}
        for kind, task, *rest in self._ask(_READ_ALL, self._project, serials):
            answers.setdefault(task, _Answer(known.get(task, Head()))).add(kind, *rest)
        return {task: answer.tail() for task, answer in answers.items()}

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        lines = rows.splitlines(keepends=True)
        hashes = [json.loads(content)["hash"] for content in lines]
        values = (
            *(self._project, task),
            *([*range(after.serial + 1, last.serial + 1)], [after.hash, *hashes[:-1]], hashes, lines),
            *(last.serial, sorted(objects), [objects[name] for name in sorted(objects)]),
        )
        try:
            # Asked twice where the connection breaks: the same lines are not added again.
            self._connection.ask(_APPEND, *values)
        except Refused as error:
            if error.code not in _MOVED:
                raise self._translate(error) from None
            if self._ask(_FIND_LINE, self._project, task, last.serial, last.hash):
                return  # it was us: only the answer was lost
            raise MovedError(
                f"another machine added to task {task} first", remedy="try again: it judges on what is there by now"
            ) from None

    def age(self, task: str, serial: int) -> float:
        found = self._ask(_AGE, self._project, task, serial)
        return float(found[0][0]) if found else 0.0

    def list_tasks(self) -> tuple[str, ...]:
        return tuple(task for (task,) in self._ask(_TASKS, self._project))

    def forget(self, task: str) -> None:
        """Nothing was kept on this machine."""

    # --- beyond it -----------------------------------------------------------------------------------------------

    def make_tables(self, writers: Iterable[str]) -> None:
        """Make what is missing, in one transaction.

        :param writers: users of the database that may read and add from now on.
        """
        grants = "".join(_GRANTS.format(user=quote_name(name)) for name in writers)
        self._ask(_IN_TURN + _SCHEMA + grants)

    def _ask(self, statement: str, *values: object) -> list[Row]:
        try:
            return self._connection.ask(statement, *values)
        except Refused as error:
            raise self._translate(error) from None

    def _translate(self, error: Refused) -> StoreUnreachableError:
        remedy = _REMEDIES.get(error.code, "mend what the server says, then run again")
        return StoreUnreachableError(f"{self.shown}: {error} ({error.code})", remedy=remedy)


class _Answer:
    """What a task has, as it comes row by row."""

    def __init__(self, known: Head) -> None:
        self._known, self._head, self.is_other = known, Head(), False
        self._rows: list[tuple[int, bytes]] = []
        self._objects: dict[str, bytes] = {}

    def add(self, kind: str, serial: int, name: str, content: bytes) -> None:
        if kind == "object":
            self._objects[name] = content
        elif kind == "head":
            self._head = Head(serial, name)
        elif serial > self._known.serial:
            self._rows.append((serial, content))
        else:
            self.is_other = name != self._known.hash

    def tail(self) -> Tail:
        if self.is_other:
            return Tail(head=self._head)
        rows = b"".join(content for _, content in sorted(self._rows))
        return Tail(head=self._head, rows=rows, objects=self._objects)


def quote_name(name: str) -> str:
    """Return a name as SQL writes one that may hold anything."""
    return '"' + name.replace('"', '""') + '"'
