"""Open a task: from its checkpoint, or by verifying and replaying every line of the ledger.

Only reads. The checkpoint just saves time: in any doubt, all lines are replayed. `state.json` must match the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from json import loads

from phase_gate.errors import ForeignStateError, RollbackError, StateError, TamperedError
from phase_gate.gate.state import NEW_STATE, SCHEMA, Event, State, state_from_json
from phase_gate.storage import cache
from phase_gate.storage.files import FileSystem, exists, open_file, read_bytes, refusing
from phase_gate.storage.ledger import GENESIS, REPAIR, Line, digest, parse_line, read_chain
from phase_gate.storage.paths import TaskPaths
from phase_gate.storage.rollback_guard import LastSeen, RollbackGuard, refuse_foreign, refuse_other_line
from phase_gate.values import Value, field, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, TypeVar

    T = TypeVar("T")

_RESTART = "unset PHASE_GATE_KEY; or move the state folder away, to start again with the key"


class Opened(Value):
    """A task as read from disk."""

    state: State = NEW_STATE
    #: The random id of the ledger, and a check value of its key, both from its first line.
    lineage: str = ""
    key_check: str | None = None
    #: Number and hash of the last complete line.
    serial: int = 0
    head: str = GENESIS
    #: Number of complete bytes in the ledger. The rest is an unfinished transaction.
    size: int = 0
    unfinished: bytes = b""
    #: Size, times and inode of the ledger when it was read; empty without a ledger.
    stat: Mapping[str, int] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        return self.serial > 0

    def shown(self) -> dict[str, Any]:
        """Return the content of `state.json`."""
        from phase_gate.gate.brief import show_state  # here, not above: only for what writes

        vouched = {"schema": SCHEMA, "lineage": self.lineage, "serial": self.serial, "head": self.head}
        return vouched | show_state(self.state)


class TaskReader(TaskPaths):
    """Reads one task's files."""

    def __init__(self, folder: Path, *, task: str, key: bytes | None, guard: RollbackGuard, files: FileSystem) -> None:
        super().__init__(folder)
        self.task, self.key, self.files, self._guard = task, key, files, guard

    def open(self, *, accept_rollback: bool = False) -> Opened:
        """Return the task.

        :param accept_rollback: accept a ledger that is older than, or different from, the one seen before.
        """
        # Read the guard first: every later write makes the folder newer than this, never older.
        seen = None if accept_rollback else self._guard.last_seen()
        try:
            return self._open(seen)
        except (RollbackError, ForeignStateError):
            # Another process may have restarted or repaired the task, which updates the guard before the ledger.
            again = self._guard.last_seen()
            if seen in (None, again):
                raise
            return self._open(again)

    def _open(self, seen: LastSeen | None) -> Opened:
        shown = self._read_shown()
        if exists(self.ledger_file, self.files):
            stat = self.ledger_stat()
            opened = self._open_checkpoint(shown, seen, stat) or self._replay(shown, seen, stat)
        elif shown is None:
            opened = Opened()
        else:
            raise TamperedError("ledger.jsonl is missing, but state.json exists", remedy=REPAIR)
        refuse_foreign(opened, self.task, seen)
        return opened

    def is_as_opened(self, opened: Opened) -> bool:
        """Return whether the task's files are unchanged since it was opened, judged by size, times and inode."""
        if exists(self.ledger_file, self.files):
            return opened.stat == self.ledger_stat()
        return not opened.exists and not opened.stat and not exists(self.state_file, self.files)

    def ledger_stat(self) -> dict[str, int]:
        with refusing(self.ledger_file):
            found = self.files.stat(self.ledger_file)
        times = {"mtime_ns": found.st_mtime_ns, "ctime_ns": found.st_ctime_ns}
        return {"size": found.st_size, **times, "inode": found.st_ino}

    # --- the two ways to open ------------------------------------------------------------------------------------

    def _open_checkpoint(
        self, shown: Mapping[str, Any] | None, seen: LastSeen | None, stat: Mapping[str, int]
    ) -> Opened | None:
        """Return the task if the ledger is unchanged since the checkpoint, and its last line confirms it."""
        kept = cache.load(self.checkpoint_file, self.files)
        if shown is None or not isinstance(kept, dict) or kept.get("schema") != SCHEMA or kept.get("stat") != stat:
            return None
        if seen is not None and seen.lineage == shown["lineage"] and seen.serial < shown["serial"]:
            return None  # written without the guard since: only a replay shows whether the last line seen is there
        beginning = self._beginning()
        key = self.key_for(beginning)
        try:
            start = kept["last"]
            if key != self.key or not 0 <= start <= stat["size"]:
                return None
            # Only up to the checkpoint's size: without a lock, another process may have appended more.
            row = read_bytes(self.ledger_file, self.files, offset=start, limit=stat["size"] - start) or b""
            line = parse_line(row.removesuffix(b"\n"), start=start, key=key)
            if line.state != digest(kept["state"]):
                return None
            state = state_from_json(kept["state"])
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return None
        opened = replace(beginning, state=state, serial=line.seq, head=line.hash, size=stat["size"], stat=stat)
        return opened if opened.shown() == shown else None

    def _replay(self, shown: Mapping[str, Any] | None, seen: LastSeen | None, stat: Mapping[str, int]) -> Opened:
        """Verify every line, and return the task after its last complete transaction."""
        opened = Opened()
        for line, now in self._walk(self._rows(), self._beginning(), seen):
            if shown is not None and line.seq == shown["serial"]:
                _compare(now, shown)
            if not line.more:
                opened = now
        if shown is not None and opened.serial < shown["serial"]:
            problem = f"ledger.jsonl ends at line {opened.serial}, but state.json is from line {shown['serial']}"
            raise TamperedError(problem, remedy=REPAIR)
        unfinished = read_bytes(self.ledger_file, self.files, offset=opened.size) or b""
        return replace(opened, unfinished=unfinished, stat=stat)

    def states(self) -> Iterator[tuple[Line, Opened]]:
        """Yield every line of the ledger, verified, with its complete event and the task after it."""
        return self._walk(self._rows(), self._beginning(), None)

    def follow(self, opened: Opened, rows: list[bytes], *, name: str) -> tuple[Opened, Line]:
        """Return the task after rows that a shared store has added, and the last line.

        Raises StateError if they break the chain.

        :param name: the source of the rows, for messages.
        """
        beginning = opened if opened.exists else read_beginning(rows[0])
        lines = list(self._walk(rows, beginning, self._guard.last_seen(), name=name))
        if not lines or lines[-1][0].more or lines[-1][0].end != sum(map(len, rows)):
            raise TamperedError(f"{name} has an incomplete transaction of task {self.task}", remedy=REPAIR)
        last, after = lines[-1]
        refuse_foreign(after, self.task, self._guard.last_seen())
        return after, last

    def _walk(
        self, rows: Iterable[bytes], opened: Opened, seen: LastSeen | None, *, name: str = "ledger.jsonl"
    ) -> Iterator[tuple[Line, Opened]]:
        """Yield each line after those that are opened, verified, with its complete event and the task after it."""
        key, state = self.key_for(opened), opened.state
        for line in read_chain(rows, key=key, after=(opened.serial, opened.head), name=name):
            if key != self.key:
                raise StateError(
                    "PHASE_GATE_KEY is set, but the ledger was made without a key, so it can't be trusted",
                    remedy=_RESTART,
                    slug="state-keyless",
                )
            refuse_other_line(seen, opened.lineage, line)
            event, state = read_event(line, partial(_apply, state))
            after = replace(opened, state=state, serial=line.seq, head=line.hash, size=opened.size + line.end)
            yield replace(line, event=event), after

    def _rows(self) -> Iterator[bytes]:
        stream = open_file(self.ledger_file, self.files)
        if stream is not None:
            with refusing(self.ledger_file), stream:
                yield from stream

    def _read_shown(self) -> dict[str, Any] | None:
        """Return the content of `state.json`; None if the file is missing."""
        raw = read_bytes(self.state_file, self.files)
        if raw is None:
            return None
        try:
            shown: dict[str, Any] = loads(raw)
            schema = shown["schema"]
            if isinstance(schema, int) and schema != SCHEMA:
                raise StateError(
                    f"state.json has schema {schema}, but this version supports {SCHEMA}",
                    remedy="use the pytest-phase-gate that wrote it, or remove the folder; nothing was changed",
                    slug="state-schema",
                )
            types = [type(shown[name]) for name in ("schema", "serial", "head", "lineage")]
            if types != [int, int, str, str] or shown["serial"] < 1:
                raise ValueError("unexpected fields")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise TamperedError(f"state.json is damaged: {error}", remedy=REPAIR) from error
        return shown

    # --- the first line, and the key -----------------------------------------------------------------------------

    def _beginning(self) -> Opened:
        """Return the lineage and the key check from the first line."""
        stream = open_file(self.ledger_file, self.files)
        if stream is None:
            return Opened()
        with refusing(self.ledger_file), stream:
            return read_beginning(stream.readline(64 * 1024))

    def key_for(self, beginning: Opened) -> bytes | None:
        """Return the key of the ledger. Raises StateError if PHASE_GATE_KEY is another one."""
        if beginning.key_check is None:
            return None
        if self.key is None:
            raise StateError(
                "the ledger was made with PHASE_GATE_KEY, which is not set: the ledger can't be verified",
                remedy="set PHASE_GATE_KEY to the key it was made with",
                slug="state-key",
            )
        if beginning.lineage and check_of(beginning.lineage, self.key) != beginning.key_check:
            raise StateError(
                "PHASE_GATE_KEY is not the key the ledger was made with",
                remedy="set PHASE_GATE_KEY to that key",
                slug="state-key",
            )
        return self.key


