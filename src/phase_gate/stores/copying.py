"""Move tasks in and out of shared stores: verified line by line, resumable, with lineage, hashes and objects kept.

Every copy goes by way of a state folder, which takes over only what it can verify. So one mechanism reads all kinds of
places; what is added to a store is what such a folder has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from phase_gate.errors import NotAllowedError, StateError, StorageError
from phase_gate.storage.ledger import Line, encode_line
from phase_gate.storage.memory import Memory
from phase_gate.storage.objects import find_names
from phase_gate.storage.places import task_folder, task_names
from phase_gate.storage.shared import Head, SharedStore, Tail
from phase_gate.storage.store import TaskStore
from phase_gate.stores.folder import FolderStore
from phase_gate.values import Value

#: Bytes that are added to a store at a time: a server refuses what is too much, and a broken copy goes on from there.
_PIECE = 1024 * 1024


class Copied(Value):
    """What became of one task."""

    task: str
    #: Lines that the target has now, and how many of them it had before.
    lines: int
    known: int


class Place(Value):
    """Where tasks are, or are copied to."""

    shown: str
    store: SharedStore
    #: A state folder; None for a shared store.
    folder: Path | None = None


def folder_place(folder: Path, *, key: bytes | None, shown: str = "folder") -> Place:
    return Place(shown=shown, store=FolderStore(folder, key=key), folder=folder)


def copy_task(task: str, source: Place, target: Place, *, key: bytes | None, scratch: Path) -> Copied:
    """Bring the target to where the source is.

    Raises NotAllowedError where the target has another ledger of that name, StateError for what can't be verified.

    :param scratch: an empty folder of ours, for a copy that is verified before it is sent.
    """
    if target.folder is None:
        return _add_to_store(task, source, target, key=key, scratch=scratch)
    copy = _open(target.folder, task, key)
    known = copy.opener.open().serial
    return Copied(task=task, lines=_take_over(copy, source, target).serial, known=known)


def _take_over(copy: TaskStore, source: Place, target: Place) -> Head:
    """Take over what the source has, into a state folder; every line and object is verified on the way."""
    copy.shared = source.store
    try:
        opened = copy.look()
    except NotAllowedError:
        raise _is_another(copy.task, target) from None
    except StateError as error:
        if copy.opener.open().exists:
            raise _is_another(copy.task, target) from error
        raise
    copy.check_objects(opened.state)
    return Head(opened.serial, opened.head)


def _add_to_store(task: str, source: Place, target: Place, *, key: bytes | None, scratch: Path) -> Copied:
    verified = _open(scratch, task, key)
    head = _take_over(verified, source, target)
    lines = list(verified.lines())
    there = target.store.read(task, Head())
    known = _count_known(task, lines, there, target)
    left = {name: verified.objects.packed(name) for name in verified.objects.names() if name not in there.objects}
    after = there.head
    for piece in _pieces(lines[known:]):
        rows, last = b"".join(map(encode_line, piece)), Head(piece[-1].seq, piece[-1].hash)
        brought = left if last == head else _find_objects(rows, left)
        target.store.append(task, after, last, rows, brought)
        left = {name: packed for name, packed in left.items() if name not in brought}
        after = last
    written = target.store.read(task, Head())
    if written.head != head or _count_known(task, lines, written, target) != len(lines):
        raise StorageError(f"{target.shown} does not have what was copied", remedy="phase-gate store copy, once more")
    return Copied(task=task, lines=len(lines), known=known)


def _count_known(task: str, lines: list[Line], there: Tail, target: Place) -> int:
    """Return how many of the lines the target has already. Raises NotAllowedError if it has others."""
    rows = there.rows.splitlines(keepends=True)
    if len(rows) > len(lines) or any(encode_line(line) != row for line, row in zip(lines, rows, strict=False)):
        raise _is_another(task, target)
    return len(rows)


def _pieces(lines: list[Line]) -> Iterator[list[Line]]:
    """Yield whole transactions, as many at a time as make a piece."""
    piece: list[Line] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += line.end - line.start
        if not line.more and size >= _PIECE:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _find_objects(rows: bytes, objects: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the objects that these rows lead to, among those that are left."""
    from phase_gate.storage.objects import unpack

    found: dict[str, bytes] = {}
    texts = [rows]
    while texts:
        for name in find_names(texts.pop()):
            if name in objects and name not in found:
                found[name] = objects[name]
                texts.append(unpack(name, objects[name]))
    return found


def _open(folder: Path, task: str, key: bytes | None) -> TaskStore:
    return TaskStore(
        task_folder(folder, task),
        task=task,
        command="phase-gate store copy",
        key=key,
        memory=Memory(None, folder),
        state_folder=folder,
        keep_objects=0,
    )


def _is_another(task: str, target: Place) -> NotAllowedError:
    return NotAllowedError(
        f"{target.shown} has another ledger of task {task}, or one that has gone on: nothing is overwritten",
        remedy="copy into a place without that task, or copy the other way round",
    )


def list_tasks(place: Place) -> tuple[str, ...]:
    return place.store.list_tasks() if place.folder is None else tuple(task_names(place.folder))


def copied_to_json(copied: Copied) -> Mapping[str, object]:
    return {"task": copied.task, "lines": copied.lines, "added": copied.lines - copied.known}
