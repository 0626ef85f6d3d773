"""A state folder as a store that can be read: what a copy is taken from. Nothing is added to it in this way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NoReturn

from phase_gate.errors import NotAllowedError, RollbackError
from phase_gate.storage.ledger import encode_line
from phase_gate.storage.memory import Memory
from phase_gate.storage.places import task_folder, task_names
from phase_gate.storage.shared import Head, Tail
from phase_gate.storage.store import TaskStore


class FolderStore:
    shown = "folder"

    def __init__(self, folder: Path, *, key: bytes | None) -> None:
        self._folder, self._key = folder, key

    def _open(self, task: str) -> TaskStore:
        folder = task_folder(self._folder, task)
        return TaskStore(folder, task=task, key=self._key, memory=Memory(None, folder), state_folder=self._folder)

    def read(self, task: str, after: Head) -> Tail:
        store = self._open(task)
        opened = store.look()
        lines = [line for line in store.lines() if line.seq <= opened.serial]
        if after.serial > len(lines) or (after.serial and lines[after.serial - 1].hash != after.hash):
            raise RollbackError(f"the folder has another line {after.serial}", remedy="phase-gate audit")
        return Tail(
            head=Head(opened.serial, opened.head),
            rows=b"".join(map(encode_line, lines[after.serial :])),
            objects={name: store.objects.packed(name) for name in store.objects.names()},
        )

    def load_object(self, task: str, name: str) -> bytes | None:
        objects = self._open(task).objects
        return objects.packed(name) if objects.has(name) else None

    def list_tasks(self) -> tuple[str, ...]:
        return tuple(task_names(self._folder))

    def find_alive(self, task: str, names: Iterable[str]) -> frozenset[str]:
        return self._open(task).find_alive(names)

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        self._refuse()

    def hold(self, task: str, name: str) -> NoReturn:
        self._refuse()

    def wait(self, task: str, after: Head, seconds: float) -> bool:
        return False

    def _refuse(self) -> NoReturn:
        raise NotAllowedError("a folder is only read in this way", remedy="phase-gate store copy")
