"""A shared store in a PostgreSQL database: `postgresql://HOST/DATABASE#PROJECT`. Needs the extra `postgresql`.

Reading is one question, and a transaction one statement, which the database's own keys refuse where another machine was
first. How old a line is, the server's clock says.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from phase_gate.errors import MovedError, RollbackError, StoreUnreachableError
from phase_gate.stores import postgresql_statements as statements
from phase_gate.stores.address import StoreAddress
from phase_gate.stores.postgresql_session import Lost, Refused, Row, Session
from phase_gate.stores.postgresql_tables import Initialised, StoreRights, make_tables, read_rights
from phase_gate.stores.shared import Head, Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

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
_CONNECT = "psql with the same address; passwords belong into PGPASSFILE or a service file"

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

    # --- the protocol --------------------------------------------------------------------------------------------

    def read(self, task: str, after: Head) -> Tail:
        found = statements.Answer(after)
        for kind, _, *rest in self._ask(statements.READ, self._project, task, after.serial):
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
        answers: dict[str, statements.Answer] = {}
        for kind, task, *rest in self._ask(statements.READ_ALL, self._project, serials):
            answers.setdefault(task, statements.Answer(known.get(task, Head()))).add(kind, *rest)
        return {task: answer.tail() for task, answer in answers.items()}

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        statement, values = statements.append_statement(self._project, task, after, rows, objects)
        try:
            # Asked twice where the connection breaks: the same lines are not added again.
            self._exchange(lambda session: session.ask(statement, *values))
        except Refused as error:
            if error.code not in _MOVED:
                raise self._translate(error) from None
            if self._ask(statements.FIND_LINE, self._project, task, last.serial, last.hash):
                return  # it was us: only the answer was lost
            raise MovedError(
                f"another machine added to task {task} first", remedy="try again: it judges on what is there by now"
            ) from None

    def age(self, task: str, serial: int) -> float:
        found = self._ask(statements.AGE, self._project, task, serial)
        return found[0][0] / 1000 if found else 0.0

    def list_tasks(self) -> tuple[str, ...]:
        return tuple(task for (task,) in self._ask(statements.TASKS, self._project))

    def wait(self, task: str, after: Head, seconds: float) -> bool:
        end = time.monotonic() + seconds
        channel = statements.channel_of(self._project, task)

        def look_and_wait(session: Session) -> bool:
            # First the ear, then the look: what comes between is heard.
            session.run(f"LISTEN {channel}")
            while (found := statements.head_of(session.ask(statements.LAST, self._project, task))) == after:
                left = end - time.monotonic()
                if left <= 0:
                    break
                session.wait(min(left, _LOOK_AGAIN))
            return found != after

        return self._talk(look_and_wait)

    def notes(self) -> tuple[str, ...]:
        return self.read_rights().said

    def forget(self, task: str) -> None:
        """Nothing was kept on this machine."""

    # --- beyond it -----------------------------------------------------------------------------------------------

    def read_rights(self) -> StoreRights:
        """Return what the user that connects may do."""
        return self._talk(read_rights)

    def make_tables(self, writers: Iterable[str]) -> Initialised:
        named = tuple(writers)
        return self._talk(lambda session: make_tables(session, named))

    def close(self) -> None:
        """End its connection; it may be asked again."""
        if self._session is not None:
            self._session.close()
        self._session = None

    # --- connections ---------------------------------------------------------------------------------------------

    def _ask(self, statement: str, *values: object) -> list[Row]:
        return self._talk(lambda session: session.ask(statement, *values))

    def _talk(self, talk: Callable[[Session], T]) -> T:
        try:
            return self._exchange(talk)
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
            self.close()
            self._session = self._connect()
        return self._session

    def _connect(self) -> Session:
        session = Session(self._place)
        try:
            if session.is_standby:
                raise StoreUnreachableError(
                    f"{self.shown} is a standby: it can't be written", remedy=_REMEDIES["25006"]
                )
            session.refuse_pooler(self._place, self.shown)
        except BaseException:
            session.close()
            raise
        return session

    # --- errors --------------------------------------------------------------------------------------------------

    def _unreachable(self, error: Lost) -> StoreUnreachableError:
        return StoreUnreachableError(f"{self.shown} does not answer: {error}", remedy=_CONNECT)

    def _translate(self, error: Refused) -> StoreUnreachableError:
        remedy = _REMEDIES.get(error.code, "mend what the server says, then run again")
        return StoreUnreachableError(f"{self.shown}: {error} ({error.code})", remedy=remedy)
