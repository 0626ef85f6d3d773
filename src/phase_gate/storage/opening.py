"""Open a task: from its checkpoint, or by verifying and replaying every line of the ledger.

Only reads. The checkpoint just saves time: in any doubt, all lines are replayed. `state.json` must match the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from json import loads

from phase_gate.errors import (
    ForeignStateError,
    KeylessError,
    KeyMismatchError,
    OtherSchemaError,
    RollbackError,
    TamperedError,
)
from phase_gate.gate.state import NEW_STATE, SCHEMA, Event, State, show_state, state_from_json
from phase_gate.storage import cache
from phase_gate.storage.files import FileSystem, exists, open_file, read_bytes, refuse
from phase_gate.storage.ledger import GENESIS, REPAIR, Line, digest, parse_line, read_chain
from phase_gate.storage.paths import TaskPaths
from phase_gate.storage.rollback_guard import LastSeen, RollbackGuard, refuse_foreign, refuse_other_line
from phase_gate.values import Value, field, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
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
        vouched = {"schema": SCHEMA, "lineage": self.lineage, "serial": self.serial, "head": self.head}
        return vouched | show_state(self.state)


class Opener:
    """Reads one task's files."""

    def __init__(self, paths: TaskPaths, *, task: str, key: bytes | None, guard: RollbackGuard, files: FileSystem):
        self._paths, self._task, self._key = paths, task, key
        self._guard, self._files = guard, files

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
        if exists(self._paths.ledger_file, self._files):
            stat = self.ledger_stat()
            opened = self._open_checkpoint(shown, seen, stat) or self._replay(shown, seen, stat)
        elif shown is None:
            opened = Opened()
        else:
            raise TamperedError("ledger.jsonl is missing, but state.json exists", remedy=REPAIR)
        refuse_foreign(opened, self._task, seen)
        return opened

    def is_as_opened(self, opened: Opened) -> bool:
        """Return whether the task's files are unchanged since it was opened, judged by size, times and inode."""
        if exists(self._paths.ledger_file, self._files):
            return opened.stat == self.ledger_stat()
        return not opened.exists and not opened.stat and not exists(self._paths.state_file, self._files)

    def ledger_stat(self) -> dict[str, int]:
        try:
            found = self._files.stat(self._paths.ledger_file)
        except OSError as error:
            raise refuse(self._paths.ledger_file, error) from error
        times = {"mtime_ns": found.st_mtime_ns, "ctime_ns": found.st_ctime_ns}
        return {"size": found.st_size, **times, "inode": found.st_ino}

    # --- the two ways to open ------------------------------------------------------------------------------------

    def _open_checkpoint(
        self, shown: Mapping[str, Any] | None, seen: LastSeen | None, stat: Mapping[str, int]
    ) -> Opened | None:
        """Return the task if the ledger is unchanged since the checkpoint, and its last line confirms it."""
        kept = cache.load(self._paths.checkpoint_file, self._files)
        if shown is None or not isinstance(kept, dict) or kept.get("schema") != SCHEMA or kept.get("stat") != stat:
            return None
        if seen is not None and seen.lineage == shown["lineage"] and seen.serial < shown["serial"]:
            return None  # written without the guard since: only a replay shows whether the last line seen is there
        beginning = self._beginning()
        key = self.key_for(beginning)
        try:
            start = kept["last"]
            if not 0 <= start <= stat["size"]:
                return None
            # Only up to the checkpoint's size: without a lock, another process may have appended more.
            row = read_bytes(self._paths.ledger_file, self._files, offset=start, limit=stat["size"] - start) or b""
            line = parse_line(row.removesuffix(b"\n"), start=start, key=key)
            if line.state != digest(kept["state"]):
                return None
            state = state_from_json(kept["state"])
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return None
        opened = replace(beginning, state=state, serial=line.seq, head=line.hash, size=stat["size"], stat=stat)
        if opened.shown() != shown:
            return None
        self._require_key(key)
        return opened

    def _replay(self, shown: Mapping[str, Any] | None, seen: LastSeen | None, stat: Mapping[str, int]) -> Opened:
        """Verify every line, and return the task after its last complete transaction."""
        beginning = self._beginning()
        opened = Opened()
        for line, state in fold(self._read_lines(shown, self.key_for(beginning))):
            now = replace(beginning, state=state, serial=line.seq, head=line.hash, size=line.end)
            if shown is not None and line.seq == shown["serial"]:
                _compare(now, shown)
            refuse_other_line(seen, beginning.lineage, line)
            if not line.more:
                opened = now
        if shown is not None and opened.serial < shown["serial"]:
            problem = f"ledger.jsonl ends at line {opened.serial}, but state.json is from line {shown['serial']}"
            raise TamperedError(problem, remedy=REPAIR)
        unfinished = read_bytes(self._paths.ledger_file, self._files, offset=opened.size) or b""
        return replace(opened, unfinished=unfinished, stat=stat)

    def lines(self) -> Iterator[Line]:
        """Yield every line of the ledger, verified, with its complete event."""
        return (line for line, _ in self.states())

    def states(self) -> Iterator[tuple[Line, State]]:
        """Yield every line of the ledger with the state after it."""
        try:
            shown = self._read_shown()
        except (TamperedError, OtherSchemaError):
            shown = None
        return fold(self._read_lines(shown, self.key_for(self._beginning())))

    def _read_lines(self, shown: Mapping[str, Any] | None, key: bytes | None) -> Iterator[Line]:
        path = self._paths.ledger_file
        stream = open_file(path, self._files)
        if stream is None:
            return
        with stream:
            try:
                for line in read_chain(stream, key=key, settled=None if shown is None else shown["serial"]):
                    self._require_key(key)
                    yield line
            except OSError as error:
                raise refuse(path, error) from error

    def _read_shown(self) -> dict[str, Any] | None:
        """Return the content of `state.json`; None if the file is missing."""
        raw = read_bytes(self._paths.state_file, self._files)
        if raw is None:
            return None
        try:
            shown: dict[str, Any] = loads(raw)
            schema = shown["schema"]
            if isinstance(schema, int) and schema != SCHEMA:
                raise OtherSchemaError(
                    f"state.json has schema {schema}, but this version supports {SCHEMA}",
                    remedy="use the pytest-phase-gate that wrote it, or remove the folder; nothing was changed",
                )
            if [type(shown[name]) for name in ("schema", "serial", "head", "lineage")] != [int, int, str, str]:
                raise ValueError("unexpected fields")
            if shown["serial"] < 1:
                raise ValueError("unexpected fields")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise TamperedError(f"state.json is damaged: {error}", remedy=REPAIR) from error
        return shown

    # --- the first line, and the key -----------------------------------------------------------------------------

    def _beginning(self) -> Opened:
        """Return the lineage and the key check from the first line."""
        stream = open_file(self._paths.ledger_file, self._files)
        if stream is None:
            return Opened()
        with stream:
            try:
                return read_beginning(stream.readline(64 * 1024))
            except OSError as error:
                raise refuse(self._paths.ledger_file, error) from error

    def key_for(self, beginning: Opened) -> bytes | None:
        """Return the key of the ledger. Raises KeyMismatchError if PHASE_GATE_KEY is another one."""
        if beginning.key_check is None:
            return None
        if self._key is None:
            raise KeyMismatchError(
                "the ledger was made with PHASE_GATE_KEY, which is not set: the ledger can't be verified",
                remedy="set PHASE_GATE_KEY to the key it was made with",
            )
        if beginning.lineage and check_of(beginning.lineage, self._key) != beginning.key_check:
            raise KeyMismatchError(
                "PHASE_GATE_KEY is not the key the ledger was made with", remedy="set PHASE_GATE_KEY to that key"
            )
        return self._key

    def _require_key(self, used: bytes | None) -> None:
        """Raise KeylessError if a key is set and the lines were verified without it."""
        if self._key is not None and used is None:
            raise KeylessError(
                "PHASE_GATE_KEY is set, but the ledger was made without a key, so it can't be trusted",
                remedy=_RESTART,
            )

    # --- lines from a shared store -------------------------------------------------------------------------------

    def follow(self, opened: Opened, rows: list[bytes], *, name: str) -> tuple[Opened, list[Line]]:
        """Return the task after these added rows, and their lines. Raises StateError if they break the chain.

        :param name: the source of the rows, for messages.
        """
        beginning = opened if opened.exists else read_beginning(rows[0])
        key = self.key_for(beginning)
        self._require_key(key)
        before, whole = (opened.serial, opened.head), opened.serial + len(rows)
        lines = list(read_chain(rows, key=key, settled=whole, after=before, name=name))
        if sum(map(len, rows)) != (lines[-1].end if lines else -1) or lines[-1].more:
            raise TamperedError(f"{name} has an incomplete transaction of task {self._task}", remedy=REPAIR)
        state, seen = opened.state, self._guard.last_seen()
        for _, after_line in fold(lines, state):
            state = after_line
        after = replace(beginning, state=state, serial=lines[-1].seq, head=lines[-1].hash, stat={})
        for line in lines:
            refuse_other_line(seen, after.lineage, line)
        refuse_foreign(after, self._task, seen)
        return after, lines


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


