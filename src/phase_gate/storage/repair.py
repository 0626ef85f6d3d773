"""Repair a damaged ledger: keep a copy, and continue after the last good transaction.

Nothing is deleted, and nothing damaged counts: after a repair the streak and the verdict start from zero.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from phase_gate.errors import NotAllowedError, TamperedError
from phase_gate.gate.state import Event
from phase_gate.storage.files import read_bytes, write_atomically
from phase_gate.storage.opening import Opened
from phase_gate.storage.store import TaskStore
from phase_gate.workflow.names import status_command


def repair(store: TaskStore) -> tuple[int, int, Path]:
    """Make the task usable again. Raises NotAllowedError if it is not damaged.

    Returns how many lines were kept, how many bytes were dropped, and the copy of the ledger.
    """
    with contextlib.suppress(TamperedError):
        store.check_objects(store.read().state)
        raise NotAllowedError("nothing is damaged", remedy=status_command(store.task))
    with store.lock():
        return _rewrite(store)


def _rewrite(store: TaskStore) -> tuple[int, int, Path]:
    """Copy the ledger, then replace it with its good lines and a record of the repair, in one step.

    A crash before that step leaves the damaged task; a crash after it leaves the repaired one.
    """
    raw = read_bytes(store.ledger_file, store.files) or b""
    state = read_bytes(store.state_file, store.files)
    good = find_last_good(store)
    copy, state_copy = store.damaged_files()
    write_atomically(store.files, copy, raw)
    if state is not None:
        write_atomically(store.files, state_copy, state)
    store.objects.set_damaged_aside()
    dropped = len(raw) - good.size
    data = {"kept_lines": good.serial, "dropped_bytes": dropped, "copy": copy.name}
    if store.has_lost_cycle(good.state):
        data["vanished"] = True
    store.rewrite(good, raw[: good.size], Event(kind="repaired", data=data))
    return good.serial, dropped, copy


def find_last_good(store: TaskStore) -> Opened:
    """Return the task after its last good transaction: what a repair keeps."""
    good = Opened()
    # Only damage is cut off. A ledger that is unreadable for another reason, such as its key, is not.
    with contextlib.suppress(TamperedError):
        for line, after in store.states():
            if not line.more:
                # A transaction without its evidence is not a good one. An object that can't be read at the moment
                # raises StorageError, so that nothing is cut off in doubt.
                with contextlib.suppress(TamperedError):
                    store.check_objects(after.state)
                    good = after
    return good
