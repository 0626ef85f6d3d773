"""Look at every line of a task's ledger; take up one that was restored from a copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from phase_gate.errors import ForeignStateError, NotAllowedError, RollbackError, StateError
from phase_gate.gate.overrides import Person, refuse_excuse
from phase_gate.gate.state import NEW_STATE, Event
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.store import TaskStore, Transaction
from phase_gate.values import Value


class Audited(Value):
    #: Lines that are good, from the first.
    events: int
    kinds: Mapping[str, int]
    #: What is wrong behind them.
    problem: StateError | None


def audit(store: TaskStore) -> Audited:
    """Verify the ledger and what it names."""
    kinds: Counter[str] = Counter()
    last = 0
    problem: StateError | None = None
    try:
        if store.shared is not None:
            store.look()
        for line in store.lines():
            kinds[line.event.kind] += 1
            last = line.seq
        store.check_objects(store.look().state)
        store.verify_whole()
    except StateError as error:
        problem = error
    return Audited(events=last, kinds=dict(sorted(kinds.items())), problem=problem)


@again_if_moved
def accept_rollback(store: TaskStore, person: Person) -> dict[str, Any]:
    """Go on from a folder that was restored from a copy; return what is recorded."""
    is_foreign = False
    try:
        store.look()
    except RollbackError:
        pass
    except ForeignStateError:
        is_foreign = True  # what it says of scripts was said about another project
    else:
        raise NotAllowedError("nothing was rolled back", remedy="phase-gate status")
    what = "accepting another ledger" if is_foreign else "accepting a rollback"
    if store.shared is not None:
        # A store that was rewritten can say anything of scripts.
        person.require(NEW_STATE, what, always=True)
        refuse_excuse(person.reason)
        store.accept_rewritten()
        return _record_accepted(store, person)
    with store.transaction(accept_rollback=True) as change:
        person.require(change.opened.state, what, always=is_foreign)
        refuse_excuse(person.reason)
        return _accepted(change, person)


@again_if_moved
def _record_accepted(store: TaskStore, person: Person) -> dict[str, Any]:
    with store.transaction() as change:
        return _accepted(change, person)


def _accepted(change: Transaction, person: Person) -> dict[str, Any]:
    record = {"reason": person.reason, "by": person.by, "serial": change.opened.serial}
    change.record(Event(kind="rollback-accepted", data=record))
    return record
