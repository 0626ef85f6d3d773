"""Connect to a PostgreSQL server by libpq's own ways: service files, PGPASSFILE, sslmode. No password in an address."""

from __future__ import annotations

import selectors
import time

from phase_gate.errors import StoreUnreachableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Seconds for a connection to a server.
CONNECT_TIMEOUT = 10

#: A dead machine is noticed within a minute, on both sides.
IDLE, INTERVAL, COUNT, UNANSWERED_MS = 15, 10, 3, 45_000

#: What we ask libpq for where the address says nothing else.
_DEFAULTS = {
    "connect_timeout": str(CONNECT_TIMEOUT),
    "keepalives_idle": str(IDLE),
    "keepalives_interval": str(INTERVAL),
    "keepalives_count": str(COUNT),
    "tcp_user_timeout": str(UNANSWERED_MS),
    "fallback_application_name": "phase-gate",
}


class Lost(Exception):  # noqa: N818  (both are caught by the store, which makes errors of them)
    """The connection is gone: whether the question was carried out is not known."""

    def __init__(self, text: str, *, is_late: bool = False) -> None:
        super().__init__(text)
        #: No answer within the limit: asking again would take as long.
        self.is_late = is_late


def load_psycopg() -> Any:
    """Return psycopg. Raises StoreUnreachableError where it is not installed."""
    try:
        import psycopg  # here: it takes longer to load than all of us
    except ImportError as error:
        raise StoreUnreachableError(
            f"a store in PostgreSQL needs the package psycopg, from version 3.2 on ({error})",
            remedy="pip install 'pytest-phase-gate[postgresql]'",
        ) from None
    return psycopg


def connect(place: str) -> Any:
    """Return a connection to the first server of an address that gives one. Raises Lost with what the last one says."""
    said = Lost("no server is named")
    for given in _attempts(_read_address(place)):
        try:
            return _connect_one(given)
        except Lost as error:
            said = error
    raise said


def _connect_one(given: dict[str, str]) -> Any:
    """Connect step by step: what waits inside libpq holds up every thread of this process, and Ctrl-C."""
    from psycopg import pq
    from psycopg.conninfo import make_conninfo

    connection = pq.PGconn.connect_start(make_conninfo("", **given).encode())
    end = time.monotonic() + max(2.0, float(given["connect_timeout"]))  # as libpq has it
    try:
        while (state := connection.connect_poll()) != pq.PollingStatus.OK:
            if state == pq.PollingStatus.FAILED or connection.status == pq.ConnStatus.BAD:
                raise Lost(error_of(connection))
            is_reading = state == pq.PollingStatus.READING
            if not is_ready(connection, end, reads=is_reading, writes=not is_reading):
                raise Lost(f"no connection within {given['connect_timeout']} s", is_late=True)
    except BaseException:
        connection.finish()
        raise
    return connection


def _read_address(place: str) -> dict[str, str]:
    """Return what libpq connects with. Raises StoreUnreachableError for what it can't read: its reason may show all."""
    psycopg = load_psycopg()
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


def _attempts(given: dict[str, str]) -> list[dict[str, str]]:
    """Return one address for each server that is named: one that is silent must not use up the time of all."""
    hosts, ports = given.get("host", "").split(","), given.get("port", "").split(",")
    if len(hosts) == 1 or "hostaddr" in given:
        return [given]
    ports = ports * len(hosts) if len(ports) == 1 else ports
    return [{**given, "host": host, "port": port} for host, port in zip(hosts, ports, strict=False)]


def error_of(connection: Any) -> str:
    return clean(connection.get_error_message())


def clean(text: str) -> str:
    """Return what libpq says, in one line. It never prints a password."""
    return " ".join(text.split()) or "the connection is gone"


def is_ready(connection: Any, end: float, *, reads: bool = True, writes: bool = False) -> bool:
    """Wait until a connection can be read or written; False: not in time."""
    # Not `select`, which knows no more than 1,024 files of a process.
    with selectors.DefaultSelector() as selector:
        selector.register(connection.socket, reads * selectors.EVENT_READ | writes * selectors.EVENT_WRITE)
        return bool(selector.select(max(0.0, end - time.monotonic())))
