"""A task's state on disk: read it, or change it in one locked transaction.

Only files: `gate` knows the meaning of events. The ledger is authoritative, `state.json` shows the current state to
people, and a checkpoint in `cache/` saves the next process from reading the whole ledger. `stores` has a subclass for
tasks that several machines share.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from datetime import UTC, datetime
from json import dumps
from pathlib import Path

from phase_gate.bound import os
from phase_gate.codec import to_json
from phase_gate.errors import NotAllowedError, StateError, StorageError, TamperedError
from phase_gate.gate.state import DRIVE, SCHEMA, Event, Run, State
from phase_gate.storage.files import (
    append_durably,
    cut_off,
    exists,
    make_folder,
    read_bytes,
    save_cache,
    set_aside,
    sync_folders,
    write_atomically,
)
from phase_gate.storage.ledger import REPAIR, Line, canonical, digest, encode_transaction
from phase_gate.storage.opening import LastSeen, Opened, TaskReader, check_of
from phase_gate.storage.root import make_state_folder, refuse_links
from phase_gate.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.storage.lock import KernelLock
    from phase_gate.storage.objects import ObjectStore
    from phase_gate.stores.shared import SharedStore

#: Events that start a cycle or a verify task. Objects that only earlier ones use may be removed then.
_BEGINNINGS = ("cycle-began", "task-taken")
#: In seconds: 30 days, longer than most users need the objects of an earlier cycle.
_KEEP_OBJECTS = 30 * 86_400.0

#: The name under which a running drive holds its lock, and the command name of a drive.
DRIVE_NAME, DRIVER = "drive", "phase-gate drive"


class Transaction:
    """One change of a task. Recorded events are written at the end of the `with` block."""

    def __init__(self, opened: Opened, *, at: str) -> None:
        self.opened, self.at, self.state = opened, at, opened.state
        #: In the ledger's short form.
        self.events: list[Event] = []

    def record(self, *events: Event) -> None:
        from phase_gate.gate.brief import abridge
        from phase_gate.gate.events import apply

        for event in events:
            written, restored = abridge(event if event.at else replace(event, at=self.at), self.state)
            self.events.append(written)
            self.state = apply(self.state, restored)


class TaskStore(TaskReader):
    """The state of one task, and its files."""

    #: The shared store that the files are a copy of; None for a task in this folder only.
    shared: SharedStore | None = None

    @functools.cached_property
    def objects(self) -> ObjectStore:
        from phase_gate.storage.objects import ObjectStore

        return ObjectStore(self.folder / "objects", self.files, kept_for=_KEEP_OBJECTS)

    def keep(self, kind: str, value: Any) -> str:
        """Store an object for events to refer to, and return its digest."""
        self.make_folder()
        return self.objects.store_inventory(value) if kind == "inventory" else self.objects.keep(value)

    # --- runs in progress ----------------------------------------------------------------------------------------

    def hold(self, name: str) -> KernelLock:
        """Acquire and return the lock of a run, or of the drive."""
        from phase_gate.storage.lock import KernelLock

        make_folder(self.files, self.runs_folder)
        lock = KernelLock(self.drive_lock_file if name == DRIVE_NAME else self.run_lock_file(name), self.files)
        lock.acquire()
        return lock

    def run_lock_file(self, run: str) -> Path:
        """Return the lock file of a run. Raises TamperedError if the name is not a plain file name."""
        if not run.isascii() or not run.replace("-", "").isalnum():
            raise TamperedError(f"{run[:12]!a} can't be a run's name", remedy=REPAIR)
        return self.runs_folder / f"{run}.lock"

    def is_driven(self) -> bool:
        """Return whether a drive of the task that has started is still running."""
        return self._lives(self.drive_lock_file, b"", self.run_limit)

    def is_alive(self, name: str, limit: float) -> bool:
        """Return whether a run is alive: by its lock on this machine; elsewhere, for `limit` seconds."""
        return self._lives(self.run_lock_file(name), f'"{name}"'.encode(), limit)

    def _lives(self, lock: Path, mark: bytes, limit: float) -> bool:
        """Return whether the holder of a lock is alive or may be.

        :param mark: text in the ledger that first occurs in the holder's first line; empty: the last line counts.
        """
        from phase_gate.storage.lock import is_free

        return not is_free(lock, self.files)

    def lost_runs(self, state: State) -> tuple[str, ...]:
        """Return the open runs that will never end: their lock is free, or their time is over."""
        return tuple(run.id for run in state.open_runs if not self.is_alive(run.id, run.limit))

    def close_lost(self, change: Transaction) -> tuple[Run, ...]:
        """Record the open runs that will never end as lost, and return them."""
        lost = self.lost_runs(change.state)
        closed = tuple(run for run in change.state.open_runs if run.id in lost)
        change.record(*(Event(kind="run-lost", data={"run": name}) for name in lost))
        return closed

    def refuse_while_running(self, state: State) -> None:
        """Raise NotAllowedError while a run is in progress."""
        lost = self.lost_runs(state)
        alive = [run for run in state.open_runs if run.id not in lost and not run.nested]
        if alive:
            raise NotAllowedError(
                f"run {alive[0].id[:8]} is in progress since {alive[0].at}",
                remedy="wait for it to end, then try again",
            )

    def refuse_while_driven(self, state: State) -> None:
        """Raise NotAllowedError during an iteration of a drive: only the drive itself may end the phase."""
        drive = state.parts.get(DRIVE)
        if drive is not None and drive.holds_signal and self.place.command != DRIVER and self.is_driven():
            raise NotAllowedError(drive.holds_signal, remedy="wait for this iteration to end, then signal")

    # --- reading -------------------------------------------------------------------------------------------------

    def read(self) -> Opened:
        """Return the task as it is on disk. Takes no lock and writes nothing."""
        refuse_links(self.place.own_folders)
        return self.open()

    def read_if_begun(self) -> State | None:
        """Return the state; None for a task that never started. Raises StateError if it was removed in mid-cycle."""
        opened = self.read()
        if opened.exists:
            return opened.state
        if self.has_lost_cycle(opened.state):
            raise TamperedError("its files are gone, and it was not finished", remedy="restore its folder")
        return None

    def alone(self) -> TaskStore:
        """Return the task of this folder, without a shared store."""
        return self

    def lines(self) -> Iterator[Line]:
        """Yield every line of the ledger, verified one by one."""
        refuse_links(self.place.own_folders)
        return (line for line, _ in self.states())

    def expect(self, lineage: str) -> None:
        """Accept any line of a ledger with this lineage from now on.

        Call this before the ledger is replaced: if the process dies in between, the new ledger must not look like a
        rollback. Whether a cycle was open stays recorded. Raises StorageError if the file can't be written.
        """
        seen = self.last_seen()
        if seen is not None and self.guard is not None:
            expected = to_json(replace(seen, lineage=lineage, serial=0, head=""))
            write_atomically(self.files, self.guard, dumps(expected).encode())

    def has_lost_cycle(self, state: State) -> bool:
        """Return whether this user has seen an open cycle in this folder that the state does not have."""
        seen = self.last_seen()
        return seen is not None and seen.has_red and (state.cycle == 0 or state.cycle < seen.cycle)

    def damaged_files(self) -> tuple[Path, Path]:
        """Return unused names for a damaged ledger and state file."""
        number = 1
        while exists(self.folder / f"ledger.damaged-{number}", self.files):
            number += 1
        return self.folder / f"ledger.damaged-{number}", self.folder / f"state.damaged-{number}"

    def verify_whole(self) -> None:
        """Verify that the folder matches the shared store. Does nothing without one."""

    def accept_rewritten(self) -> None:
        """Download the task again from a shared store that was rewritten. Does nothing without one."""

    def may_lack(self, name: str) -> bool:
        """Return whether an object is missing and may be: only earlier cycles use it, so it may have expired."""
        return not self.objects.has(name) and name.encode() not in (read_bytes(self.checkpoint_file, self.files) or b"")

    def check_objects(self, state: State) -> None:
        """Raise TamperedError if an object of the state is missing or damaged."""
        runs = [run for run in (state.baseline, state.first_snapshot, state.latest_snapshot) if run is not None]
        names = [state.rules, state.known_tests, state.targets, state.criteria]
        for name in (*names, *(part for run in runs for part in (run.inventory, run.outcomes))):
            if name is not None:
                self.objects.load(name)

    # --- changing ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the task's lock. Raises StateError if another process does not release it in time."""
        from phase_gate.storage.lock import hold_lock

        refuse_links(self.place.own_folders)
        self.make_folder()
        with hold_lock(self.lock_file, self.files, timeout=self.place.lock_timeout, command=self.place.command):
            yield

    @contextlib.contextmanager
    def transaction(self, *, accept_rollback: bool = False, known: Opened | None = None) -> Iterator[Transaction]:
        """Lock and open the task, and write the recorded events at the end of the block, unless it raises.

        :param known: the task as the caller has opened it. It is not opened again if it is unchanged.
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
        """Return the task. The caller holds the lock."""
        is_known = known is not None and self.is_as_opened(known)
        return known if known is not None and is_known else self.open(accept_rollback=accept_rollback)

    def rewrite(self, opened: Opened, kept: bytes, *events: Event) -> None:
        """Replace the ledger with `kept` and these events, in one step. The caller holds the lock."""
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

        :param instead_of: replace the ledger with these bytes plus the events, in one step.
        :param is_expected: the rollback guard needs no update first: the lineage and all lines stay.
        """
        from phase_gate.gate.state import state_to_json

        opened, document = change.opened, state_to_json(change.state)
        data, last = encode_transaction(
            change.events,
            seq=opened.serial + 1,
            prev=opened.head,
            state_digest=digest(document),
            key=self.key_for(opened),
        )
        self.send(opened, data, last)
        after = replace(opened, state=change.state, serial=last.seq, head=last.hash)
        change.opened = self.write(opened, after, document, data, last.start, instead_of, is_expected=is_expected)
        if any(event.kind in _BEGINNINGS for event in change.events):
            from phase_gate.storage.objects import find_names

            with contextlib.suppress(StateError, OSError):
                self.objects.remove_old(find_names(canonical(document) + data))

    def send(self, opened: Opened, data: bytes, last: Line) -> None:
        """Send the lines to the shared store first. Does nothing without one."""

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
        """Write lines and the state after them, and return the task as written.

        :param document: the state as JSON.
        :param last: the offset of the last line in `data`.
        """
        if not opened.exists:
            # Again, up to the parent of `tasks/NAME`: the process that made them may have died before syncing.
            sync_folders(self.files, self.folder.parents[:3])
        if opened.unfinished:
            # Set aside, not deleted: it may show what happened.
            aside = self.folder / f"ledger.unfinished-{opened.serial}"
            write_atomically(self.files, aside, opened.unfinished)
            cut_off(self.files, self.ledger_file, opened.size)
        if not is_expected:
            self.expect(after.lineage)
        if instead_of is None:
            append_durably(self.files, self.ledger_file, data)
        else:
            write_atomically(self.files, self.ledger_file, instead_of + data)
        written = replace(after, size=opened.size + len(data), unfinished=b"", stat={})
        try:
            written = replace(written, stat=self.ledger_stat())
            write_atomically(self.files, self.state_file, dumps(written.shown(), indent=1).encode() + b"\n")
            checkpoint = {"schema": SCHEMA, "last": opened.size + last, "stat": written.stat, "state": document}
            save_cache(self.checkpoint_file, checkpoint, self.files)
        except StorageError:
            # The ledger has the events, so they are recorded. An old state file is fine, because the next write
            # replaces it; but one of a replaced ledger would look like damage.
            if instead_of is not None and exists(self.state_file, self.files):
                set_aside(self.files, self.state_file, self.folder / "state.old")
        if self.guard is not None:
            state = written.state
            seen = LastSeen(
                lineage=written.lineage,
                serial=written.serial,
                head=written.head,
                # A cycle that vanished counts as open until another one is done.
                cycle_is_open=(state.phase is not None or state.vanished) and not state.is_done,
                has_red=bool(state.freeze.red_exited or state.vanished or state.parts) and not state.is_done,
                cycle=state.cycle,
            )
            save_cache(self.guard, seen, self.files)
        return written

    def make_folder(self) -> None:
        """Make the task's folder, and the state folder with its `.gitignore`."""
        make_state_folder(self.place.state_folder or self.folder, self.files)
        make_folder(self.files, self.folder)


def now() -> str:
    """Return the current time in the ledger's format: UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
