"""Open a task: read the checkpoint and the ledger's last line, or verify and fold the whole ledger.

Only reads. If the ledger is unchanged since our last write, its last line vouches for `state.json`, and opening
costs the same however long the ledger is. In every other case each line is verified and replayed.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from json import JSONDecoder, loads
from pathlib import Path

from phase_gate.errors import (
    ForeignStateError,
    KeylessError,
    KeyMismatchError,
    OtherSchemaError,
    RollbackError,
    TamperedError,
)
from phase_gate.gate.codec import state_from_json, state_to_json
from phase_gate.gate.state import NEW_STATE, SCHEMA, Event, State
from phase_gate.storage.files import REAL, FileSystem, exists, open_file, read_bytes, refuse
from phase_gate.storage.ledger import GENESIS, REPAIR, Line, digest, parse_line, read_chain
from phase_gate.storage.memory import Memory, Seen, refuse_foreign, rolled_back
from phase_gate.values import Value, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, TypeVar

    T = TypeVar("T")


_ANEW = "unset PHASE_GATE_KEY, or begin anew with it: move the state folder away"

#: Lines that a first write never has: it is made of a handful of events.
_FIRST_WRITE = 100


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is out of range")  # no digest can be taken of it
    return number


#: Made here, not for each look: what a test leaves patched does not reach it.
_LOADS = JSONDecoder(parse_float=_finite, parse_constant=_finite).decode


class Opened(Value):
    """A task as it stands on disk."""

    state: State = NEW_STATE
    lineage: str = ""
    serial: int = 0
    head: str = GENESIS
    #: Bytes of the ledger that are good; anything behind them is an unfinished end.
    size: int = 0
    unfinished: bytes = b""
    #: True if `state.json` is missing or lags behind the ledger.
    state_lags: bool = False
    key_check: str | None = None
    #: Size, times and inode of the ledger when it was read; empty where there is none.
    stat: Mapping[str, int] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        return self.serial > 0


class Opener:
    """Reads one task's files."""

    def __init__(
        self,
        ledger_file: Path,
        state_file: Path,
        *,
        task: str,
        key: bytes | None,
        memory: Memory,
        files: FileSystem = REAL,
    ) -> None:
        self.ledger_file, self.state_file, self._task = ledger_file, state_file, task
        self._files = files
        self._key, self._memory = key, memory

    def open(self, *, accept_rollback: bool = False) -> Opened:
        """Return the task as it stands.

        :param accept_rollback: take it even if it is older than, or other than, what was seen of it.
        """
        # Recalled first: every later write makes the folder newer than this, never older.
        seen = None if accept_rollback else self._memory.recall()
        try:
            return self._open_as_seen(seen)
        except (RollbackError, ForeignStateError):
            # Meanwhile another process may have begun anew or repaired it: that is remembered before it is written.
            again = None if accept_rollback else self._memory.recall()
            if again == seen:
                raise
            return self._open_as_seen(again)

    def _open_as_seen(self, seen: Seen | None) -> Opened:
        opened = self._open(seen)
        refuse_foreign(opened, self._task, seen)
        return opened

    def _open(self, seen: Seen | None) -> Opened:
        stored, state = self._read_state_file()
        has_ledger = exists(self.ledger_file, self._files)
        if stored is None and not has_ledger:
            return Opened()
        if stored is not None and not has_ledger:
            raise TamperedError("ledger.jsonl is gone, state.json is still there", remedy=REPAIR)
        stat = self.ledger_stat()
        if stored is None:
            return self._open_by_replay(None, seen, stat)
        is_untouched = stored["ledger"].items() >= stat.items()
        # A process without memory wrote since: only a replay tells whether it went on from what was seen.
        is_ahead = seen is not None and seen.lineage == stored["lineage"] and seen.serial < stored["serial"]
        if state is not None and is_untouched and not is_ahead:
            return self._open_checkpoint(stored, state, stat)
        return self._open_by_replay(stored, seen, stat)

    def is_as_opened(self, opened: Opened) -> bool:
        """Tell whether the task's files look unchanged since it was opened."""
        if not exists(self.ledger_file, self._files):
            return not opened.exists and not opened.stat and not exists(self.state_file, self._files)
        return opened.stat == self.ledger_stat()

    def _open_checkpoint(self, stored: dict[str, Any], state: State, stat: Mapping[str, int]) -> Opened:
        """The ledger is unchanged since our last write: its last line vouches for the state."""
        last_start, size = stored["ledger"]["last"], stored["ledger"]["size"]
        # As far as the checkpoint goes: without a lock, another process may have written more meanwhile.
        raw = read_bytes(self.ledger_file, self._files, offset=last_start, limit=size - last_start) or b""
        key = self.key_for(stored["key_check"])
        try:
            line = parse_line(raw.removesuffix(b"\n"), start=last_start, key=key)
        except ValueError as error:
            raise TamperedError(f"the last line of ledger.jsonl: {error}", remedy=REPAIR) from error
        found = (line.seq, line.hash, line.state, self._read_first("lineage"))
        if found != (stored["serial"], stored["head"], digest(stored["state"]), stored["lineage"]):
            raise TamperedError("state.json is not what the ledger gives", remedy=REPAIR)
        self._require_key(key)
        return Opened(
            state=state,
            lineage=stored["lineage"],
            serial=line.seq,
            head=line.hash,
            size=size,
            key_check=stored["key_check"],
            stat=stat,
        )

    def _open_by_replay(self, stored: dict[str, Any] | None, seen: Seen | None, stat: Mapping[str, int]) -> Opened:
        """The ledger was touched, or the state lags: verify every line and fold them all."""
        key = self.key_for(self._read_first("key_check"))
        state, good = NEW_STATE, NEW_STATE
        last: Line | None = None
        lineage, key_check = "", None
        for line in self._read_lines(key, stored):
            state = apply_line(state, line)
            if line.seq == 1:
                lineage, key_check = line.event.data.get("lineage", ""), line.event.data.get("key_check")
            if stored is not None and line.seq == stored["serial"]:
                _compare_with_stored(stored, line, state, lineage)
            if seen is not None and (seen.lineage, seen.serial) == (lineage, line.seq) and seen.head != line.hash:
                raise rolled_back(f"line {line.seq} is not the one that was seen before")
            if not line.more:
                last, good = line, state
        if stored is not None and (last is None or last.seq < stored["serial"]):
            raise TamperedError(
                f"ledger.jsonl ends at {0 if last is None else last.seq}, state.json was at {stored['serial']}",
                remedy=REPAIR,
            )
        size = 0 if last is None else last.end
        return Opened(
            state=good,
            lineage=lineage if last is not None else "",
            serial=0 if last is None else last.seq,
            head=GENESIS if last is None else last.hash,
            size=size,
            unfinished=read_bytes(self.ledger_file, self._files, offset=size) or b"",
            state_lags=stored is None or last is None or last.seq != stored["serial"],
            key_check=key_check,
            stat=stat,
        )

    def _read_state_file(self) -> tuple[dict[str, Any] | None, State | None]:
        """Return what `state.json` says, and the state in it; None for both if there is none."""
        raw = read_bytes(self.state_file, self._files)
        if raw is None:
            return None, None
        try:
            stored = _LOADS(raw.decode())
            schema = stored["schema"]
            if isinstance(schema, int) and schema != SCHEMA:
                raise OtherSchemaError(
                    f"state.json has schema {schema}, this version knows {SCHEMA}",
                    remedy="use the pytest-phase-gate that wrote it, or remove the folder; nothing was changed",
                )
            known = {"schema", "lineage", "serial", "head", "key_check", "ledger", "state"}
            if set(stored) != known or not isinstance(stored["serial"], int) or not isinstance(schema, int):
                raise ValueError("its fields are not ours")
            if stored["serial"] < 1 or {type(stored["ledger"]), type(stored["state"])} != {dict}:
                raise ValueError("its fields are not ours")
            last, size = stored["ledger"]["last"], stored["ledger"]["size"]
            # Within the file: a place beyond what can be sought is no place.
            if not isinstance(last, int) or not isinstance(size, int) or not 0 <= last <= max(size, 0):
                raise ValueError("its fields are not ours")
            state = state_from_json(stored["state"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise TamperedError(f"state.json is damaged: {error}", remedy=REPAIR) from error
        return dict(stored), state

    def ledger_stat(self) -> dict[str, int]:
        try:
            found = self._files.stat(self.ledger_file)
        except OSError as error:
            raise refuse(self.ledger_file, error) from error
        return {
            "size": found.st_size,
            "mtime_ns": found.st_mtime_ns,
            "ctime_ns": found.st_ctime_ns,
            "inode": found.st_ino,
        }

    def lines(self) -> Iterator[Line]:
        """Yield every line of the ledger, verified one by one."""
        try:
            stored, _ = self._read_state_file()
        except (TamperedError, OtherSchemaError):
            stored = None
        return self._read_lines(self.key_for(self._read_first("key_check")), stored)

    def _read_lines(self, key: bytes | None, stored: dict[str, Any] | None) -> Iterator[Line]:
        stream = open_file(self.ledger_file, self._files)
        if stream is None:
            return
        with stream:
            # Up to the checkpoint everything is whole; a later write may be torn, if its process died.
            settled = self._settled_at_first(key) if stored is None else stored["ledger"]["size"]
            for line in read_chain(self._read_rows(stream), key=key, settled=settled):
                self._require_key(key)
                yield line

    def _settled_at_first(self, key: bytes | None) -> int | None:
        """Return 0 if the ledger has nothing but its first write, whole or not: nothing vouches for that one yet."""
        ends = 0
        stream = open_file(self.ledger_file, self._files)
        if stream is not None:
            with stream:
                for number, row in enumerate(self._read_rows(stream)):
                    with contextlib.suppress(ValueError):
                        ends += not parse_line(row.removesuffix(b"\n"), key=key).more
                    if ends > 1 or number > _FIRST_WRITE:
                        return None
        return 0

    def _read_rows(self, stream: BinaryIO) -> Iterator[bytes]:
        try:
            yield from stream
        except OSError as error:
            raise refuse(self.ledger_file, error) from error

    def _read_first(self, name: str) -> str | None:
        """Return what the ledger's first line says of its lineage or its key; None if it says nothing."""
        return first_text(self._first_row(), name)

    def _first_row(self) -> bytes:
        stream = open_file(self.ledger_file, self._files)
        if stream is None:
            return b""
        with stream:
            try:
                return stream.readline(64 * 1024)
            except OSError as error:
                raise refuse(self.ledger_file, error) from error

    def key_for(self, check: str | None, lineage: str | None = None) -> bytes | None:
        """Return the key that lines were made with. Raises KeyMismatchError if it is not the one that is set.

        :param check: what their ledger says of it.
        :param lineage: which ledger that is; None for the one on the disk.
        """
        if check is None:
            return None
        if self._key is None:
            raise KeyMismatchError(
                "the ledger was made with PHASE_GATE_KEY, and that is not set: nothing in it can be verified",
                remedy="set PHASE_GATE_KEY to the key that it was made with",
            )
        lineage = lineage or self._read_first("lineage")
        if lineage and digest(lineage, self._key)[:32] != check:
            raise KeyMismatchError(
                "PHASE_GATE_KEY is not the key that the ledger was made with", remedy="set PHASE_GATE_KEY to that key"
            )
        return self._key

    def key_beyond(self, opened: Opened, first: bytes) -> bytes | None:
        """Return the key for lines that follow what was opened, or that begin with this row."""
        if opened.exists:
            return self.key_for(opened.key_check)
        key = self.key_for(first_text(first, "key_check"), first_text(first, "lineage"))
        self._require_key(key)
        return key

    def refuse_other(self, after: Opened, lines: Iterable[Line]) -> None:
        """Raise RollbackError or ForeignStateError if these lines do not lead on from what this user has seen."""
        seen = self._memory.recall()
        for line in lines if seen is not None and seen.lineage == after.lineage else ():
            if seen is not None and line.seq == seen.serial and line.hash != seen.head:
                raise rolled_back(f"line {line.seq} is not the one that was seen before")
        refuse_foreign(after, self._task, seen)

    def _require_key(self, used: bytes | None) -> None:
        """Refuse lines that were verified without the key that is set: anyone may have written them."""
        if self._key is not None and used is None:
            raise KeylessError(
                "PHASE_GATE_KEY is set, but the ledger was made without a key, so nothing vouches for it", remedy=_ANEW
            )


def first_text(row: bytes, name: str) -> str | None:
    """Return what a ledger's first row says under that name; None if it says nothing."""
    try:
        found = loads(row)["data"].get(name)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def apply_line(state: State, line: Line) -> State:
    """Return the state after one more line. Raises TamperedError for an event that can't be one of ours."""
    from phase_gate.gate.events import apply

    return read_event(line, lambda event: apply(state, event))


def read_event(line: Line, read: Callable[[Event], T]) -> T:
    """Return what is read from a line's event. Raises TamperedError for one that can't be one of ours."""
    try:
        return read(line.event)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        # Its hash is right, so it was made on purpose; no version of ours writes such an event.
        kind = ascii(line.event.kind[:40])[1:-1]
        raise TamperedError(f"ledger.jsonl:{line.seq}: malformed {kind} event", remedy=REPAIR) from error


def _compare_with_stored(stored: dict[str, Any], line: Line, state: State, lineage: str) -> None:
    if line.hash != stored["head"]:
        raise TamperedError(f"ledger.jsonl:{line.seq}: it is not the line that state.json names", remedy=REPAIR)
    if (state_to_json(state), lineage) != (stored["state"], stored["lineage"]):
        raise TamperedError("state.json is not what the ledger gives", remedy=REPAIR)
