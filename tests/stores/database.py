"""A PostgreSQL server of our own, from the distribution's packages: as an ordinary user, for it refuses root."""

from __future__ import annotations

import atexit
import functools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from phase_gate.stores.address import parse_address
from phase_gate.stores.postgresql import PostgresqlStore

#: Where Debian and its like put them: not on the path.
_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)

#: Nothing here has to survive the machine.
FAST = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off", "-c", "autovacuum=off")

#: The user of the operating system that it runs as where we are root.
ORDINARY = "nobody"


def find_program(name: str) -> str | None:
    """Return the path of a program of the server; None where it is not installed."""
    return shutil.which(name) or next((str(each / name) for each in _FOLDERS if (each / name).exists()), None)


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


#: `boss` may do everything, `dev` is to write.
PASSWORDS = {"boss": "boss-s3cret", "dev": "dev-s3cret"}


@functools.cache
def shared_database() -> Database:
    """Return the server of this process, with the tables of a store in its database `postgres`: takes two seconds."""
    found = Database()
    atexit.register(found.remove)
    file = found.password_file(found.folder)
    before = os.environ.get("PGPASSFILE")
    os.environ["PGPASSFILE"] = str(file)
    try:
        found.init()
    finally:
        if before is None:
            del os.environ["PGPASSFILE"]
    return found


class Database:
    """A server with its files in a temporary folder, and two users."""

    def __init__(self, *, options: Sequence[str] = FAST, disk: int = 0) -> None:
        """Make and start it.

        :param disk: its files are on a disk of their own, of so many MiB; only root can make one.
        """
        self._options = tuple(options)
        # Not below pytest's own folder, where another user may not go.
        self.folder = Path(tempfile.mkdtemp(prefix="phase-gate-postgresql-"))
        self._disk = SmallDisk(self.folder / "disk", disk) if disk else None
        self.data = self.folder / "disk" / "data" if disk else self.folder / "data"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        password = self.folder / "password"
        password.write_text(PASSWORDS["boss"], encoding="utf-8")
        self._own(self.folder, password)
        # Not the machine's locale: a server's messages are in its language.
        self._run("initdb", "-D", self.data, "-U", "boss", f"--pwfile={password}", "-A", "scram-sha-256", "--no-sync",
                  "--no-locale", "-E", "UTF8")  # fmt: skip
        self.start()
        self.query(f"CREATE ROLE dev LOGIN PASSWORD '{PASSWORDS['dev']}'")

    # --- its life ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        program = find_program("postgres")
        assert program, "it is installed"
        settings = (f"port={self.port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}")
        command = [program, "-D", str(self.data), *(word for each in settings for word in ("-c", each)), *self._options]
        self._process = self.spawn(command)
        end = time.monotonic() + 60
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError((self.folder / "log").read_text(encoding="utf-8", errors="replace")[-3000:])
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT disconnects everyone, SIGQUIT is `immediate`, SIGKILL leaves its children to notice."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None
        end = time.monotonic() + 60
        while self.backends() and time.monotonic() < end:
            time.sleep(0.02)

    @property
    def disk(self) -> Path:
        """Where the disk of its own is seen from here."""
        assert self._disk is not None, "it has one"
        return self._disk.seen

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        if self._disk is not None:
            self._disk.remove()
        shutil.rmtree(self.folder, ignore_errors=True)

    def backends(self) -> list[int]:
        """Return the processes that still use its files."""
        mark = os.fsencode(self.data)
        found = []
        for each in Path("/proc").glob("[0-9]*/cwd") if Path("/proc/self/cwd").exists() else ():
            try:
                if os.fsencode(os.readlink(each)) == mark:
                    found.append(int(each.parent.name))
            except OSError:
                continue
        return found

    def answers(self, port: int | None = None) -> bool:
        """Tell whether it takes connections, or what listens at another port."""
        from psycopg import pq

        return bool(pq.PGconn.ping(f"host=127.0.0.1 port={port or self.port}".encode()) == pq.Ping.OK)

    # --- addresses -----------------------------------------------------------------------------------------------

    def place(self, user: str = "dev", *, port: int | None = None, database: str = "postgres") -> str:
        """Return what an address says; the password is found by PGPASSFILE."""
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}"

    def conninfo(self, user: str, *, database: str = "postgres") -> str:
        return f"host=127.0.0.1 port={self.port} user={user} dbname={database} password={PASSWORDS[user]}"

    def password_file(self, folder: Path) -> Path:
        """Write what PGPASSFILE may name."""
        file = folder / "pgpass"
        file.write_text("".join(f"127.0.0.1:*:*:{user}:{word}\n" for user, word in PASSWORDS.items()), "utf-8")
        file.chmod(0o600)
        return file

    def init(self, *, user: str = "boss", database: str = "postgres") -> tuple[bool, bool]:
        """Make the tables, with `dev` as a writer. PGPASSFILE is set."""
        address = parse_address(f"{self.place(user, database=database)}#any")
        return PostgresqlStore(address).make_tables(("dev",))

    def query(self, statement: str, *, user: str = "boss", database: str = "postgres") -> list[tuple[object, ...]]:
        """Ask by psycopg itself."""
        import psycopg

        with psycopg.connect(self.conninfo(user, database=database), autocommit=True) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def spawn(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a program as the user that the server runs as."""
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen([*self._as_user(), *command], stdout=log, stderr=log, cwd=self.folder)

    # --- as another user -----------------------------------------------------------------------------------------

    def _own(self, *paths: Path) -> None:
        if os.geteuid() == 0:
            user = pwd.getpwnam(ORDINARY)
            for path in paths:
                os.chown(path, user.pw_uid, user.pw_gid)

    def _as_user(self) -> tuple[str, ...]:
        if os.geteuid() != 0:
            return ()
        user = pwd.getpwnam(ORDINARY)
        there = self._disk.enter if self._disk is not None else ()
        return (*there, "setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--")

    def _run(self, name: str, *words: object) -> None:
        program = find_program(name)
        assert program, f"{name} is not installed"
        command = [*self._as_user(), program, *map(str, words)]
        done = subprocess.run(command, capture_output=True, cwd=self.folder, check=False)
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")


class SmallDisk:
    """A disk in memory that only those see who enter its namespace."""

    def __init__(self, folder: Path, mebibytes: int) -> None:
        folder.mkdir()
        folder.parent.chmod(0o755)
        mount = f"mount -t tmpfs -o size={mebibytes}m,mode=1777 tmpfs {folder} && echo ready && exec sleep 3600"
        self._keeper = subprocess.Popen(["unshare", "--mount", "sh", "-c", mount], stdout=subprocess.PIPE, text=True)
        assert self._keeper.stdout is not None
        assert self._keeper.stdout.readline() == "ready\n", "a mount in a namespace of its own has to be allowed here"
        self.enter = ("nsenter", "--mount", f"--target={self._keeper.pid}", "--")
        self.seen = Path(f"/proc/{self._keeper.pid}/root") / folder.relative_to("/")

    def remove(self) -> None:
        self._keeper.kill()
        self._keeper.communicate()
