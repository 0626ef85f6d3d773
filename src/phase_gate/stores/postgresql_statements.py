"""What a store in PostgreSQL asks, in SQL, and what the answers mean. Pure: texts and values."""

from __future__ import annotations

import json
from collections.abc import Mapping

from phase_gate.hashing import sha256
from phase_gate.stores.postgresql_session import Row
from phase_gate.stores.shared import Head, Tail

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
READ = f"WITH asked AS (SELECT $2::text AS task, $3::bigint AS known) {_PARTS}"
READ_ALL = f"""
WITH asked AS (
  SELECT task, coalesce(value::bigint, 0) AS known
  FROM phase_gate.lines LEFT JOIN jsonb_each_text($2::jsonb) ON key = task WHERE project = $1 AND seq = 1)
{_PARTS}"""
FIND_LINE = "SELECT 1 FROM phase_gate.lines WHERE project = $1 AND task = $2 AND seq = $3 AND hash = $4"
LAST = "SELECT seq, hash FROM phase_gate.lines WHERE project = $1 AND task = $2 ORDER BY seq DESC LIMIT 1"
TASKS = 'SELECT task FROM phase_gate.lines WHERE project = $1 AND seq = 1 ORDER BY task COLLATE "C"'

AGE = """
SELECT (extract(epoch FROM clock_timestamp() - at) * 1000)::bigint FROM phase_gate.lines
WHERE project = $1 AND task = $2 AND seq = $3
"""


class Answer:
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


def append_statement(
    project: str, task: str, after: Head, rows: bytes, objects: Mapping[str, bytes]
) -> tuple[str, list[object]]:
    """Return one statement that adds lines and objects, or nothing, and tells those who wait."""
    values: list[object] = [project, task, channel_of(project, task)]

    def place(*given: object) -> str:
        values.extend(given)
        return ", ".join(f"${number}" for number in range(len(values) - len(given) + 1, len(values) + 1))

    lines, serial, prev = [], after.serial, after.hash
    for content in rows.splitlines(keepends=True):
        serial, found = serial + 1, _hash_of(content)
        lines.append(f"($1, $2, {place(serial, prev, found, content)})")
        prev = found
    brought = [f"({place(name, serial, content)})" for name, content in sorted(objects.items())]
    # The lines first: two writers meet there, and the second one waits before it has touched anything else.
    added = (
        f"INSERT INTO phase_gate.lines (project, task, seq, prev, hash, content) VALUES {', '.join(lines)} RETURNING 1"
    )
    kept = ""
    if brought:
        kept = f""", kept AS (
          INSERT INTO phase_gate.objects (project, task, digest, seq, content)
          SELECT $1, $2, name, seq, content FROM (VALUES {", ".join(brought)}) AS brought (name, seq, content)
          WHERE (SELECT count(*) FROM added) > 0 ON CONFLICT DO NOTHING)"""
    return f"WITH added AS ({added}){kept} SELECT pg_notify($3, '')", values


def _hash_of(content: bytes) -> str:
    found: str = json.loads(content)["hash"]
    return found


def head_of(rows: list[Row]) -> Head:
    return Head(*rows[0]) if rows else Head()


def digest_of(*words: str) -> bytes:
    return sha256("\0".join(words).encode()).digest()


def channel_of(project: str, task: str) -> str:
    return f"phase_gate_{digest_of(project, task).hex()[:32]}"
