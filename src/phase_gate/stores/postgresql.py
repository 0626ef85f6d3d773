"""A shared store in a PostgreSQL database: `postgresql://HOST/DATABASE#PROJECT`. Needs the extra `postgresql`.

Reading is one question, and a transaction one statement, which the database's own keys refuse where another machine was
first. A run that lives holds an advisory lock on a connection of its own: it goes when the connection does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from phase_gate.errors import MovedError, RollbackError, StoreUnreachableError
from phase_gate.hashing import sha256
from phase_gate.storage.ledger import GENESIS
from phase_gate.storage.shared import Head, Tail
from phase_gate.stores.address import StoreAddress
from phase_gate.stores.postgresql_session import Lost, Refused, Row, Session, as_int, pooled, refuse_pooler
from phase_gate.stores.postgresql_tables import Initialised, StoreRights, make_tables, read_rights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

#: In one statement, so that they fit together: the line that is known and those after it, the objects that came with
#: them, and the last line, for a ledger that is shorter than what is known.
_READ = b"""
SELECT 'line', seq, hash, content FROM phase_gate.lines WHERE project = $1 AND task = $2 AND seq >= $3
UNION ALL SELECT 'object', seq, digest, content FROM phase_gate.objects WHERE project = $1 AND task = $2 AND seq > $3
UNION ALL SELECT 'head', seq, hash, ''::bytea FROM (
  SELECT seq, hash FROM phase_gate.lines WHERE project = $1 AND task = $2 ORDER BY seq DESC LIMIT 1) AS last
