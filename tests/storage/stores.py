"""What the tests of the store share: a task in a folder, and ways to damage its files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from phase_gate.errors import PhaseGateError
from phase_gate.gate.events import apply
from phase_gate.gate.state import NEW_STATE, Event
from phase_gate.storage.files import FileSystem
from phase_gate.storage.ledger import GENESIS, digest, encode_transaction
from phase_gate.storage.opening import Place
from phase_gate.storage.store import TaskStore
from phase_gate.stores.shared import SharedStore
from phase_gate.stores.task_store import SharedTaskStore
from phase_gate.values import replace

T = TypeVar("T", bound=TaskStore)

BEGIN = (
    Event(kind="cycle-began", data={"workflow": "tdd"}),
    Event(kind="phase-entered", data={"phase": "RED"}),
)


def open_store(
    folder: Path,
    *,
    task: str = "default",
    key: bytes | None = None,
    guard: Path | None = None,
    files: FileSystem | None = None,
    lock_timeout: float = 10.0,
) -> TaskStore:
    files = files or FileSystem()
    return TaskStore(
        Place(folder, task, key=key, guard=guard, command="the test", lock_timeout=lock_timeout, files=files)
    )


def share_task(
    shared: SharedStore,
    folder: Path,
    *,
    task: str = "default",
    key: bytes | None = None,
    guard: Path | None = None,
) -> SharedTaskStore:
    """Return the task as one machine has it that shares it."""
    return SharedTaskStore(shared, Place(folder, task, key=key, guard=guard, command="the test"))


def begin(store: T) -> T:
    """Write a first transaction of three lines: created, cycle-began, phase-entered."""
    with store.transaction() as change:
        change.record(*BEGIN)
    return store


def end_cycle(store: TaskStore) -> TaskStore:
    with store.transaction() as change:
        change.record(Event(kind="phase-exited", data={"next": "DONE"}))
    return store


def declare(store: T, *names: str) -> T:
    """Write one transaction a name; each of them changes the state."""
    for name in names:
        with store.transaction() as change:
            change.record(fact(name))
    return store


def fact(name: str) -> Event:
    return Event(kind="fact-declared", data={"name": name, "value": True, "reason": "so it is", "by": "dev"})


def facts(store: TaskStore) -> list[str]:
    return [each.name for each in store.read().state.facts]


def lines_of(store: TaskStore) -> list[bytes]:
    return store.ledger_file.read_bytes().splitlines(keepends=True)


_BESIDE = frozenset({"state.json.lock", ".gitignore"})


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes.

    Left out: the lock's sidecar, the ignore file that comes before it, and the cache of sizes and times: no record.
    """
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.name not in _BESIDE and path.parent.name != "cache"
    }


def assert_refused(store: TaskStore, error: type[PhaseGateError], problem: str) -> PhaseGateError:
    """Looking and writing both refuse, say how to go on, and change no byte; returns what they say."""
    before = contents(store.folder)
    with pytest.raises(error) as looked:
        store.read()
    with pytest.raises(error), store.transaction() as change:
        change.record(fact("lost"))
    assert problem in looked.value.problem
    assert looked.value.remedy
    assert looked.value.exit_code == 11
    assert contents(store.folder) == before
    return looked.value


def edit_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Read a JSON file, let somebody change it, write it back."""
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def overwrite(path: Path, old: bytes, new: bytes) -> None:
    """Change bytes in place, as an editor of the disk would: same size, same inode, and the old mtime again."""
    assert len(old) == len(new)
    before = path.stat()
    changed = path.read_bytes().replace(old, new, 1)
    assert changed != path.read_bytes(), f"{old!r} is not in {path.name}"
    # The kernel's clock ticks every few ms: an edit within the tick of the last write can't be told from it.
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        with open(path, "r+b") as stream:
            stream.write(changed)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def vouch_for_ledger(store: TaskStore) -> None:
    """Write the ledger's present times into the checkpoint, as somebody who covers his tracks would."""
    found = store.ledger_file.stat()
    times = {"mtime_ns": found.st_mtime_ns, "ctime_ns": found.st_ctime_ns, "inode": found.st_ino}
    edit_json(store.checkpoint_file, lambda stored: stored["stat"].update(times))


def sign(folder: Path, key: bytes) -> None:
    """Write a ledger anew, as it would be had it been made with that key."""
    store, out, head = open_store(folder), bytearray(), GENESIS
    transaction: list[Event] = []
    for line in store.lines():
        data = dict(line.event.data)
        if line.seq == 1:
            data["key_check"] = digest(data["lineage"], key)[:32]
        transaction.append(replace(line.event, data=data))
        if line.state is not None:
            seq = line.seq + 1 - len(transaction)
            rows, last = encode_transaction(transaction, seq=seq, prev=head, state_digest=line.state, key=key)
            out, head, transaction = out + rows, last.hash, []
    store.ledger_file.write_bytes(out)
    store.state_file.unlink()


def pass_once(store: TaskStore, run: str, *, tree: str = "tree") -> TaskStore:
    """Write a complete green run, start and end, as the plugin does."""
    inventory, outcomes = store.objects.keep({"files": {}}), store.objects.keep({})
    started = {"run": run, "phase": "GREEN", "tree": tree, "rules": None}
    ended = {
        "run": run,
        "kind": "complete",
        "green": "green",
        "tree": tree,
        "iteration": 1,
        "metrics": {},
        "inventory": inventory,
        "outcomes": outcomes,
        "known": inventory,
    }
    for kind, data in (("run-started", started), ("run-ended", ended)):
        with store.transaction() as change:
            change.record(Event(kind=kind, data=data))
    return store


def assert_intact(store: TaskStore) -> int:
    """The chain holds, and the state is what its events give; returns how many events there are."""
    state, number = NEW_STATE, 0
    for line in store.lines():
        state, number = apply(state, line.event), line.seq
    opened = store.read()
    assert (opened.serial, opened.state, opened.unfinished) == (number, state, b"")
    assert json.loads(store.state_file.read_bytes()) == opened.shown()
    leftovers = [path.name for path in store.folder.rglob("*") if path.suffix in (".tmp", ".holder")]
    assert leftovers == []
    return number
