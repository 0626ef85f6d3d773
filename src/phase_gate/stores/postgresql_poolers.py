"""Programs between us and a PostgreSQL server that lend its processes out: which can't keep what a session sets."""

from __future__ import annotations

from phase_gate.errors import StoreUnreachableError
from phase_gate.stores.postgresql_connecting import CONNECT_TIMEOUT, Lost
from phase_gate.stores.postgresql_session import Session, as_int

_OWN_PID = b"SELECT pg_catalog.pg_backend_pid()"

#: How often two connections are compared where a pooler stands between.
_LOOKS = 3


def refuse_pooler(session: Session, place: str, shown: str) -> None:
    """Raise StoreUnreachableError if a session is not one server process for as long as it lives.

    In transaction mode a pooler gives each transaction to the process that is free: what our session has set, that an
    answer waits for the disk, holds in another one. In session mode no harm is done.
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
        f"{shown} is behind a pooler in transaction mode: what makes a write safe is not set in all of its processes",
        remedy="connect to the server itself, or set pool_mode = session in the pooler",
    )
