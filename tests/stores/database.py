"""A PostgreSQL server of our own, from the distribution's packages: as an ordinary user, for it refuses root."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from phase_gate.stores.choosing import parse_address
from phase_gate.stores.postgresql_store import PostgresqlStore

#: Where Debian and its like put them: not on the path.
_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)

#: With `tox -e stores`: large numbers, on a server that waits for its disk.
LARGE = "LARGE_STORES" in os.environ

#: Nothing here has to survive the machine.
FAST = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off", "-c", "autovacuum=off")

#: `boss` may do everything, `dev` is to write.
PASSWORDS = {"boss": "boss-s3cret", "dev": "dev-s3cret"}


def find_program(name: str) -> str | None:
    """Return the path of a program of the server; None where it is not installed."""
    return (
        shutil.which(name)
        or shutil.which(name, path="/usr/sbin")
        or next((str(each / name) for each in _FOLDERS if (each / name).exists()), None)
    )


def is_installed() -> bool:
    """Tell whether a server can be started here, and spoken to."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return False
    return hasattr(os, "geteuid") and all(find_program(each) for each in ("initdb", "postgres"))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@functools.cache
def shared_database() -> Database:
    """Return the server of this process, with the tables of a store in its database `postgres`: takes two seconds."""
    return Database(options=("-c", "max_connections=150") if LARGE else FAST)


class Database:
    """A server with its files in a temporary folder, two users, and the tables of a store."""

    def __init__(self, *, options: Sequence[str]) -> None:
        self._options = options
        # Not below pytest's own folder, where another user may not go.
        self.folder = Path(tempfile.mkdtemp(prefix="phase-gate-postgresql-"))
        self.data, self.port = self.folder / "data", free_port()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.remove)
        password = self.folder / "password"
        password.write_text(PASSWORDS["boss"], encoding="utf-8")
        if os.geteuid() == 0:
            import pwd

            user = pwd.getpwnam("nobody")
            for path in (self.folder, password):
                os.chown(path, user.pw_uid, user.pw_gid)
        # Not the machine's locale: a server's messages are in its language.
        words = ("-D", self.data, "-U", "boss", f"--pwfile={password}", "-A", "scram-sha-256", "--no-sync")
        done = self.spawn("initdb", *words, "--no-locale", "-E", "UTF8")
        assert done.wait() == 0, self._log()
        self.passwords = self.folder / "pgpass"
        rows = "".join(f"127.0.0.1:*:*:{name}:{word}\n" for name, word in PASSWORDS.items())
        self.passwords.write_text(rows, "utf-8")
        self.passwords.chmod(0o600)
        self.start()
        self.query(f"CREATE ROLE dev LOGIN PASSWORD '{PASSWORDS['dev']}'")
        self.init()

    def start(self) -> None:
        settings = (f"port={self.port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}")
        words = (word for each in settings for word in ("-c", each))
        self._process = self.spawn("postgres", "-D", self.data, *words, *self._options)
        from psycopg import pq

        while pq.PGconn.ping(f"host=127.0.0.1 port={self.port}".encode()) != pq.Ping.OK:
            assert self._process.poll() is None, self._log()
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT disconnects everyone, SIGQUIT is `immediate`, SIGKILL leaves its children to notice."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None
        end = time.monotonic() + 60
        while self._backends() and time.monotonic() < end:
            time.sleep(0.02)

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def place(self, user: str = "dev", *, port: int | None = None, database: str = "postgres") -> str:
        """Return what an address says; the password is found by PGPASSFILE."""
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}"

    def init(self, *, user: str = "boss", database: str = "postgres") -> None:
        """Make the tables, with `dev` as a writer."""
        address = parse_address(f"{self.place(user, database=database)}#any")
        before = os.environ.get("PGPASSFILE")
        os.environ["PGPASSFILE"] = str(self.passwords)
        try:
            PostgresqlStore(address).make_tables(("dev",))
        finally:
            if before is None:
                del os.environ["PGPASSFILE"]

    def query(self, statement: str, *, user: str = "boss") -> list[tuple[object, ...]]:
        """Ask by psycopg itself."""
        import psycopg

        place = f"host=127.0.0.1 port={self.port} user={user} dbname=postgres password={PASSWORDS[user]}"
        with psycopg.connect(place, autocommit=True) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def spawn(self, name: str, *words: object) -> subprocess.Popen[bytes]:
        """Start a program of the server as the user that it runs as."""
        program = find_program(name)
        assert program, f"{name} is not installed"
        user: tuple[str, ...] = ()
        if os.geteuid() == 0:
            import pwd

            found = pwd.getpwnam("nobody")
            user = ("setpriv", f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}", "--clear-groups", "--")
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen([*user, program, *map(str, words)], stdout=log, stderr=log, cwd=self.folder)

    def _backends(self) -> list[str]:
        """Return the processes that still use its files."""
        found = []
        for each in Path("/proc").glob("[0-9]*/cwd"):
            try:
                if os.readlink(each) == str(self.data):
                    found.append(each.parent.name)
            except OSError:
                continue
        return found

    def _log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-3000:]