def fold(lines: Iterable[Line], state: State = NEW_STATE) -> Iterator[tuple[Line, State]]:
    """Yield each line with its complete event, and the state after it.

    Raises TamperedError for a malformed event.
    """
    from phase_gate.gate.brief import restore
    from phase_gate.gate.events import apply

    for line in lines:
        try:
            event = restore(line.event, state)
            state = apply(state, event)
        except _MALFORMED as error:
            raise _malformed(line) from error
        yield replace(line, event=event), state


def read_event(line: Line, read: Callable[[Event], T]) -> T:
    """Return `read(event)` for a line. Raises TamperedError for a malformed event."""
    try:
        return read(line.event)
    except _MALFORMED as error:
        raise _malformed(line) from error


#: Raised when reading an event that no released version has written.
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, RecursionError)


def _malformed(line: Line) -> TamperedError:
    # The hash is right, so this line was made on purpose.
    kind = ascii(line.event.kind[:40])[1:-1]
    return TamperedError(f"ledger.jsonl:{line.seq}: malformed {kind} event", remedy=REPAIR)


def _compare(now: Opened, shown: Mapping[str, Any]) -> None:
    if now.head != shown["head"]:
        raise TamperedError(f"ledger.jsonl:{now.serial}: it is not the line that state.json refers to", remedy=REPAIR)
    if now.shown() != shown:
        raise TamperedError("state.json does not match the ledger", remedy=REPAIR)
