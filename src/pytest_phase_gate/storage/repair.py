"""Repair a damaged ledger: keep a copy, go on from the last good transaction.

Nothing is thrown away, and nothing that was damaged counts: after a repair the streak and the verdict start anew.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from pytest_phase_gate.core.state import NEW_STATE, Event, State
from pytest_phase_gate.core.values import Value
from pytest_phase_gate.errors import NotAllowedError, RollbackError, StateError, TamperedError
from pytest_phase_gate.storage.files import cut_off, read_bytes, write_atomically
from pytest_phase_gate.storage.lock import hold_lock
from pytest_phase_gate.storage.opening import apply_line
from pytest_phase_gate.storage.store import TaskStore


class Repaired(Value):
    kept_lines: int
    dropped_bytes: int
    copy: Path


def repair(store: TaskStore) -> Repaired:
    """Make the task usable again. Raises NotAllowedError if nothing is wrong with it."""
    try:
        store.check_objects(store.look().state)
    except RollbackError:
        raise
    except TamperedError:
        pass
    else:
        raise NotAllowedError("nothing is damaged", remedy="phase-gate status")
    with hold_lock(store.lock_file, store.files, command="phase-gate audit --repair"):
        done = _cut(store)
    with store.transaction(accept_rollback=True) as change:
        data = {"kept_lines": done.kept_lines, "dropped_bytes": done.dropped_bytes, "copy": done.copy.name}
        change.record(Event(kind="repaired", data=data))
    return done


def _cut(store: TaskStore) -> Repaired:
    raw = read_bytes(store.ledger_file) or b""
    state = read_bytes(store.state_file)
    kept, size = 0, 0
    # Only damage: a ledger that can't be read for another reason, its key among them, is not to be cut.
    with contextlib.suppress(TamperedError):
        after = NEW_STATE
        for line in store.lines():
            after = apply_line(after, line)
            if not line.more and _has_objects(store, after):
                kept, size = line.seq, line.end
    number = 1
    while (copy := store.folder / f"ledger.damaged-{number}").exists():
        number += 1
    write_atomically(store.files, copy, raw)
    if state is not None:
        write_atomically(store.files, store.folder / f"state.damaged-{number}", state)
        store.files.unlink(store.state_file)
    if raw:
        cut_off(store.files, store.ledger_file, size)
    return Repaired(kept_lines=kept, dropped_bytes=len(raw) - size, copy=copy)


def _has_objects(store: TaskStore, state: State) -> bool:
    """Tell whether all that the state names is still there: a transaction without its evidence is not a good one."""
    try:
        store.check_objects(state)
    except StateError:
        return False
    return True
