"""A task's state on disk: read it, or change it in one locked transaction.

Files only; what an event means is the core's business. The ledger is the truth, `state.json` a checkpoint of it, so
that opening does not depend on the ledger's length.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_phase_gate.core.state import NEW_STATE, SCHEMA, Event, State, apply
from pytest_phase_gate.core.state_json import state_from_json, state_to_json
from pytest_phase_gate.errors import KeyMismatchError, NewerSchemaError, RollbackError, StorageError, TamperedError
from pytest_phase_gate.storage.files import (
    REAL,
    FileSystem,
    append_durably,
    cut_off,
    make_folder,
    read_bytes,
    write_atomically,
)
from pytest_phase_gate.storage.ledger import GENESIS, REPAIR, Line, digest, encode_transaction, parse_line, read_chain
from pytest_phase_gate.storage.lock import DEFAULT_TIMEOUT, hold_lock, is_free
from pytest_phase_gate.storage.memory import Memory, Seen
from pytest_phase_gate.storage.objects import ObjectStore

_ACCEPT = 'phase-gate audit --accept-rollback --reason "..." --by NAME, or bring the newer folder back'


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
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

    @property
    def exists(self) -> bool:
        return self.serial > 0


@dataclass(slots=True)
class Transaction:
    """One change of a task: record events, then leave the block to write them."""

    opened: Opened
    at: str
    state: State
    events: list[Event] = field(default_factory=list)

    def record(self, *events: Event) -> None:
        for event in events:
            event = event if event.at else replace(event, at=self.at)
            self.events.append(event)
            self.state = apply(self.state, event)


class TaskStore:
    """The files of one task."""

    def __init__(
        self,
        folder: Path,
        *,
        task: str,
        command: str = "",
        lock_timeout: float = DEFAULT_TIMEOUT,
        key: bytes | None = None,
        memory: Memory | None = None,
        files: FileSystem = REAL,
    ) -> None:
        self.folder, self.task = folder, task
        self.objects = ObjectStore(folder / "objects", files)
        self._command, self._lock_timeout, self._files = command, lock_timeout, files
        self._key = key
        self._memory = memory or Memory(None, folder)

    @property
    def ledger_file(self) -> Path:
        return self.folder / "ledger.jsonl"

    @property
    def state_file(self) -> Path:
        return self.folder / "state.json"

    @property
    def lock_file(self) -> Path:
        return self.folder / "state.json.lock"

    @property
    def signal_file(self) -> Path:
        return self.folder / "exit-signal.yaml"

    def run_lock_file(self, run: str) -> Path:
        return self.folder / "runs" / f"{run}.lock"

    # --- looking -------------------------------------------------------------------------------------------------

    def look(self) -> Opened:
        """Return the task as it stands, without a lock and without writing anything."""
        opened = self._open()
        self._compare_with_memory(opened)
        return opened

    def lost_runs(self, state: State) -> tuple[str, ...]:
        """Return the open runs whose own lock is free: they will never end."""
        return tuple(run.id for run in state.open_runs if is_free(self.run_lock_file(run.id)))

    def vanished_in_mid_cycle(self, opened: Opened) -> bool:
        """Tell whether this user has seen an open cycle in this folder under another lineage."""
        seen = self._memory.recall()
        return seen is not None and seen.cycle_is_open and seen.lineage != opened.lineage

    def lines(self) -> Iterator[Line]:
        """Yield every line of the ledger, verified one by one."""
        if not self.ledger_file.exists():
            return
        with open(self.ledger_file, "rb") as stream:
            yield from read_chain(stream, key=self._key_for(self._stored_key_check()))

    # --- changing ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self, *, accept_rollback: bool = False) -> Iterator[Transaction]:
        """Lock, open, hand out, write. Nothing is written if the block raises, or records nothing."""
        make_folder(self._files, self.folder)
        with hold_lock(self.lock_file, timeout=self._lock_timeout, command=self._command):
            opened = self._open()
            if not accept_rollback:
                self._compare_with_memory(opened)
            change = Transaction(opened, at=now(), state=opened.state)
            if not opened.exists:
                self._begin(change)
            yield change
            if change.events and (opened.exists or len(change.events) > 1):
                self._commit(change)

    def _begin(self, change: Transaction) -> None:
        lineage = secrets.token_hex(16)
        check = None if self._key is None else digest(lineage, self._key)[:32]
        change.opened = replace(change.opened, lineage=lineage, key_check=check)
        created = {"task": self.task, "lineage": lineage, "key_check": check}
        change.record(Event(kind="created", data=created))

    def _commit(self, change: Transaction) -> None:
        opened = change.opened
        if not opened.exists:
            self._write_ignore_file()
        if opened.unfinished:
            # Kept aside, not thrown away: it may tell somebody what happened.
            aside = self.folder / f"ledger.unfinished-{opened.serial}"
            write_atomically(self._files, aside, opened.unfinished)
            cut_off(self._files, self.ledger_file, opened.size)
        document = state_to_json(change.state)
        data, last = encode_transaction(
            change.events,
            seq=opened.serial + 1,
            prev=opened.head,
            state_digest=digest(document),
            key=self._key_for(opened.key_check),
        )
        append_durably(self._files, self.ledger_file, data)
        change.opened = replace(
            opened, state=change.state, serial=last.seq, head=last.hash, size=opened.size + len(data), unfinished=b""
        )
        # Recorded: the ledger has it. A checkpoint that can't be written is made up for by the next one.
        with contextlib.suppress(StorageError):
            self._write_state(change.opened, document, last_start=opened.size + last.start)
        cycle_is_open = change.state.phase is not None and not change.state.is_done
        self._memory.keep(
            Seen(lineage=opened.lineage, serial=last.seq, head=last.hash, cycle_is_open=cycle_is_open)
        )

    def _write_state(self, opened: Opened, document: dict[str, Any], *, last_start: int) -> None:
        stored = {
            "schema": SCHEMA,
            "lineage": opened.lineage,
            "serial": opened.serial,
            "head": opened.head,
            "key_check": opened.key_check,
            "ledger": {"last": last_start, **self._ledger_stat()},
            "state": document,
        }
        write_atomically(self._files, self.state_file, json.dumps(stored, indent=1).encode())

    def _write_ignore_file(self) -> None:
        make_folder(self._files, self.folder / "runs")
        ignore = self.folder / ".gitignore"
        if not ignore.exists():
            write_atomically(self._files, ignore, b"# State of pytest-phase-gate: not for commits.\n*\n", durable=False)

    # --- opening -------------------------------------------------------------------------------------------------

    def _open(self) -> Opened:
        stored = self._read_state_file()
        if stored is None and not self.ledger_file.exists():
            return Opened()
        if stored is not None:
            if not self.ledger_file.exists():
                raise TamperedError("ledger.jsonl is gone, state.json is still there", remedy=REPAIR)
            if stored["schema"] == SCHEMA and stored["ledger"].items() >= self._ledger_stat().items():
                return self._open_checkpoint(stored)
        return self._open_by_replay(stored)

    def _open_checkpoint(self, stored: dict[str, Any]) -> Opened:
        """Nobody has touched the ledger since our last write: its last line vouches for the state."""
        last_start, size = stored["ledger"]["last"], stored["ledger"]["size"]
        raw = read_bytes(self.ledger_file, offset=last_start) or b""
        try:
            line = parse_line(raw.rstrip(b"\n"), start=last_start, key=self._key_for(stored["key_check"]))
        except ValueError as error:
            raise TamperedError(f"the last line of ledger.jsonl: {error}", remedy=REPAIR) from error
        if (line.seq, line.hash) != (stored["serial"], stored["head"]) or line.state != digest(stored["state"]):
            raise TamperedError("state.json is not what the ledger gives", remedy=REPAIR)
        return Opened(
            state=state_from_json(stored["state"]),
            lineage=stored["lineage"],
            serial=line.seq,
            head=line.hash,
            size=size,
            key_check=stored["key_check"],
        )

    def _open_by_replay(self, stored: dict[str, Any] | None) -> Opened:
        """The ledger was touched, or the state lags: verify every line and fold them all."""
        key = self._key_for(self._stored_key_check())
        state, good = NEW_STATE, NEW_STATE
        last: Line | None = None
        lineage, key_check = "", None
        seen = self._memory.recall()
        with open(self.ledger_file, "rb") as stream:
            for line in read_chain(stream, key=key):
                state = apply(state, line.event)
                if line.seq == 1:
                    lineage, key_check = line.event.data.get("lineage", ""), line.event.data.get("key_check")
                if stored is not None and line.seq == stored["serial"]:
                    self._compare_with_stored(stored, line, state)
                if seen is not None and (seen.lineage, seen.serial) == (lineage, line.seq) and seen.head != line.hash:
                    raise _rolled_back(f"line {line.seq} is not the one that was seen before")
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
            unfinished=read_bytes(self.ledger_file, offset=size) or b"",
            state_lags=stored is None or last is None or last.seq != stored["serial"],
            key_check=key_check,
        )

    def _compare_with_stored(self, stored: dict[str, Any], line: Line, state: State) -> None:
        if line.hash != stored["head"]:
            raise TamperedError(f"ledger.jsonl:{line.seq}: it is not the line that state.json names", remedy=REPAIR)
        if stored["schema"] == SCHEMA and state_to_json(state) != stored["state"]:
            raise TamperedError("state.json is not what the ledger gives", remedy=REPAIR)

    def _read_state_file(self) -> dict[str, Any] | None:
        raw = read_bytes(self.state_file)
        if raw is None:
            return None
        try:
            stored = json.loads(raw)
            schema = stored["schema"]
            if isinstance(schema, int) and schema > SCHEMA:
                raise NewerSchemaError(
                    f"state.json has schema {schema}, this version knows {SCHEMA}",
                    remedy="use the newer pytest-phase-gate that wrote it; nothing was changed",
                )
            known = {"schema", "lineage", "serial", "head", "key_check", "ledger", "state"}
            if set(stored) != known or not isinstance(stored["serial"], int) or not isinstance(schema, int):
                raise ValueError("its fields are not ours")
            if {type(stored["ledger"]), type(stored["state"])} != {dict}:
                raise ValueError("its fields are not ours")
            state_from_json(stored["state"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise TamperedError(f"state.json is damaged: {error}", remedy=REPAIR) from error
        return dict(stored)

    def _ledger_stat(self) -> dict[str, int]:
        found = os.stat(self.ledger_file, follow_symlinks=False)
        return {
            "size": found.st_size,
            "mtime_ns": found.st_mtime_ns,
            "ctime_ns": found.st_ctime_ns,
            "inode": found.st_ino,
        }

    def _compare_with_memory(self, opened: Opened) -> None:
        seen = self._memory.recall()
        if seen is None or seen.lineage != opened.lineage:
            return
        if opened.serial < seen.serial:
            raise _rolled_back(f"it is at {opened.serial}, it was seen at {seen.serial}")
        if opened.serial == seen.serial and opened.head != seen.head:
            raise _rolled_back(f"line {seen.serial} is not the one that was seen before")

    # --- keys ----------------------------------------------------------------------------------------------------

    def _stored_key_check(self) -> str | None:
        """Return what the ledger's first line says about its key; None for a plain ledger."""
        with open(self.ledger_file, "rb") as stream:
            first = stream.readline(64 * 1024)
        try:
            check = json.loads(first)["data"].get("key_check")
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        return check if isinstance(check, str) else None

    def _key_for(self, check: str | None) -> bytes | None:
        if check is None:
            return None
        if self._key is None:
            raise KeyMismatchError(
                "the ledger was made with PHASE_GATE_KEY, and that is not set: it can only be looked at",
                remedy="set PHASE_GATE_KEY to the key that it was made with",
            )
        lineage = self._first_lineage()
        if lineage and digest(lineage, self._key)[:32] != check:
            raise KeyMismatchError(
                "PHASE_GATE_KEY is not the key that the ledger was made with", remedy="set PHASE_GATE_KEY to that key"
            )
        return self._key

    def _first_lineage(self) -> str:
        if not self.ledger_file.exists():
            return ""
        with open(self.ledger_file, "rb") as stream:
            first = stream.readline(64 * 1024)
        try:
            lineage = json.loads(first)["data"]["lineage"]
        except (ValueError, KeyError, TypeError):
            return ""
        return lineage if isinstance(lineage, str) else ""


def _rolled_back(problem: str) -> RollbackError:
    return RollbackError(f"the state folder is older than what was seen of it: {problem}", remedy=_ACCEPT)


def now() -> str:
    """Return the present time as the ledger writes it: UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
