"""What a run measured while the shared store could not be asked: it waits beside the copy, and counts for nothing.

One row a transaction in `unsent.jsonl`, each following the one before, the first following what the copy has. A person
or an agent sends them (`phase-gate store push`), and only if the store is still where they begin.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from phase_gate.errors import MovedError, NotAllowedError, StoreUnreachableError, TamperedError
from phase_gate.storage.files import (
    FileSystem,
    append_durably,
    cut_off,
    exists,
    make_folder,
    read_bytes,
    remove_file,
    set_aside,
)
from phase_gate.storage.mirror import follow
from phase_gate.storage.shared import Head, Tail
from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.storage.store import TaskStore

_DAMAGED = "remove unsent.jsonl, then run again"


class Unsent(Value):
    """One transaction that waits."""

    after: Head
    last: Head
    rows: bytes
    #: The stored objects that it brings.
    objects: tuple[str, ...] = ()


class _NoHold:
    def release(self) -> None:
        """Other machines were never told."""


class UnsentStore:
    """Stands in for a shared store that can't be asked, while a run goes on."""

    def __init__(self, shown: str, file: Path, files: FileSystem) -> None:
        self.shown, self._file, self._files = shown, file, files

    def read(self, task: str, after: Head) -> Tail:
        waiting = _behind(read_unsent(self._file, self._files), after)
        if not waiting:
            return Tail(head=after)  # what waits does not follow the copy any more, or there is nothing
        return Tail(head=waiting[-1].last, rows=b"".join(each.rows for each in waiting))

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        waiting = read_unsent(self._file, self._files)
        if waiting and waiting[-1].last != after:
            if any(each.after == after for each in waiting):
                raise MovedError("another run on this machine was first", remedy="try again")
            put_aside(self._file, self._files)
        elif exists(self._file, self._files):
            cut_off(self._files, self._file, _whole(read_bytes(self._file, self._files) or b""))
        make_folder(self._files, self._file.parent)
        row = {
            "after": [after.serial, after.hash],
            "last": [last.serial, last.hash],
            "rows": rows.decode("ascii"),
            "objects": sorted(objects),
        }
        append_durably(self._files, self._file, json.dumps(row).encode("ascii") + b"\n")

    def load_object(self, task: str, name: str) -> bytes | None:
        return None

    def hold(self, task: str, name: str) -> _NoHold:
        return _NoHold()

    def find_alive(self, task: str, names: Iterable[str]) -> frozenset[str]:
        return frozenset(names)  # doubt is life

    def list_tasks(self) -> tuple[str, ...]:
        return ()

    def wait(self, task: str, after: Head, seconds: float) -> bool:
        return False


def read_unsent(file: Path, files: FileSystem) -> list[Unsent]:
    """Return what waits, oldest first. A row that a dying process left unfinished is none."""
    raw = read_bytes(file, files) or b""
    found: list[Unsent] = []
    for number, row in enumerate(raw[: _whole(raw)].splitlines(), start=1):
        try:
            document = json.loads(row)
            (after, before), (last, head) = document["after"], document["last"]
            one = Unsent(
                after=Head(int(after), str(before)),
                last=Head(int(last), str(head)),
                rows=document["rows"].encode("ascii"),
                objects=tuple(map(str, document["objects"])),
            )
            end = json.loads(one.rows.splitlines()[-1])
            if (end["seq"], end["hash"]) != (one.last.serial, one.last.hash):
                raise ValueError("it does not end where it says")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise TamperedError(f"{file.name}:{number}: it is damaged", remedy=_DAMAGED) from error
        if found and found[-1].last != one.after:
            raise TamperedError(f"{file.name}:{number}: it does not follow the row before", remedy=_DAMAGED)
        found.append(one)
    return found


def put_aside(file: Path, files: FileSystem) -> Path:
    """Give the file another name: it may show what was measured, and is not sent any more."""
    number = 1
    while exists(aside := file.with_name(f"unsent.old-{number}"), files):
        number += 1
    set_aside(files, file, aside)
    return aside


def push(store: TaskStore) -> int:
    """Send what waits, and return how many transactions that were.

    Raises NotAllowedError if nothing waits, or if the task has moved on: what was measured then speaks of a task that
    is not there any more.
    """
    assert store.shared is not None, "there is one"
    with store.hold_open() as opened:
        waiting = read_unsent(store.unsent_file, store.files)
        if not waiting:
            raise NotAllowedError("nothing waits to be sent", remedy="phase-gate store status")
        here = Head(opened.serial, opened.head)
        rest = _behind(waiting, here)
        if not rest and waiting[-1].last != here:
            raise _moved_on(store)
        if rest:
            tail = Tail(head=rest[-1].last, rows=b"".join(each.rows for each in rest))
            store.refuse_while_running(follow(store, opened, tail).after.state)
        for each in rest:
            objects = {name: store.objects.packed(name) for name in each.objects}
            try:
                store.shared.append(store.task, each.after, each.last, each.rows, objects)
            except MovedError:
                raise _moved_on(store) from None
            except StoreUnreachableError as error:
                raise StoreUnreachableError(error.problem, remedy="phase-gate store push, once it answers") from error
        store.take_over(opened)
        remove_file(store.unsent_file, store.files)
    return len(rest)


def _moved_on(store: TaskStore) -> NotAllowedError:
    aside = put_aside(store.unsent_file, store.files)
    return NotAllowedError(
        f"task {store.task} has moved on in the store since: what was measured here does not count ({aside.name})",
        remedy="pytest --phase=auto",
    )


def _behind(waiting: list[Unsent], head: Head) -> list[Unsent]:
    """Return what follows that line; nothing where none begins there."""
    starts = [number for number, each in enumerate(waiting) if each.after == head]
    return waiting[starts[0] :] if starts else []


def _whole(raw: bytes) -> int:
    """Return how many bytes are whole rows."""
    return raw.rfind(b"\n") + 1
