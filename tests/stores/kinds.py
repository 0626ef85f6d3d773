"""The kinds of shared stores that the conformance tests run against: one row each, the same tests for all.

A `Server` is what machines share; `open` returns the store as one machine has it, with a cache folder of its own.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from phase_gate.stores.choosing import parse_address
from phase_gate.stores.git_store import GitStore, open_store
from phase_gate.stores.postgresql_store import PostgresqlStore
from phase_gate.stores.shared import SharedStore
from tests.stores import in_memory
from tests.stores.database import Database, is_installed, shared_database
from tests.stores.git_servers import SSHD, serve_by_ssh


class Server(Protocol):
    """What machines share."""

    #: How a user's environment names it, and what else has to be there.
    store: str
    variables: Mapping[str, str]

    def open(self, machine: Path) -> SharedStore:
        """Return the store as the machine with that cache folder has it; asked twice, in another process."""
        raise NotImplementedError

    def cut_back(self, task: str, transactions: int) -> None:
        """Take the last transactions of a task away, as an administrator can, or a forced push."""
        raise NotImplementedError

    def remove(self, task: str) -> None:
        raise NotImplementedError

    def replace(self, task: str, other: str) -> None:
        """Put the ledger of another task in the place of a task's."""
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError


Kind = Callable[[Path], contextlib.AbstractContextManager[Server]]


# --- in this process


class InMemory:
    store = in_memory.STORE
    variables: Mapping[str, str] = {}

    def __init__(self) -> None:
        self._server = in_memory.Server()

    def open(self, machine: Path) -> SharedStore:
        return in_memory.InMemoryStore(self._server)

    def cut_back(self, task: str, transactions: int) -> None:
        rows = self._server.rows[task]
        for _ in range(transactions):
            rows.pop()
            while rows and "more" in json.loads(rows[-1]):
                rows.pop()

    def remove(self, task: str) -> None:
        del self._server.rows[task]

    def replace(self, task: str, other: str) -> None:
        self._server.rows[task] = list(self._server.rows[other])

    def stop(self) -> None:
        self._server.is_down = True

    def start(self) -> None:
        self._server.is_down = False


@contextlib.contextmanager
def memory(folder: Path) -> Iterator[Server]:
    yield InMemory()


# --- git


class GitServer:
    """A bare repository."""

    def __init__(self, folder: Path, remote: str = "", variables: Mapping[str, str] | None = None) -> None:
        self.folder, self.remote, self.variables = folder, remote or str(folder), variables or {}
        self.store = f"git:{self.remote}#shop"

    def open(self, machine: Path) -> GitStore:
        address, folder = parse_address(self.store), machine / ".phase-gate" / "store"
        environment = {**os.environ, **self.variables}
        return open_store(address, folder, environment)

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", f"--git-dir={self.folder}", *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    def cut_back(self, task: str, transactions: int) -> None:
        ref = f"refs/phase-gate/shop/{task}"
        self.git("update-ref", ref, self.git("rev-parse", f"{ref}~{transactions}"))

    def remove(self, task: str) -> None:
        self.git("update-ref", "-d", f"refs/phase-gate/shop/{task}")

    def replace(self, task: str, other: str) -> None:
        self.git("update-ref", f"refs/phase-gate/shop/{task}", f"refs/phase-gate/shop/{other}")

    def stop(self) -> None:
        self.folder.rename(self.folder.with_suffix(".away"))

    def start(self) -> None:
        self.folder.with_suffix(".away").rename(self.folder)


def make_bare(folder: Path) -> Path:
    """Make an empty repository to push to."""
    subprocess.run(["git", "init", "-q", "--bare", "--template=", str(folder)], check=True)
    return folder


@contextlib.contextmanager
def git_by_file(folder: Path) -> Iterator[GitServer]:
    yield GitServer(make_bare(folder / "remote.git"))


@contextlib.contextmanager
def git_by_ssh(folder: Path) -> Iterator[GitServer]:
    bare = make_bare(folder / "remote.git")
    with serve_by_ssh(folder) as (address, variables):
        yield GitServer(bare, f"{address}{bare}", variables)


# --- PostgreSQL


class PostgresqlServer:
    """A project of its own on a server."""

    def __init__(self, database: Database, project: str) -> None:
        self.database, self._project = database, project
        self.store = f"{database.place()}#{project}"
        self.variables: Mapping[str, str] = {"PGPASSFILE": str(database.passwords)}

    def open(self, machine: Path) -> PostgresqlStore:
        return PostgresqlStore(parse_address(self.store))

    def _change(self, statement: str) -> None:
        """Do what only a superuser can, with keys and triggers off."""
        self.database.query(f"SET session_replication_role = replica; {statement}")

    def cut_back(self, task: str, transactions: int) -> None:
        ends = self.database.query(
            f"SELECT seq FROM phase_gate.lines WHERE {self._where(task)}"
            " AND position('\"more\":true'::bytea in content) = 0 ORDER BY seq DESC"
        )
        last = ends[transactions][0] if transactions < len(ends) else 0
        self._change(f"DELETE FROM phase_gate.lines WHERE {self._where(task)} AND seq > {last}")

    def remove(self, task: str) -> None:
        self._change(f"DELETE FROM phase_gate.lines WHERE {self._where(task)}")

    def replace(self, task: str, other: str) -> None:
        self.remove(task)
        columns = "seq, prev, hash, content"
        self._change(
            f"INSERT INTO phase_gate.lines (project, task, {columns}) SELECT project, '{task}', {columns}"
            f" FROM phase_gate.lines WHERE {self._where(other)}"
        )

    def _where(self, task: str) -> str:
        return f"project = '{self._project}' AND task = '{task}'"

    def stop(self) -> None:
        self.database.stop()

    def start(self) -> None:
        self.database.start()


_NUMBERS = itertools.count()


@contextlib.contextmanager
def postgresql(folder: Path) -> Iterator[PostgresqlServer]:
    server = PostgresqlServer(shared_database(), f"kind-{next(_NUMBERS)}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSFILE", server.variables["PGPASSFILE"])
        yield server


#: By their ids. A kind that needs a server which is not installed is left out of it.
KINDS: dict[str, Kind] = {"memory": memory}
if shutil.which("git"):
    KINDS |= {"git-file": git_by_file}
    if SSHD is not None:
        KINDS |= {"git-ssh": git_by_ssh}
if is_installed():
    KINDS |= {"postgresql": postgresql}
