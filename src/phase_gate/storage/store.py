"""A task's state on disk: read it, or change it in one locked transaction.

Files only; what an event means is the core's business. The ledger is the truth, `state.json` shows people where it has
come to, and a checkpoint in `cache/` lets the next process begin there. A task that many machines share has a subclass,
in `stores`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from datetime import UTC, datetime
from json import dumps
from pathlib import Path

from phase_gate.bound import os
from phase_gate.errors import NotAllowedError, StateError, StorageError, TamperedError
from phase_gate.gate.state import SCHEMA, Event, OpenRun, State
from phase_gate.storage import cache
from phase_gate.storage.files import (
    REAL,
    FileSystem,
    append_durably,
    cut_off,
    exists,
    make_folder,
    read_bytes,
    set_aside,
    sync_folders,
    write_atomically,
)
from phase_gate.storage.ledger import Line, canonical, digest, encode_transaction
from phase_gate.storage.opening import Opened, Opener, check_of, read_beginning
from phase_gate.storage.paths import TaskPaths, make_state_folder
from phase_gate.storage.rollback_guard import LastSeen, RollbackGuard
from phase_gate.storage.root import refuse_links
from phase_gate.values import replace
from phase_gate.workflow.settings import DEFAULT_KEEP_OBJECTS, DEFAULT_LOCK_TIMEOUT, DEFAULT_RUN_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.storage.lock import RunLock
    from phase_gate.storage.objects import ObjectStore
    from phase_gate.stores.shared import SharedStore

#: With these a cycle, or a verify task, begins: what only earlier ones name may go.
_BEGINNINGS = ("cycle-began", "task-taken")

#: What the run is called that a drive holds while it lives, and what the drive calls itself.
DRIVE_NAME, DRIVER = "drive", "phase-gate drive"


class Transaction:
    """One change of a task: record events, then leave the block to write them."""

    def __init__(self, opened: Opened, *, at: str) -> None:
        self.opened, self.at, self.state = opened, at, opened.state
        self.events: list[Event] = []
        #: The same, as the ledger has them.
        self.written: list[Event] = []

    def record(self, *events: Event) -> None:
        from phase_gate.gate.brief import abridge, restore
        from phase_gate.gate.events import apply

        for event in events:
            written = abridge(event if event.at else replace(event, at=self.at), self.state)
            # As it will be read: what a reader makes of the line is what counts here, too.
            event = restore(written, self.state)
            self.events.append(event)
            self.written.append(written)
            self.state = apply(self.state, event)


class TaskStore(TaskPaths):
    """The state of one task, and its files."""

    #: The store that the files are a copy of; None where they are all there is.
    shared: SharedStore | None = None

    def __init__(
        self,
        folder: Path,
        *,
        task: str,
        command: str = "",
        lock_timeout: float = DEFAULT_LOCK_TIMEOUT,
        key: bytes | None = None,
        guard: RollbackGuard | None = None,
        files: FileSystem = REAL,
        own_folders: tuple[Path, ...] = (),
        state_folder: Path | None = None,
        keep_objects: float = DEFAULT_KEEP_OBJECTS,
        run_limit: float = DEFAULT_RUN_LIMIT * 3600,
    ) -> None:
        """Take the task in that folder.

        :param own_folders: may not be links.
        :param state_folder: the folder of all tasks, which git ignores; None: that folder itself.
        :param keep_objects: days after which an object that nothing names any more is removed; 0: never.
        :param run_limit: seconds after which machines that share a store take a run for lost.
        """
        super().__init__(folder)
        self.task, self.key, self.files, self.run_limit = task, key, files, run_limit
        self._command, self._lock_timeout, self._keep_objects = command, lock_timeout, keep_objects
        self._own_folders, self._state_folder = own_folders, state_folder or folder
        self._guard = guard or RollbackGuard(None, folder)
        self.opener = Opener(self, task=task, key=key, guard=self._guard, files=files)

    @functools.cached_property
    def objects(self) -> ObjectStore:
        from phase_gate.storage.objects import ObjectStore

        return ObjectStore(self.folder / "objects", self.files, kept_for=self._keep_objects * 86_400)

    def keep(self, kind: str, value: Any) -> str:
        """Store an object that events will name, and return its digest."""
        refuse_links(self._own_folders)
        self.make_folder()
        return self.objects.keep_inventory(value) if kind == "inventory" else self.objects.keep(value)

    # --- runs that go on -----------------------------------------------------------------------------------------

    def hold(self, name: str) -> RunLock:
        """Hold the lock of the run of this name, or of the drive, from now on."""
        from phase_gate.storage.lock import RunLock

        make_folder(self.files, self.folder / "runs")
        lock = RunLock(self.drive_lock_file if name == DRIVE_NAME else self.run_lock_file(name), self.files)
        lock.acquire()
        return lock

    def is_driven(self) -> bool:
        """Tell whether a drive of the task goes on, where one has begun and not ended."""
        return self._lives(self.drive_lock_file, b"", self.run_limit)

    def is_alive(self, name: str, limit: float) -> bool:
        """Tell whether a run goes on: by its lock on this machine, or elsewhere for so many seconds."""
        return self._lives(self.run_lock_file(name), f'"{name}"'.encode(), limit)

    def _lives(self, lock: Path, mark: bytes, limit: float) -> bool:
        """Tell whether the process that holds a lock lives, or may live.

        :param mark: what its first line in the ledger has, and no line before; the last line counts where it is empty.
        """
        from phase_gate.storage.lock import is_free

        return not is_free(lock, self.files)

    def lost_runs(self, state: State) -> tuple[str, ...]:
        """Return the open runs whose own lock is free, or whose time is over: they will never end."""
        return tuple(run.id for run in state.open_runs if not self.is_alive(run.id, run.limit))

    def close_lost(self, change: Transaction) -> tuple[OpenRun, ...]:
        """Record that the open runs which will never end are lost; return them."""
        lost = self.lost_runs(change.state)
        closed = tuple(run for run in change.state.open_runs if run.id in lost)
        change.record(*(Event(kind="run-lost", data={"run": name}) for name in lost))
        return closed

    def refuse_while_running(self, state: State) -> None:
        """Refuse to speak about a run that has not ended."""
        lost = self.lost_runs(state)
        alive = [run for run in state.open_runs if run.id not in lost and not run.nested]
        if alive:
            raise NotAllowedError(
                f"run {alive[0].id[:8]} is going on since {alive[0].at}", remedy="wait for it to end, then try again"
            )

    def refuse_while_driven(self, state: State) -> None:
        """Refuse to end a phase while a drive is in an iteration of it: only the drive does, when it has judged."""
        from phase_gate.gate.parts import parts_of

        why = next(filter(None, (part.holds_signal(value) for part, value in parts_of(state))), "")
        if why and self._command != DRIVER and self.is_driven():
            raise NotAllowedError(why, remedy="wait for this iteration to end, then signal")

    # --- looking -------------------------------------------------------------------------------------------------

    def look(self) -> Opened:
        """Return the task as it stands, without a lock. Nothing is written."""
        refuse_links(self._own_folders)
        return self.opener.open()

    def look_if_begun(self) -> State | None:
        """Return the state; None for a task that never began. Raises StateError for one removed in mid-cycle."""
        opened = self.look()
        if opened.exists:
            return opened.state
        if self.has_lost_cycle(opened.state):
            raise TamperedError("its files are gone, and it was not finished", remedy="bring its folder back")
        return None

    def alone(self) -> TaskStore:
        """Return the task as the folder has it, whatever a shared store has."""
        return self

    def is_as_opened(self, opened: Opened) -> bool:
        """Tell whether the task's files look unchanged since it was opened."""
        refuse_links(self._own_folders)
        return self.opener.is_as_opened(opened)

    def lines(self) -> Iterator[Line]:
        """Yield every line of the ledger, verified one by one."""
        refuse_links(self._own_folders)
        return self.opener.lines()

    def expect(self, rows: bytes) -> None:
        """Expect a ledger that begins with these rows from now on, at any line: a person has decided so."""
        self._guard.expect(read_beginning(rows.partition(b"\n")[0]).lineage)

    def has_lost_cycle(self, state: State) -> bool:
        """Tell whether this user has seen an open cycle in this folder that the state knows nothing of."""
        seen = self._guard.last_seen()
        return seen is not None and seen.has_red and (state.cycle == 0 or state.cycle < seen.cycle)

    def damaged_files(self) -> tuple[Path, Path]:
        """Return names for a ledger and a state file that are kept aside."""
        number = 1
        while exists(self.folder / f"ledger.damaged-{number}", self.files):
            number += 1
        return self.folder / f"ledger.damaged-{number}", self.folder / f"state.damaged-{number}"

    def verify_whole(self) -> None:
        """Verify that the folder is a copy of what a shared store has. The folder alone is no copy."""

    def accept_rewritten(self) -> None:
        """Take the folder anew from a shared store that was rewritten. The folder alone has none."""

    def may_lack(self, name: str) -> bool:
        """Tell whether an object is not there, and need not be: those that only earlier cycles name go one day."""
        return not self.objects.has(name) and name.encode() not in (read_bytes(self.checkpoint_file, self.files) or b"")

    def check_objects(self, state: State) -> None:
        """Raise TamperedError if an object that the state names is gone or damaged."""
        known = state.snapshots
        runs = [run for run in (known.baseline, known.first, known.latest) if run is not None]
        names = [state.rules, known.known, state.aim.targets, state.aim.criteria]
        for name in (*names, *(part for run in runs for part in (run.inventory, run.outcomes))):
            if name is not None:
                self.objects.load(name)

    # --- changing ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the task's lock. Raises LockTimeoutError where another process has it for too long."""
        from phase_gate.storage.lock import hold_lock

        refuse_links(self._own_folders)
        self.make_folder()
        with hold_lock(self.lock_file, self.files, timeout=self._lock_timeout, command=self._command):
            yield

    @contextlib.contextmanager
    def transaction(self, *, accept_rollback: bool = False, known: Opened | None = None) -> Iterator[Transaction]:
        """Lock, open, hand out, write. Nothing is written if the block raises, or records nothing.

        :param known: the task as the caller has opened it; it is not opened again if nothing was written since.
        """
        with self.lock():
            opened = self.open_locked(known, accept_rollback=accept_rollback)
            change = Transaction(opened, at=now())
            if not opened.exists:
                self._begin(change)
            yield change
            if change.events and (opened.exists or len(change.events) > 1):
                self._commit(change, is_expected=opened.exists and not accept_rollback)

    def open_locked(self, known: Opened | None = None, *, accept_rollback: bool = False) -> Opened:
        """Return the task as it stands. The caller holds the lock."""
        is_known = known is not None and self.opener.is_as_opened(known)
        return known if known is not None and is_known else self.opener.open(accept_rollback=accept_rollback)

    def rewrite(self, opened: Opened, kept: bytes, *events: Event) -> None:
        """Replace the ledger by its good beginning and these events, in one step. The caller holds the lock."""
        change = Transaction(opened, at=now())
        if not opened.exists:
            self._begin(change)
        change.record(*events)
        self._commit(change, instead_of=kept)

    def _begin(self, change: Transaction) -> None:
        lineage = os.urandom(16).hex()
        check = None if self.key is None else check_of(lineage, self.key)
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
        from phase_gate.gate.state import state_to_json

        opened, document = change.opened, state_to_json(change.state)
        data, last = encode_transaction(
            change.written,
            seq=opened.serial + 1,
            prev=opened.head,
            state_digest=digest(document),
            key=self.opener.key_for(opened),
        )
        self.send(opened, data, last)
        after = replace(opened, state=change.state, serial=last.seq, head=last.hash)
        change.opened = self.write(opened, after, document, data, last.start, instead_of, is_expected=is_expected)
        if any(event.kind in _BEGINNINGS for event in change.events):
            from phase_gate.storage.objects import find_names

            with contextlib.suppress(StateError, OSError):
                self.objects.remove_old(find_names(canonical(document) + data))

    def send(self, opened: Opened, data: bytes, last: Line) -> None:
        """Add the lines to a shared store first. The folder alone has none."""

    def write(
        self,
        opened: Opened,
        after: Opened,
        document: dict[str, Any],
        data: bytes,
        last: int,
        instead_of: bytes | None = None,
        *,
        is_expected: bool = False,
    ) -> Opened:
        """Write lines and the state after them, and return the task with the files that it has then.

        :param document: that state, as it is stored.
        :param last: where the last of the lines begins among them.
        """
        if not opened.exists:
            make_folder(self.files, self.folder / "runs")
            # Once more: the process that made them may have died before. Up to where `tasks/NAME` lies.
            sync_folders(self.files, self.folder.parents[:3])
        if opened.unfinished:
            # Set aside, not deleted: it may show what happened.
            aside = self.folder / f"ledger.unfinished-{opened.serial}"
            write_atomically(self.files, aside, opened.unfinished)
            cut_off(self.files, self.ledger_file, opened.size)
        if not is_expected:
            self._guard.expect(after.lineage)
        if instead_of is None:
            append_durably(self.files, self.ledger_file, data)
        else:
            write_atomically(self.files, self.ledger_file, instead_of + data)
        written = replace(after, size=opened.size + len(data), unfinished=b"", stat={})
        try:
            written = replace(written, stat=self.opener.ledger_stat())
            write_atomically(self.files, self.state_file, dumps(written.shown(), indent=1).encode() + b"\n")
            checkpoint = {"schema": SCHEMA, "last": opened.size + last, "stat": written.stat, "state": document}
            cache.save(self.checkpoint_file, checkpoint, self.files)
        except StorageError:
            # Recorded: the ledger has it. A state file that lags is made up for by the next one; one of a ledger that
            # is not there any more would be in the way.
            if instead_of is not None and exists(self.state_file, self.files):
                set_aside(self.files, self.state_file, self.folder / "state.old")
        self._guard.keep(_seen(written))
        return written

    def make_folder(self) -> None:
        """Make the task's folder, in a state folder that git ignores."""
        make_state_folder(self._state_folder, self.files)
        make_folder(self.files, self.folder)


def _seen(opened: Opened) -> LastSeen:
    state = opened.state
    return LastSeen(
        lineage=opened.lineage,
        serial=opened.serial,
        head=opened.head,
        # One that vanished is open until another one has gone the whole way.
        cycle_is_open=(state.phase is not None or state.vanished) and not state.is_done,
        has_red=bool(state.freeze.red_exited or state.vanished or state.parts) and not state.is_done,
        cycle=state.cycle,
    )


def now() -> str:
    """Return the present time as the ledger writes it: UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
