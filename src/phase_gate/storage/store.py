"""A task's state on disk: read it, or change it in one locked transaction.

Files only; what an event means is the core's business. The ledger is the truth, `state.json` a checkpoint of it, so
that opening does not depend on the ledger's length.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from phase_gate.errors import (
    MovedError,
    NotAllowedError,
    TamperedError,
)
from phase_gate.gate.state import Event, OpenRun, State
from phase_gate.storage.files import (
    REAL,
    FileSystem,
    exists,
    make_folder,
    read_bytes,
    write_atomically,
)
from phase_gate.storage.ledger import Line, digest, encode_transaction
from phase_gate.storage.memory import Memory
from phase_gate.storage.opening import Opened, first_text
from phase_gate.storage.root import refuse_links
from phase_gate.storage.writing import TaskFiles
from phase_gate.values import replace
from phase_gate.workflow.settings import DEFAULT_KEEP_OBJECTS, DEFAULT_LOCK_TIMEOUT, DEFAULT_RUN_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.storage.lock import RunLock
    from phase_gate.storage.shared import SharedStore

#: With these a cycle, or a verify task, begins: what only earlier ones name may go.
_BEGINNINGS = ("cycle-began", "task-taken")

#: What the run is called that a drive holds while it lives.
DRIVE_NAME = "drive"


class Transaction:
    """One change of a task: record events, then leave the block to write them."""

    def __init__(self, opened: Opened, *, at: str) -> None:
        self.opened, self.at, self.state = opened, at, opened.state
        self.events: list[Event] = []

    def record(self, *events: Event) -> None:
        from phase_gate.gate.events import apply

        for event in events:
            event = event if event.at else replace(event, at=self.at)
            self.events.append(event)
            self.state = apply(self.state, event)


class TaskStore(TaskFiles):
    """The state of one task, and its files."""

    def __init__(
        self,
        folder: Path,
        *,
        task: str,
        command: str = "",
        lock_timeout: float = DEFAULT_LOCK_TIMEOUT,
        key: bytes | None = None,
        memory: Memory | None = None,
        files: FileSystem = REAL,
        own_folders: tuple[Path, ...] = (),
        state_folder: Path | None = None,
        keep_objects: float = DEFAULT_KEEP_OBJECTS,
        run_limit: float = DEFAULT_RUN_LIMIT * 3600,
        shared: SharedStore | None = None,
    ) -> None:
        """Take the task in that folder.

        :param own_folders: may not be links.
        :param run_limit: seconds after which machines that share a store take a run for lost.
        :param shared: the store that the files are a copy of; None where they are all there is.
        """
        super().__init__(
            folder,
            task=task,
            key=key,
            memory=memory,
            files=files,
            state_folder=state_folder,
            keep_objects=keep_objects,
        )
        self.shared, self.run_limit = shared, run_limit
        #: Another machine was first: what a caller has opened is not the last word.
        self._is_behind = False
        self._own_folders = own_folders
        self._command, self._lock_timeout = command, lock_timeout

    def is_driven(self) -> bool:
        """Tell whether a drive of the task goes on, where one has begun and not ended."""
        return self._lives(self.drive_lock_file, b"", self.run_limit)

    def hold(self, name: str) -> RunLock:
        """Hold the lock of the run of this name, or of the drive, from now on."""
        from phase_gate.storage.lock import RunLock

        make_folder(self.files, self.folder / "runs")
        if self.shared is not None and not exists(self.here_file, self.files):
            write_atomically(self.files, self.here_file, b"", durable=False)
        lock = RunLock(self.drive_lock_file if name == DRIVE_NAME else self.run_lock_file(name), self.files)
        lock.acquire()
        return lock

    def is_alive(self, name: str, limit: float) -> bool:
        """Tell whether a run lives: by its lock on this machine, or elsewhere for so many seconds."""
        return self._lives(self.run_lock_file(name), f'"{name}"'.encode(), limit)

    def _lives(self, lock: Path, mark: bytes, limit: float) -> bool:
        """Tell whether its process lives, or may live.

        :param mark: what its first line in the ledger has, and no line before; the last line counts where it is empty.
        """
        if exists(lock, self.files):
            from phase_gate.storage.lock import is_free

            return not is_free(lock, self.files)  # a lock on this machine says all of a run on it
        if self.shared is None:
            return False
        ledger = read_bytes(self.ledger_file, self.files) or b""
        serial = ledger.count(b"\n", 0, ledger.find(mark)) + 1 if mark else ledger.count(b"\n")
        return self.shared.age(self.task, serial) < limit

    def alone(self) -> TaskStore:
        """Return the task as the folder has it, whatever a shared store has."""
        return TaskStore(
            self.folder,
            task=self.task,
            command=self._command,
            lock_timeout=self._lock_timeout,
            key=self.key,
            memory=self._memory,
            files=self.files,
            own_folders=self._own_folders,
            state_folder=self._state_folder,
            keep_objects=self._keep_objects,
            run_limit=self.run_limit,
        )

    def keep(self, kind: str, value: Any) -> str:
        """Store an object that events will name, and return its digest."""
        refuse_links(self._own_folders)
        self.make_folder()
        return self.objects.keep_inventory(value) if kind == "inventory" else self.objects.keep(value)

    # --- looking -------------------------------------------------------------------------------------------------

    def look(self, *, asks: bool = True) -> Opened:
        """Return the task as it stands, without a lock; nothing is written but what a shared store has beyond it.

        :param asks: False: as this folder has it. A change that is based on it finds out whether that is still true.
        """
        refuse_links(self._own_folders)
        opened = self.opener.open()
        if self.shared is not None and asks:
            opened = self._catch_up(opened)
        return opened

    def _catch_up(self, opened: Opened) -> Opened:
        """Return the task as the shared store has it; the lock is taken only if there is something to write."""
        from phase_gate.storage.lock import hold_lock
        from phase_gate.storage.mirror import read_beyond

        beyond = read_beyond(self, opened)
        if beyond is None:
            return opened
        self.make_folder()
        with hold_lock(self.lock_file, self.files, timeout=self._lock_timeout, command=self._command):
            return self.take_over(self.opener.open())

    def take_over(self, opened: Opened) -> Opened:
        """Write what other machines have added to the task since. The caller holds the lock."""
        from phase_gate.gate.codec import state_to_json
        from phase_gate.storage.mirror import read_beyond

        beyond = read_beyond(self, opened)
        if beyond is None:
            return opened
        if not opened.exists:
            self.make_folders()
        for name, packed in beyond.objects.items():
            self.objects.take_over(name, packed)
        return self.write(opened, beyond.after, state_to_json(beyond.after.state), beyond.rows, beyond.last)

    def is_as_opened(self, opened: Opened) -> bool:
        """Tell whether the task's files look unchanged since it was opened."""
        refuse_links(self._own_folders)
        return self.opener.is_as_opened(opened)

    def lost_runs(self, state: State) -> tuple[str, ...]:
        """Return the open runs whose own lock is free, or whose time is over: they will never end."""
        return tuple(run.id for run in state.open_runs if not self.is_alive(run.id, run.limit))

    def close_lost(self, change: Transaction) -> tuple[OpenRun, ...]:
        """Record that the open runs which will never end are lost; return them."""
        lost = tuple(run for run in map(change.state.open_run, self.lost_runs(change.state)) if run is not None)
        for run in lost:
            change.record(Event(kind="run-lost", data={"run": run.id}))
        return lost

    def refuse_while_running(self, state: State) -> None:
        """Refuse to speak about a run that has not ended."""
        lost = self.lost_runs(state)
        alive = [run for run in state.open_runs if run.id not in lost and not run.nested]
        if alive:
            raise NotAllowedError(
                f"run {alive[0].id[:8]} is going on since {alive[0].at}", remedy="wait for it to end, then try again"
            )

    def refuse_while_driven(self, state: State) -> None:
        """Refuse to end a phase while the agent of a drive is at work in it: the drive judges when it has ended."""
        from phase_gate.gate.parts import parts_of

        why = next(filter(None, (part.holds_signal(value) for part, value in parts_of(state))), "")
        if why and self.is_driven():
            raise NotAllowedError(why, remedy="wait for this iteration to end, then signal")

    @staticmethod
    def lineage_of(rows: bytes) -> str:
        """Return which ledger begins with these rows."""
        return first_text(rows.partition(b"\n")[0], "lineage") or ""

    def expect(self, lineage: str) -> None:
        """Expect a ledger of this lineage from now on, at any line: a person has decided so."""
        self._memory.expect(lineage)

    def has_lost_cycle(self, state: State) -> bool:
        """Tell whether this user has seen an open cycle in this folder that the state knows nothing of."""
        seen = self._memory.recall()
        return seen is not None and seen.cycle_is_open and (state.cycle == 0 or state.cycle < seen.cycle)

    def look_if_begun(self) -> State | None:
        """Return the state; None for a task that never began. Raises StateError for one removed in mid-cycle."""
        opened = self.look()
        if opened.exists:
            return opened.state
        if self.has_lost_cycle(opened.state):
            raise TamperedError("its files are gone, and it was not finished", remedy="bring its folder back")
        return None

    def may_lack(self, name: str) -> bool:
        """Tell whether an object is not there, and need not be: those that only earlier cycles name go one day."""
        return not self.objects.has(name) and name.encode() not in (read_bytes(self.state_file, self.files) or b"")

    def check_objects(self, state: State) -> None:
        """Raise TamperedError if an object that the state names is gone or damaged."""
        known = state.snapshots
        runs = [run for run in (known.baseline, known.first, known.latest) if run is not None]
        names = [state.rules, known.known, state.aim.targets, state.aim.criteria]
        for name in (*names, *(part for run in runs for part in (run.inventory, run.outcomes))):
            if name is not None:
                self.objects.load(name)

    def lines(self) -> Iterator[Line]:
        """Yield every line of the ledger, verified one by one."""
        refuse_links(self._own_folders)
        return self.opener.lines()

    def wait_for_more(self, seconds: float) -> bool:
        """Wait until the shared store may have more than this folder; tell whether it has."""
        assert self.shared is not None, "there is one"
        from phase_gate.storage.shared import Head

        opened = self.opener.open()
        return self.shared.wait(self.task, Head(opened.serial, opened.head), seconds)

    # --- changing ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self, *, accept_rollback: bool = False, known: Opened | None = None) -> Iterator[Transaction]:
        """Lock, open, hand out, write. Nothing is written if the block raises, or records nothing.

        :param known: the task as the caller has opened it; it is not opened again if nothing was written since.
        """
        from phase_gate.storage.lock import hold_lock

        refuse_links(self._own_folders)
        self.make_folder()
        with hold_lock(self.lock_file, self.files, timeout=self._lock_timeout, command=self._command):
            if known is not None and not self._is_behind and self.opener.is_as_opened(known):
                opened = known
            else:
                opened = self.opener.open(accept_rollback=accept_rollback)
                if self.shared is not None:
                    opened, self._is_behind = self.take_over(opened), False
            change = Transaction(opened, at=now())
            if not opened.exists:
                self._begin(change)
            yield change
            if change.events and (opened.exists or len(change.events) > 1):
                self._commit(change, is_expected=opened.exists and not accept_rollback)

    def rewrite(self, opened: Opened, kept: bytes, *events: Event) -> None:
        """Replace the ledger by its good beginning and these events, in one step. The caller holds the lock."""
        change = Transaction(opened, at=now())
        if not opened.exists:
            self._begin(change)
        change.record(*events)
        self._commit(change, instead_of=kept)

    def _begin(self, change: Transaction) -> None:
        lineage = os.urandom(16).hex()
        # It tells which key, and not what it is.
        check = None if self.key is None else digest(lineage, self.key)[:32]
        change.opened = replace(change.opened, lineage=lineage, key_check=check)
        created: dict[str, Any] = {"task": self.task, "lineage": lineage, "key_check": check}
        if self.has_lost_cycle(change.state):
            created["vanished"] = True
        change.record(Event(kind="created", data=created))

    def _commit(self, change: Transaction, *, instead_of: bytes | None = None, is_expected: bool = False) -> None:
        """Write the events.

        :param instead_of: what the ledger begins with from now on, in one step.
        :param is_expected: the memory knows the lineage, and no line that will be gone.
        """
        from phase_gate.gate.codec import state_to_json

        opened = change.opened
        if not opened.exists:
            self.make_folders()
        document = state_to_json(change.state)
        data, last = encode_transaction(
            change.events,
            seq=opened.serial + 1,
            prev=opened.head,
            state_digest=digest(document),
            key=self.opener.key_for(opened.key_check) if opened.exists else self.key,
        )
        if self.shared is not None:
            from phase_gate.storage.mirror import send

            # First: what it has counts, and what only this folder has does not.
            try:
                send(self, opened, data, last)
            except MovedError:
                self._is_behind = True
                raise
        after = replace(opened, state=change.state, serial=last.seq, head=last.hash)
        change.opened = self.write(opened, after, document, data, last.start, instead_of, is_expected=is_expected)
        if any(event.kind in _BEGINNINGS for event in change.events):
            self.remove_old_objects(document, data)


def now() -> str:
    """Return the present time as the ledger writes it: UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
