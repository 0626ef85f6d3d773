"""Adopt a ledger that was made without a key: a person vouches for it, and the key does from then on.

The whole chain is written anew under the key, so that readers know two kinds of ledger and no third. The old one is
kept aside, and the event that records the adoption names its head: the two can be compared at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.errors import KeylessError, NotAllowedError, UsageError
from phase_gate.gate.state import Event
from phase_gate.storage.files import exists, read_bytes, set_aside, write_atomically
from phase_gate.storage.ledger import GENESIS, Line, encode_transaction
from phase_gate.storage.lock import hold_lock
from phase_gate.storage.opening import Opened
from phase_gate.storage.store import TaskStore
from phase_gate.values import Value, replace


class Adopted(Value):
    lines: int
    copy: Path


def look_without_key(store: TaskStore) -> Opened:
    """Return the keyless task that may be adopted. Raises NotAllowedError or UsageError where there is none."""
    if store.key is None:
        raise UsageError("PHASE_GATE_KEY is not set, so there is no key to adopt", remedy="set PHASE_GATE_KEY")
    try:
        store.look()
    except KeylessError:
        pass
    else:
        raise NotAllowedError("there is no ledger without a key here", remedy="phase-gate status")
    keyless = store.without_key()
    opened = keyless.look()
    keyless.check_objects(opened.state)
    return opened


def adopt_key(store: TaskStore, data: Mapping[str, Any]) -> Adopted:
    """Put the ledger under the key that is set, with what was decided on record.

    Until the new ledger is in its place the task is refused as it was; there is nothing in between.
    """
    with hold_lock(store.lock_file, store.files, command="phase-gate audit --adopt-key"):
        opened = look_without_key(store)
        number = 1
        while exists(copy := store.folder / f"ledger.keyless-{number}", store.files):
            number += 1
        write_atomically(store.files, copy, read_bytes(store.ledger_file, store.files) or b"")
        check = store.key_check(opened.lineage)
        kept, head = _sign(store.without_key().lines(), opened.serial, check, store.key)
        event = Event(kind="key-adopted", data={**data, "head": opened.head, "copy": copy.name})
        if exists(store.state_file, store.files):
            # First: whole as it is, the ledger needs no checkpoint, and that of the old one does not fit the new one.
            set_aside(store.files, store.state_file, store.folder / f"state.keyless-{number}")
        signed = replace(opened, head=head, size=len(kept), key_check=check, unfinished=b"", older_schema=None)
        store.rewrite(signed, kept, event)
        return Adopted(lines=opened.serial, copy=copy)


def _sign(lines: Iterable[Line], serial: int, check: str | None, key: bytes | None) -> tuple[bytes, str]:
    """Return the chain up to that line as it would be had the key been there from the beginning, and its head."""
    out, head = bytearray(), GENESIS
    transaction: list[Event] = []
    for line in lines:
        if line.seq > serial:
            break  # an unfinished end: the copy has it
        event = line.event
        if line.seq == 1:
            event = replace(event, data={**event.data, "key_check": check})
        transaction.append(event)
        if not line.more:
            seq = line.seq + 1 - len(transaction)
            signed, last = encode_transaction(transaction, seq=seq, prev=head, state_digest=line.state or "", key=key)
            out += signed
            head = last.hash
            transaction.clear()
    return bytes(out), head
