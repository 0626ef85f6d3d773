"""A state folder as the copy of a shared store: take over what others added, send what is added here.

What comes from the store is verified like the ledger's own file, and follows what this folder has. So a store that was
rewritten is seen by every machine that knew it before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from phase_gate.errors import (
    NotAllowedError,
    RollbackError,
    StateError,
    StorageError,
    StoreUnreachableError,
    TamperedError,
)
from phase_gate.storage.files import read_bytes
from phase_gate.storage.ledger import Line, encode_line, read_chain
from phase_gate.storage.objects import unpack
from phase_gate.storage.opening import Opened, apply_line
from phase_gate.storage.places import task_folder, task_names
from phase_gate.storage.shared import Head, SharedStore, Tail
from phase_gate.values import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.storage.store import TaskStore


_STORE_DAMAGED = "bring the store's ledger back, or begin anew under another project's name"


_OTHER_PLACE = "PHASE_GATE_STORE=folder goes on with the folder; to begin anew in the store, move the folder away"


class Beyond(Value):
    """What a shared store has beyond a folder, verified."""

    #: The task with it.
    after: Opened
    rows: bytes
    #: Where the last line begins among the rows.
    last: int
    objects: Mapping[str, bytes]


def read_beyond(store: TaskStore, opened: Opened) -> Beyond | None:
    """Return what the shared store has beyond the folder; None where both are the same."""
    assert store.shared is not None, "there is one"
    tail = store.shared.read(store.task, Head(opened.serial, opened.head))
    if not tail.rows:
        _require_same(store, opened, tail)
        return None
    return follow(store, opened, tail)


def follow(store: TaskStore, opened: Opened, tail: Tail) -> Beyond:
    """Return lines that come after what was opened, verified. Raises StateError for what does not follow."""
    state, lineage, key_check = opened.state, opened.lineage, opened.key_check
    try:
        lines = _verify(store, opened, tail)
        for line in lines:
            state = apply_line(state, line)
    except TamperedError as error:
        # No repair of the copy would mend it.
        raise TamperedError(f"the store's own ledger is damaged: {error.problem}", remedy=_STORE_DAMAGED) from error
    if not opened.exists:
        lineage, key_check = _created(lines[0], "lineage") or "", _created(lines[0], "key_check")
    last = lines[-1]
    after = replace(
        opened,
        state=state,
        lineage=lineage,
        key_check=key_check,
        serial=last.seq,
        head=last.hash,
        state_lags=False,
        stat={},
    )
    store.opener.refuse_other(after, lines)
    return Beyond(after=after, rows=tail.rows, last=last.start, objects=tail.objects)


def send(store: TaskStore, opened: Opened, rows: bytes, last: Line) -> None:
    """Add a transaction to the shared store. Raises MovedError if another machine was first."""
    assert store.shared is not None, "there is one"
    before, after = Head(opened.serial, opened.head), Head(last.seq, last.hash)
    objects = {name: store.objects.packed(name) for name in sorted(store.objects.kept)}
    try:
        store.shared.append(store.task, before, after, rows, objects)
    except StoreUnreachableError:
        # It may have come to be, and only its answer was lost. Others may have followed since.
        if not store.shared.read(store.task, before).rows.startswith(rows):
            raise
    store.objects.kept.clear()


def verify_whole(store: TaskStore) -> None:
    """Verify the store's whole ledger with its objects, and that the folder is a copy of it."""
    assert store.shared is not None, "there is one"
    tail = store.shared.read(store.task, Head())
    if tail.rows:
        follow(store, Opened(), tail)
    for name, packed in tail.objects.items():
        unpack(name, packed)
    for line, row in zip(store.lines(), tail.rows.splitlines(keepends=True), strict=False):
        if encode_line(line) != row:
            raise TamperedError(
                f"line {line.seq} is not the one that {store.shared.shown} has", remedy="phase-gate audit --repair"
            )


# --- all tasks of a project at once


#: What a checkpoint begins with.
_HEAD = re.compile(rb'"serial": ([0-9]+),\s*"head": "([0-9a-f]{64})"')


class _Answered:
    """A shared store that was asked already: it says again what it said of one task."""

    def __init__(self, shared: SharedStore, known: Head, tail: Tail) -> None:
        self.shown, self._shared, self._known, self._tail = shared.shown, shared, known, tail

    def read(self, task: str, after: Head) -> Tail:
        if after == self._tail.head:
            return Tail(head=after)  # another process of this machine has taken it over meanwhile
        # A checkpoint may lag behind its ledger; and where only the last line is told, the store says what is wrong.
        return self._tail if after == self._known and self._tail.rows else self._shared.read(task, after)

    def __getattr__(self, name: str) -> object:
        return getattr(self._shared, name)


def catch_up_all(
    shared: SharedStore, state_folder: Path, open_store: Callable[[str], TaskStore]
) -> dict[str, StateError]:
    """Take over what other machines added to any task; return those that can't be, with what is wrong.

    :param open_store: returns a task's store. Raises StoreUnreachableError where nothing can be asked.
    """
    known = {task: _known_head(task_folder(state_folder, task) / "state.json") for task in task_names(state_folder)}
    refused: dict[str, StateError] = {}
    found = shared.read_all(known)
    for task in known.keys() - found.keys():
        refused[task] = StorageError(
            f"it is in this folder, and {shared.shown} has no task of that name",
            remedy=_OTHER_PLACE,
        )
    for task, tail in sorted(found.items()):
        head = known.get(task, Head())
        if not tail.rows and tail.head == head:
            continue
        try:
            store = open_store(task)
            store.shared = _Answered(shared, head, tail)  # type: ignore[assignment]
            store.look()
        except StoreUnreachableError:
            raise
        except StateError as error:
            refused[task] = error
    return refused


def _known_head(checkpoint: Path) -> Head:
    """Return what a task's checkpoint says of its last line: enough to ask with, and nothing is decided by it."""
    found = _HEAD.search((read_bytes(checkpoint) or b"")[:1000])
    return Head() if found is None else Head(int(found[1]), found[2].decode())


def _require_same(store: TaskStore, opened: Opened, tail: Tail) -> None:
    assert store.shared is not None, "there is one"
    if tail.head == Head(opened.serial, opened.head):
        return
    if tail.head.serial == 0:
        raise NotAllowedError(
            f"task {store.task} is in this folder, and {store.shared.shown} has none of that name",
            remedy=_OTHER_PLACE,
        )
    raise RollbackError(
        f"{store.shared.shown} is at line {tail.head.serial} of task {store.task}, this folder was at {opened.serial}",
        remedy="bring the store's newer ledger back, or phase-gate audit --accept-rollback",
    )


def _verify(store: TaskStore, opened: Opened, tail: Tail) -> list[Line]:
    """Return the added lines. Raises TamperedError for those that do not follow, RollbackError for another ledger."""
    assert store.shared is not None, "there is one"
    rows = tail.rows.splitlines(keepends=True)
    key = store.opener.key_beyond(opened, rows[0])
    after = (opened.serial, opened.head)
    lines = list(read_chain(rows, key=key, after=after, name=store.shared.shown))
    if not lines or lines[-1].more or lines[-1].end != len(tail.rows):
        raise TamperedError(f"{store.shared.shown} has half a transaction of task {store.task}", remedy=_STORE_DAMAGED)
    return lines


def _created(line: Line, name: str) -> str | None:
    found = line.event.data.get(name)
    return found if isinstance(found, str) else None