def check_of(lineage: str, key: bytes) -> str:
    """Return a value that identifies a ledger's key without revealing it."""
    return digest(lineage, key)[:32]


def read_beginning(row: bytes) -> Opened:
    """Return the lineage and the key check from a ledger's first row; both empty if it is damaged."""
    try:
        created = loads(row)["data"]
        lineage, check = created.get("lineage"), created.get("key_check")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Opened()
    return Opened(
        lineage=lineage if isinstance(lineage, str) else "", key_check=check if isinstance(check, str) else None
    )


def read_event(line: Line, read: Callable[[Event], T]) -> T:
    """Return `read(event)` for a line. Raises TamperedError for an event that no released version has written."""
    try:
        return read(line.event)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        # The hash is right, so this line was made on purpose.
        kind = ascii(line.event.kind[:40])[1:-1]
        raise TamperedError(f"ledger.jsonl:{line.seq}: malformed {kind} event", remedy=REPAIR) from error


def _apply(state: State, event: Event) -> tuple[Event, State]:
    """Return the complete event of a line, and the state after it."""
    from phase_gate.gate.brief import restore
    from phase_gate.gate.events import apply

    event = restore(event, state)
    return event, apply(state, event)


def _compare(now: Opened, shown: Mapping[str, Any]) -> None:
    if now.head != shown["head"]:
        raise TamperedError(f"ledger.jsonl:{now.serial}: it is not the line that state.json refers to", remedy=REPAIR)
    if now.shown() != shown:
        raise TamperedError("state.json does not match the ledger", remedy=REPAIR)