"""
_FIND_LINE = b"SELECT 1 FROM phase_gate.lines WHERE project = $1 AND task = $2 AND seq = $3 AND hash = $4"
_LAST = b"SELECT seq, hash FROM phase_gate.lines WHERE project = $1 AND task = $2 ORDER BY seq DESC LIMIT 1"
_OBJECT = b"SELECT content FROM phase_gate.objects WHERE project = $1 AND task = $2 AND digest = $3"
_TASKS = b'SELECT task FROM phase_gate.lines WHERE project = $1 AND seq = 1 ORDER BY task COLLATE "C"'

#: Shared: two holds of one name do not wait for each other.
_LOCK = b"SELECT pg_advisory_lock_shared($1)"
_UNLOCK = b"SELECT pg_advisory_unlock_shared($1)"
_LOCKED = b"""
SELECT DISTINCT key FROM (
  SELECT (classid::bigint << 32) | objid::bigint AS key FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS held
WHERE key = ANY ($1)
"""

#: Another line has that number; the line before is not the one that was read; the server chose one of two writers.
_MOVED = frozenset({"23505", "23503", "40001", "40P01"})

#: What a server says, by the classes of its codes, and what helps.
_REMEDIES = {
    "42P01": "phase-gate store init",
    "3F000": "phase-gate store init",
    "42501": "ask the owner of the database: GRANT phase_gate_writer TO your user",
    "25006": "connect to the primary: add target_session_attrs=read-write to the address",
    "53100": "make room on the server's disk, then run again",
    "53300": "allow the server more connections, then run again",
}
_CONNECT = "try psql with the same address; passwords belong into PGPASSFILE or a service file"

#: Seconds after which a waiting command looks by itself: a connection may be cut without a word.
_LOOK_AGAIN = 5.0


def open_store(address: StoreAddress, cache: Path, environment: Mapping[str, str]) -> PostgresqlStore:
    """Return the store. It connects when it is asked, and keeps nothing on this machine."""
    return PostgresqlStore(address)


def init_store(
    address: StoreAddress, cache: Path, environment: Mapping[str, str], *, writers: Iterable[str] = ()
) -> Initialised:
    """Make the tables, and the role that may only read and add.

    :param writers: users of the database that are given that role.
    """
    return PostgresqlStore(address).make_tables(writers)


class PostgresqlStore:
    def __init__(self, address: StoreAddress) -> None:
        self.shown = str(address)
        self._place, self._project = address.place, address.project
        self._session: Session | None = None
        #: The connection whose locks tell that runs of this process live, and their keys, as often as they are held.
        self._keeper: Session | None = None
        self._held: list[int] = []

    # --- the protocol --------------------------------------------------------------------------------------------

    def read(self, task: str, after: Head) -> Tail:
        head, rows, objects = Head(), [], {}
        first = ""
        for kind, number, name, content in self._ask(_READ, self._project, task, after.serial):
            serial, text = as_int(number), name.decode()
            if kind == b"object":
                objects[text] = content
            elif kind == b"head":
                head = Head(serial, text)
            elif serial == after.serial:
                first = text
            else:
                rows.append((serial, content))
        if first and first != after.hash:
            raise RollbackError(
                f"{self.shown} has another line {after.serial} of task {task} than the one that was read before",
                remedy="bring the store's own ledger back, then phase-gate audit",
            )
        return Tail(head=head, rows=b"".join(content for _, content in sorted(rows)), objects=objects)

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        statement, values = _append_statement(self._project, task, after, rows, objects)
        try:
            # Asked twice where the connection breaks: the same lines are not added again.
            self._exchange(lambda session: session.ask(statement, *values))
        except Refused as error:
            if error.code not in _MOVED:
                raise self._translate(error) from None
            if self._ask(_FIND_LINE, self._project, task, last.serial, last.hash):
                return  # it was us: only the answer was lost
            raise MovedError(
                f"another machine added to task {task} first", remedy="try again: it judges on what is there by now"
            ) from None

    def load_object(self, task: str, name: str) -> bytes | None:
        found = self._ask(_OBJECT, self._project, task, name)
        return found[0][0] if found else None

    def hold(self, task: str, name: str) -> _Held:
        key = self._key(task, name)
        try:
            self._lock(key)
        except Refused as error:
            raise self._translate(error) from None
        except Lost as error:
            raise self._unreachable(error) from None
        return _Held(self, key)

    def find_alive(self, task: str, names: Iterable[str]) -> frozenset[str]:
        keys = {self._key(task, name): name for name in names}
        return frozenset(keys[as_int(found)] for (found,) in self._ask(_LOCKED, frozenset(keys)))

    def list_tasks(self) -> tuple[str, ...]:
        return tuple(task.decode() for (task,) in self._ask(_TASKS, self._project))

    def wait(self, task: str, after: Head, seconds: float) -> bool:
        end = time.monotonic() + seconds
        channel = _channel(self._project, task)

        def look_and_wait(session: Session) -> bool:
            # First the ear, then the look: what comes between is heard.
            session.listen(channel)
            while (found := _head(session.ask(_LAST, self._project, task))) == after:
                left = end - time.monotonic()
                if left <= 0:
                    break
                session.wait(min(left, _LOOK_AGAIN))
            return found != after

        try:
            return self._exchange(look_and_wait)
        except Refused as error:
            raise self._translate(error) from None

    # --- beyond it -----------------------------------------------------------------------------------------------

    def read_rights(self) -> StoreRights:
        """Return what the user that connects may do."""
        try:
            return self._exchange(read_rights)
        except Refused as error:
            raise self._translate(error) from None

    def make_tables(self, writers: Iterable[str]) -> Initialised:
        named = tuple(writers)
        try:
            return self._exchange(lambda session: make_tables(session, named))
        except Refused as error:
            raise self._translate(error) from None

    def close(self) -> None:
        """End its connections; it may be asked again."""
        for session in (self._session, self._keeper):
            if session is not None:
                session.close()
        self._session = self._keeper = None

    def release(self, key: int) -> None:
        """Let a run's lock go. What can't be said is said by the end of the connection."""
        if self._keeper is None or not self._keeper.is_usable or key not in self._held:
            return
        self._held.remove(key)
        try:
            self._keeper.ask(_UNLOCK, key)
        except (Lost, Refused):
            self._keeper.close()

    # --- connections ---------------------------------------------------------------------------------------------

    def _ask(self, statement: bytes, *values: object) -> list[Row]:
        try:
            return self._exchange(lambda session: session.ask(statement, *values))
        except Refused as error:
            raise self._translate(error) from None

    def _exchange(self, talk: Callable[[Session], T]) -> T:
        """Talk on the connection there is; once more on a new one where that broke. Raises Refused."""
        try:
            try:
                return talk(self._connected())
            except Lost as error:
                if error.is_late:
                    raise
            return talk(self._connected())
        except Lost as error:
            raise self._unreachable(error) from None

    def _connected(self) -> Session:
        if self._session is None or not self._session.is_usable:
            self._session = self._connect()
        return self._session

    def _connect(self) -> Session:
        session = Session(self._place)
        try:
            if session.is_standby:
                raise StoreUnreachableError(
                    f"{self.shown} is a standby: it can't be written, and knows no locks", remedy=_REMEDIES["25006"]
                )
            refuse_pooler(session, self._place, self.shown)
        except BaseException:
            session.close()
            raise
        return session

    def _lock(self, key: int) -> None:
        if self._keeper is not None and self._keeper.is_inherited:
            self._keeper, self._held = None, []  # they are the parent's
        if self._keeper is None or not self._keeper.is_usable:
            self._keeper = self._connect()
            if self._session is not None and self._session.is_usable and self._session.pid == self._keeper.pid:
                raise pooled(self.shown)
            # Those that were held on one that broke.
            for held in self._held:
                self._keeper.ask(_LOCK, held)
        self._keeper.ask(_LOCK, key)
        self._held.append(key)

    def _key(self, task: str, name: str) -> int:
        return as_int(_digest(self._project, task, name)[:8])

    # --- errors --------------------------------------------------------------------------------------------------

    def _unreachable(self, error: Lost) -> StoreUnreachableError:
        return StoreUnreachableError(f"{self.shown} does not answer: {error}", remedy=_CONNECT)

    def _translate(self, error: Refused) -> StoreUnreachableError:
        remedy = _REMEDIES.get(error.code, "mend what the server says, then run again")
        return StoreUnreachableError(f"{self.shown}: {error} ({error.code})", remedy=remedy)


class _Held:
    """A run that lives, for other machines."""

    def __init__(self, store: PostgresqlStore, key: int) -> None:
        self._store, self._key = store, key

    def release(self) -> None:
        self._store.release(self._key)


def _append_statement(
    project: str, task: str, after: Head, rows: bytes, objects: Mapping[str, bytes]
) -> tuple[bytes, list[object]]:
    """Return one statement that adds lines and objects, or nothing, and tells those who wait."""
    values: list[object] = [project, task, _channel(project, task)]

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
    return f"WITH added AS ({added}){kept} SELECT pg_notify($3, '')".encode(), values


def _hash_of(content: bytes) -> str:
    import json

    found: str = json.loads(content)["hash"]
    return found


def _head(rows: list[Row]) -> Head:
    return Head(as_int(rows[0][0]), rows[0][1].decode()) if rows else Head(0, GENESIS)


def _digest(*words: str) -> bytes:
    return sha256("\0".join(words).encode()).digest()


def _channel(project: str, task: str) -> str:
    return f"phase_gate_{_digest(project, task).hex()[:32]}"
