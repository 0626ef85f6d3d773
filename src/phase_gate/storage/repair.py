"""Repair a damaged ledger: keep a copy, go on from the last good transaction.

Nothing is thrown away, and nothing that was damaged counts: after a repair the streak and the verdict start anew.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from phase_gate.errors import NotAllowedError, TamperedError
from phase_gate.gate.state import Event, State
from phase_gate.storage.files import read_bytes, write_atomically
from phase_gate.storage.opening import Opened, read_beginning
from phase_gate.storage.store import TaskStore
from phase_gate.values import Value, replace


class Repaired(Value):
    kept_lines: int
    dropped_bytes: int
    copy: Path


def repair(store: TaskStore) -> Repaired:
    """Make the task usable again. Raises NotAllowedError if nothing is wrong with it."""
    with contextlib.suppress(TamperedError):
        store.check_objects(store.look().state)
        raise NotAllowedError("nothing is damaged", remedy="phase-gate status")
    with store.lock():
        return _rewrite(store)


def _rewrite(store: TaskStore) -> Repaired:
    """Copy what is there, then put good lines and the record of the repair in its place, in one step.

    Until that step the task is refused as it was; after it, the repair is on record. There is nothing in between.
    """
    raw = read_bytes(store.ledger_file, store.files) or b""
    state = read_bytes(store.state_file, store.files)
    good = _last_good(store, raw)
    copy, state_copy = store.damaged_files()
    write_atomically(store.files, copy, raw)
    if state is not None:
        write_atomically(store.files, state_copy, state)
    store.objects.set_damaged_aside()
    done = Repaired(kept_lines=good.serial, dropped_bytes=len(raw) - good.size, copy=copy)
    data = {"kept_lines": done.kept_lines, "dropped_bytes": done.dropped_bytes, "copy": copy.name}
    if store.has_lost_cycle(good.state):
        data["vanished"] = True
    store.rewrite(good, raw[: good.size], Event(kind="repaired", data=data))
    return done


def _last_good(store: TaskStore, raw: bytes) -> Opened:
    """Return the task as it stood after its last good transaction."""
    beginning = read_beginning(raw.partition(b"\n")[0])
    good = Opened()
    # Only damage: a ledger that can't be read for another reason, its key among them, is not to be cut.
    with contextlib.suppress(TamperedError):
        for line, state in store.opener.states():
            if not line.more and _has_objects(store, state):
                good = replace(beginning, state=state, serial=line.seq, head=line.hash, size=line.end)
    return good


def _has_objects(store: TaskStore, state: State) -> bool:
    """Tell whether all that the state names is still there: a transaction without its evidence is not a good one.

    Raises StorageError for one that can't be read now: it may well be there, and nothing is cut in doubt.
    """
    try:
        store.check_objects(state)
    except TamperedError:
        return False
    return True
