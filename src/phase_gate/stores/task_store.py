"""A task that many machines share: its folder is a verified copy of the shared store.

Lines from the store are verified like the ledger's own file, and have to follow the folder's lines. So every machine
that knew a store notices if it was rewritten. The store itself is never rewritten: a copy that is damaged, or that a
person gives up, is set aside and downloaded again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from json import loads
from pathlib import Path

from phase_gate.errors import (
    MovedError,
    NotAllowedError,
    RollbackError,
    StateError,
    StorageError,
    StoreUnreachableError,
    TamperedError,
)
from phase_gate.gate.state import state_to_json
from phase_gate.storage.files import exists, load_json, read_bytes, set_aside
from phase_gate.storage.ledger import Line
from phase_gate.storage.objects import unpack
from phase_gate.storage.opening import Opened, Place, read_beginning
from phase_gate.storage.root import task_folder, task_names
from phase_gate.storage.store import TaskStore
from phase_gate.stores.shared import Head, SharedStore, Tail
from phase_gate.workflow.names import of_task

_STORE_DAMAGED = "restore the store's ledger, or start again under another project name"
_OTHER_PLACE = "PHASE_GATE_STORE=folder continues with the folder; to start again in the store, move the folder away"


class SharedTaskStore(TaskStore):
    """The state of a task in a shared store, and the folder that is a copy of it."""

    def __init__(self, shared: SharedStore, place: Place) -> None:
        super().__init__(place)
        self.shared: SharedStore = shared
        #: Another machine was first: what a caller has opened is not the last word.
        self._is_behind = False

    def alone(self) -> TaskStore:
        return TaskStore(self.place)

    # --- runs in progress ----------------------------------------------------------------------------------------

    def _lives(self, lock: Path, mark: bytes, limit: float) -> bool:
        if exists(lock, self.files):
            return super()._lives(lock, mark, limit)  # a run on this machine is alive while its lock is held
        lines = (read_bytes(self.ledger_file, self.files) or b"").splitlines()
        line = next((each for each in lines if mark in each), b"") if mark else b"".join(lines[-1:])
        began = datetime.fromisoformat(loads(line)["at"]).timestamp() if line else 0.0
        return time.time() - began < limit

    # --- what others have added ----------------------------------------------------------------------------------

    def read(self, received: tuple[Head, Tail] | None = None) -> Opened:
        """Return the task as the shared store has it; what is new is written to the folder, under its lock.

        :param received: the lines that the store has already sent, if they follow the folder's last one.
        """
        opened = super().read()
        # The state file may lag behind its ledger. An answer without rows means an error: the next query raises it.
        is_of_use = received is not None and received[0] == _head(opened) and received[1].rows
        tail = received[1] if received is not None and is_of_use else self._read_beyond(opened)
        if tail is None:
            return opened
        with self.lock():
            # Another process of this machine may have taken it over meanwhile.
            is_same = self.is_as_opened(opened)
            return self._write(opened, tail) if is_same else self._take_over(self.open())

    def open_locked(self, known: Opened | None = None, *, accept_rollback: bool = False) -> Opened:
        opened = super().open_locked(None if self._is_behind else known, accept_rollback=accept_rollback)
        if opened is not known:
            opened, self._is_behind = self._take_over(opened), False
        return opened

    def _take_over(self, opened: Opened) -> Opened:
        """Write what other machines have added to the task since. The caller holds the lock."""
        tail = self._read_beyond(opened)
        return opened if tail is None else self._write(opened, tail)

    def _write(self, opened: Opened, tail: Tail) -> Opened:
        after, last = self._follow(opened, tail)
        for name, packed in tail.objects.items():
            self.objects.take_over(name, packed)
        return self.write(opened, after, state_to_json(after.state), tail.rows, last.start)

    def _read_beyond(self, opened: Opened) -> Tail | None:
        """Return what the shared store has beyond the folder; None where both are the same."""
        here = _head(opened)
        tail = self.shared.read(self.task, here)
        if tail.rows:
            return tail
        if tail.head == here:
            return None
        if tail.head.serial == 0:
            raise NotAllowedError(
                f"task {self.task} is in this folder, and {self.shared.shown} has none of that name",
                remedy=_OTHER_PLACE,
            )
        raise RollbackError(
            f"{self.shared.shown} is at line {tail.head.serial} of task {self.task}, this folder was at {here.serial}",
            remedy="bring the store's newer ledger back, or phase-gate audit --accept-rollback",
        )

    def _follow(self, opened: Opened, tail: Tail) -> tuple[Opened, Line]:
        """Return the task after lines that were added, and the last of them. Raises StateError if they don't follow."""
        try:
            return self.follow(opened, tail.rows.splitlines(keepends=True), name=self.shared.shown)
        except TamperedError as error:
            # Repairing the copy would not help.
            raise TamperedError(f"the store's own ledger is damaged: {error.problem}", remedy=_STORE_DAMAGED) from error

    # --- what is added here --------------------------------------------------------------------------------------

    def send(self, opened: Opened, data: bytes, last: Line) -> None:
        """Add a transaction to the shared store, before the folder: what only the folder has does not count.

        Raises MovedError if another machine was first.
        """
        before, after = _head(opened), Head(last.seq, last.hash)
        objects = {name: self.objects.packed(name) for name in sorted(self.objects.kept)}
        try:
            self.shared.append(self.task, before, after, data, objects)
        except MovedError:
            self._is_behind = True
            raise
        except StoreUnreachableError:
            # It may have come to be, and only its answer was lost. Others may have followed since.
            if not self.shared.read(self.task, before).rows.startswith(data):
                raise
        self.objects.kept.clear()

    # --- verify and download the copy ----------------------------------------------------------------------------

    def verify_whole(self) -> None:
        """Verify the store's whole ledger with its objects, and that the folder is a copy of it."""
        tail = self.shared.read(self.task, Head())
        if tail.rows:
            self._follow(Opened(), tail)
        for name, packed in tail.objects.items():
            unpack(name, packed)
        here = read_bytes(self.ledger_file, self.files) or b""
        if not (tail.rows.startswith(here) or here.startswith(tail.rows)):
            problem = f"the ledger here is not the one that {self.shared.shown} has"
            raise TamperedError(problem, remedy=of_task("phase-gate audit --repair", self.task))

    def download_again(self) -> tuple[int, Path]:
        """Set the copy aside and download it again. Return the number of lines, and where the old ledger is.

        Raises TamperedError if the store's own ledger is damaged.
        """
        tail = self.shared.read(self.task, Head())
        if tail.rows:
            self._follow(Opened(), tail)
        with self.lock():
            copy = self._put_aside()
            return self._take_over(Opened()).serial, copy

    def accept_rewritten(self) -> None:
        """Download the copy from a store that was rewritten, after a person has accepted that.

        It is accepted when an event has recorded it; until then it is refused, or downloaded as on a new machine.
        """
        self.shared.forget(self.task)
        first, end, _ = self.shared.read(self.task, Head()).rows.partition(b"\n")
        if end:
            # The rollback guard must accept the new ledger, but remembers that a cycle was open.
            self.expect(read_beginning(first).lineage)
        self.download_again()

    def _put_aside(self) -> Path:
        """Give the files of the copy other names, and return that of its ledger. The caller holds the lock.

        What people see goes first: a process that dies in between leaves a ledger that is read whole, or none.
        """
        copy, state = self.damaged_files()
        self.objects.set_damaged_aside()
        for path, name in ((self.state_file, state), (self.ledger_file, copy)):
            if exists(path, self.files):
                set_aside(self.files, path, name)
        return copy


