"""A shared store in this process: what every store has to be, in a few lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from phase_gate.errors import MovedError, RollbackError, StoreUnreachableError
from phase_gate.storage.store import TaskStore
from phase_gate.stores import choosing
from phase_gate.stores.choosing import StoreAddress
from phase_gate.stores.shared import Head, Tail
from tests.storage.stores import share_task


class Server:
    """What machines share."""

    def __init__(self) -> None:
        self.rows: dict[str, list[bytes]] = {}
        self.objects: dict[str, dict[int, dict[str, bytes]]] = {}
        self.is_down = False
        #: Called before each append, once: another machine that is faster.
        self.before_append: Callable[[], object] | None = None
        #: Called once, after the append whose answer is lost: another machine that follows it.
        self.after_append: Callable[[], object] | None = None
        #: Accepts the next append and loses its answer.
        self.loses_answer = False


class InMemoryStore:
    shown = "git:../memory#shop"

    def __init__(self, server: Server) -> None:
        self.server = server
        self.reads = self.writes = 0

    def _ask(self) -> None:
        if self.server.is_down:
            raise StoreUnreachableError("git:../memory#shop does not answer", remedy="start it, then run again")

    def _head(self, task: str) -> Head:
        rows = self.server.rows.get(task)
        if not rows:
            return Head()
        line = json.loads(rows[-1])
        return Head(line["seq"], line["hash"])

    def read(self, task: str, after: Head) -> Tail:
        self._ask()
        self.reads += 1
        rows = self.server.rows.get(task, [])
        if len(rows) < after.serial:
            return Tail(head=self._head(task))
        if after.serial and json.loads(rows[after.serial - 1])["hash"] != after.hash:
            raise RollbackError("git:../memory#shop has another line there", remedy="phase-gate audit")
        objects: dict[str, bytes] = {}
        for serial, brought in self.server.objects.get(task, {}).items():
            if serial > after.serial:
                objects |= brought
        return Tail(head=self._head(task), rows=b"".join(rows[after.serial :]), objects=objects)

    def read_all(self, known: Mapping[str, Head]) -> dict[str, Tail]:
        reads = self.reads
        found = {task: self.read(task, known.get(task, Head())) for task in self.list_tasks()}
        self.reads = reads + 1
        return found

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        self._ask()
        faster, self.server.before_append = self.server.before_append, None
        if faster is not None:
            faster()
        self.writes += 1
        head = self._head(task)
        if head == last:
            return
        if head != after:
            raise MovedError("git:../memory#shop has moved on", remedy="try again")
        self.server.rows.setdefault(task, []).extend(rows.splitlines(keepends=True))
        self.server.objects.setdefault(task, {})[last.serial] = dict(objects)
        if self.server.loses_answer:
            self.server.loses_answer = False
            follow, self.server.after_append = self.server.after_append, None
            if follow is not None:
                follow()
            raise StoreUnreachableError("git:../memory#shop did not answer", remedy="run again")

    def list_tasks(self) -> tuple[str, ...]:
        self._ask()
        return tuple(sorted(self.server.rows))

    def forget(self, task: str) -> None:
        """Nothing was kept on this machine."""


def machine(server: Server, folder: Path, *, task: str = "default") -> TaskStore:
    """Return the task as one machine has it."""
    return share_task(InMemoryStore(server), folder, task=task)


#: The servers of this process, by their places.
SERVERS: dict[str, Server] = {}

#: As a user names the one that tests use.
STORE = "git:../memory#shop"


def install(monkeypatch: pytest.MonkeyPatch, *, store: str | None = STORE) -> Server:
    """Let every address lead to a server of this process, each of them new; return that of the usual address.

    :param store: what the user's environment names; None for nothing.
    """
    SERVERS.clear()

    def open_address(address: StoreAddress, cache: Path, environment: Mapping[str, str]) -> InMemoryStore:
        return InMemoryStore(SERVERS.setdefault(address.place, Server()))

    monkeypatch.setattr(choosing, "open_address", open_address)
    if store is not None:
        monkeypatch.setenv("PHASE_GATE_STORE", store)
    return SERVERS.setdefault("../memory", Server())
