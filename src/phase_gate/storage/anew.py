"""Take the copy of a shared store anew: where it is damaged, or where a person accepts that the store was rewritten.

The copy is kept aside. The store itself is never rewritten: what it has is verified, and only added to.
"""

from __future__ import annotations

from pathlib import Path

from phase_gate.errors import NotAllowedError, TamperedError
from phase_gate.storage.files import exists, set_aside
from phase_gate.storage.lock import hold_lock
from phase_gate.storage.mirror import follow, verify_whole
from phase_gate.storage.opening import Opened
from phase_gate.storage.shared import Head
from phase_gate.storage.store import TaskStore
from phase_gate.values import Value


class Taken(Value):
    #: Lines that were taken anew.
    lines: int
    #: Where the old ledger is.
    copy: Path


def repair_copy(store: TaskStore) -> Taken:
    """Take a damaged copy anew. Raises NotAllowedError if it is not damaged, TamperedError if the store itself is."""
    assert store.shared is not None, "there is one"
    if not _is_damaged(store):
        raise NotAllowedError("nothing is damaged", remedy="phase-gate status")
    tail = store.shared.read(store.task, Head())
    if tail.rows:
        follow(store, Opened(), tail)
    with hold_lock(store.lock_file, store.files, command="phase-gate audit --repair"):
        copy = put_aside(store)
        return Taken(lines=store.take_over(Opened()).serial, copy=copy)


def _is_damaged(store: TaskStore) -> bool:
    alone = store.alone()
    try:
        alone.check_objects(alone.look().state)
        for _ in alone.lines():
            pass
    except TamperedError:
        return True
    store.look()
    try:
        verify_whole(store)
    except TamperedError:
        return True
    return False


def put_aside(store: TaskStore) -> Path:
    """Give the files of the copy other names, and return that of its ledger. The caller holds the lock.

    The checkpoint goes first: a process that dies in between leaves a ledger that is read whole, or none.
    """
    number = 1
    while exists(copy := store.folder / f"ledger.damaged-{number}", store.files):
        number += 1
    store.objects.set_damaged_aside()
    for path, name in (
        (store.state_file, f"state.damaged-{number}"),
        (store.ledger_file, copy.name),
    ):
        if exists(path, store.files):
            set_aside(store.files, path, store.folder / name)
    return copy


def accept_rewritten(store: TaskStore) -> None:
    """Take the copy anew from a store that was rewritten: a person has accepted that.

    It is accepted once an event says so: until then it is refused as it was, or taken over as by a new machine.
    """
    assert store.shared is not None, "there is one"
    store.shared.forget(store.task)
    tail = store.shared.read(store.task, Head())
    with hold_lock(store.lock_file, store.files, command="phase-gate audit --accept-rollback"):
        put_aside(store)
        if tail.rows:
            # What is remembered of the old ledger says nothing of this one; that its cycle was open is not forgotten.
            store.expect(store.lineage_of(tail.rows))
            store.take_over(Opened())