# --- all tasks of a project at once


def catch_up_all(
    shared: SharedStore, state_folder: Path, open_store: Callable[[str], TaskStore]
) -> dict[str, StateError]:
    """Take over what other machines added to any task; return those that can't be, with what is wrong.

    :param open_store: returns a task's store. Raises StoreUnreachableError where nothing can be asked.
    """
    known = {task: _known_head(task_folder(state_folder, task) / "state.json") for task in task_names(state_folder)}
    refused: dict[str, StateError] = {}
    found = shared.read_all(known)
    for task in known.keys() - found.keys():
        refused[task] = StorageError(
            f"it is in this folder, and {shared.shown} has no task of that name",
            remedy=_OTHER_PLACE,
        )
    for task, tail in sorted(found.items()):
        head = known.get(task, Head())
        if not tail.rows and tail.head == head:
            continue
        try:
            store = open_store(task)
            assert isinstance(store, SharedTaskStore), "tasks are shared here"
            store.read((head, tail))
        except StoreUnreachableError:
            raise
        except StateError as error:
            refused[task] = error
    return refused


def _head(opened: Opened) -> Head:
    return Head(opened.serial, opened.head)


def _known_head(file: Path) -> Head:
    """Return the last line in a state file, only for a query; nothing is decided by it."""
    shown = load_json(file)
    try:
        return Head(int(shown["serial"]), str(shown["head"]))
    except (TypeError, KeyError, ValueError):
        return Head()
