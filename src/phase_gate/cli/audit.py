"""`phase-gate audit`: verify every line of the ledger; repair a damaged one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done
from phase_gate.errors import ForeignStateError, NotAllowedError, RollbackError, StateError, TamperedError
from phase_gate.gate.overrides import Person, refuse_excuse
from phase_gate.gate.state import NEW_STATE, Event
from phase_gate.project import Project
from phase_gate.storage.repair import repair
from phase_gate.storage.store import TaskStore, Transaction
from phase_gate.stores.shared import again_if_moved
from phase_gate.values import replace


def run(call: Call) -> Done:
    project = call.project()
    store = call.store(project)
    if call.arguments.repair:
        return _repair(store)
    if call.arguments.accept_rollback:
        record = accept_rollback(store, call.person())
        text = "accepted; the streak and the last verdict start over"
        return Done(text=text, document=record, next_command="pytest --phase=auto")
    done = _audit(project, store)
    if call.arguments.task or call.environment.get("PHASE_GATE_TASK"):
        return done
    others = [name for name in project.task_names() if name != project.task]
    looks = {name: _audit(each := replace(project, task=name), call.store(each)) for name in others}
    damaged = {name: look for name, look in looks.items() if look.code}
    if done.code or not damaged:
        rows = [f"{done.text}", *(f"{name}: {look.text}" for name, look in looks.items())]
        return replace(done, text="\n".join(rows))
    name, look = next(iter(damaged.items()))
    return replace(look, text=f"{name}: {look.text}", next_command=f"phase-gate audit --repair --task {name}")


def _repair(store: TaskStore) -> Done:
    from phase_gate.stores.task_store import SharedTaskStore

    if isinstance(store, SharedTaskStore):
        if not isinstance(audit(store)[2], TamperedError):
            raise NotAllowedError("nothing is damaged", remedy="phase-gate status")
        (lines, copy), dropped = store.download_again(), 0
        text = f"repaired: {lines} lines downloaded again from {store.shared.shown}; copy: {copy.name}"
    else:
        done = repair(store)
        copy, lines, dropped = done.copy, done.kept_lines, done.dropped_bytes
        text = f"repaired: {lines} lines kept, {dropped} bytes dropped; copy: {copy.name}"
        text += "\n  the streak and the last verdict start over: pytest --phase=auto"
    document = {"repaired": True, "kept_lines": lines, "dropped_bytes": dropped, "copy": str(copy)}
    return Done(text=text, document=document)


def _audit(project: Project, store: TaskStore) -> Done:
    events, kinds, problem = audit(store)
    document: dict[str, Any] = {"task": project.task, "root": str(project.root), "events": events, "kinds": kinds}
    document |= {"intact": problem is None, "problem": None}
    if problem is not None:
        document["problem"] = {"slug": problem.slug, "problem": problem.problem, "remedy": problem.remedy}
        text = f"{events} events are good; then: {problem}"
        return Done(text=text, document=document, code=exit_codes.NOT_TRUSTED, is_error=True)
    counted = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    return Done(text=f"intact: {events} events" + (f" ({counted})" if counted else ""), document=document)


# --- verify every line of a task's ledger; accept one that was restored from a copy


def audit(store: TaskStore) -> tuple[int, dict[str, int], StateError | None]:
    """Verify the ledger and its objects; return the number of valid lines, their kinds, and the first problem."""
    kinds: Counter[str] = Counter()
    last = 0
    problem: StateError | None = None
    try:
        if store.shared is not None:
            store.read()
        for line in store.lines():
            kinds[line.event.kind] += 1
            last = line.seq
        store.check_objects(store.read().state)
        store.verify_whole()
    except StateError as error:
        problem = error
    return last, dict(sorted(kinds.items())), problem


@again_if_moved
def accept_rollback(store: TaskStore, person: Person) -> dict[str, Any]:
    """Accept a folder that was restored from a copy; return the recorded data."""
    is_foreign = False
    try:
        store.read()
    except RollbackError:
        pass
    except ForeignStateError:
        is_foreign = True  # its record about scripts belongs to another project
    else:
        raise NotAllowedError("nothing was rolled back", remedy="phase-gate status")
    what = "accepting another ledger" if is_foreign else "accepting a rollback"
    if store.shared is not None:
        # A rewritten store may contain any claim about scripts.
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
