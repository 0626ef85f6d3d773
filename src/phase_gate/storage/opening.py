"""Open a task: from its checkpoint, or by verifying and replaying every line of the ledger.

Only reads. The checkpoint just saves time: in any doubt, all lines are replayed. `state.json` must match the ledger.

The ledger must also be the one that this user has seen. An old copy has a valid hash chain, so the last line seen is
saved outside the project; not under CI, where every job starts from scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from json import loads
from pathlib import Path

from phase_gate.bound import os, sha256
from phase_gate.errors import ForeignStateError, RollbackError, StateError, TamperedError
from phase_gate.gate.state import NEW_STATE, SCHEMA, Event, State, state_from_json
from phase_gate.storage.files import REAL, FileSystem, load_json, load_value, open_file, read_bytes, refusing
from phase_gate.storage.ledger import GENESIS, REPAIR, Line, digest, parse_line, read_chain
from phase_gate.storage.root import SIGNAL_FILE
from phase_gate.values import Value, field, replace
from phase_gate.workflow.settings import DEFAULT_LOCK_TIMEOUT, DEFAULT_RUN_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

_ACCEPT = 'phase-gate audit --accept-rollback --reason "..." --by NAME'


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


class LastSeen(Value):
    """The last line that this user has seen of a ledger, with the cycle at that time and whether it was open."""

    lineage: str
    serial: int
    head: str
    cycle_is_open: bool
    #: The cycle has left RED, or the task is a verify task or a pipeline: losing the folder would lose work.
    has_red: bool = False
    cycle: int = 0


class Place(Value, kw_only=False):
    """Where a task is, and how its files are used."""

    folder: Path
    task: str
    #: Signs the ledger.
    key: bytes | None = None
    #: The file with the last line seen; None: nothing is remembered.
    guard: Path | None = None
    #: Describes this process to others that wait for the lock.
    command: str = ""
    lock_timeout: float = DEFAULT_LOCK_TIMEOUT
    #: Seconds after which a run on another machine counts as lost.
    run_limit: float = DEFAULT_RUN_LIMIT * 3600
    #: Folders that must not be links.
    own_folders: tuple[str, ...] = ()
    #: The folder of all tasks, which git ignores; None: the task's folder itself.
    state_folder: Path | None = None
    files: FileSystem = REAL


class TaskReader:
    """One task's files, and how to read them."""

    def __init__(self, place: Place) -> None:
        self.place, self.task, self.run_limit = place, place.task, place.run_limit
        self.key, self.guard, self.files = place.key, place.guard, place.files
        self.folder = folder = place.folder
        self.ledger_file = folder / "ledger.jsonl"
        self.state_file = folder / "state.json"
        self.lock_file = folder / "state.json.lock"
        self.signal_file = folder / SIGNAL_FILE
        #: The state after the last transaction, so that most processes need not read the whole ledger.
        self.checkpoint_file = folder / "cache" / "checkpoint.json"
        #: Locked while a drive of the task is running; the folder for its prompts and transcripts.
        self.drive_lock_file = folder / "drive.lock"
        self.drive_folder = folder / "drive"
        #: Made by the first run in this folder. A shared task without it was only downloaded from the store.
        self.runs_folder = folder / "runs"

    def open(self, *, accept_rollback: bool = False) -> Opened:
        """Return the task.

        :param accept_rollback: accept a ledger that is older than, or different from, the one seen before.
        """
        # Read the guard first: every later write makes the folder newer than this, never older.
        seen = None if accept_rollback else self.last_seen()
        shown, stat = self._read_shown(), self.ledger_stat()
        opened = self._open_checkpoint(shown, seen, stat) or self._replay(shown, seen, stat)
        self._refuse_foreign(opened, seen)
        return opened

    def is_as_opened(self, opened: Opened) -> bool:
        """Return whether the ledger is unchanged since the task was opened, judged by size, times and inode."""
        return opened.stat == self.ledger_stat()

    def ledger_stat(self) -> dict[str, int]:
        """Return the size, times and inode of the ledger; empty if it is missing."""
        with refusing(self.ledger_file):
            try:
                found = self.files.stat(self.ledger_file)
            except FileNotFoundError:
                return {}
        times = {"mtime_ns": found.st_mtime_ns, "ctime_ns": found.st_ctime_ns}
        return {"size": found.st_size, **times, "inode": found.st_ino}

    # --- the two ways to open ------------------------------------------------------------------------------------

    def _open_checkpoint(
        self, shown: Mapping[str, Any] | None, seen: LastSeen | None, stat: Mapping[str, int]
    ) -> Opened | None:
        """Return the task if the ledger is unchanged since the checkpoint, and its last line confirms it."""
        kept = load_json(self.checkpoint_file, self.files)
        if shown is None or not isinstance(kept, dict) or kept.get("schema") != SCHEMA or kept.get("stat") != stat:
            return None
        in_folder = (shown.get("serial"), shown.get("head"))
        if seen is not None and seen.lineage == shown.get("lineage") and (seen.serial, seen.head) != in_folder:
            return None  # only a replay shows whether the last line seen is there
        stream = open_file(self.ledger_file, self.files)
        if stream is None:
            return None
        with refusing(self.ledger_file), stream:
            beginning = read_beginning(stream.readline(64 * 1024))
            key = self.key_for(beginning)
            try:
                # Only up to the checkpoint's size: without a lock, another process may have appended more.
                start = stream.seek(kept["last"])
                line = parse_line(stream.read(stat["size"] - start).removesuffix(b"\n"), start=start, key=key)
                if line.state != digest(kept["state"]):
                    return None
                state = state_from_json(kept["state"])
            except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                return None
        opened = replace(beginning, state=state, serial=line.seq, head=line.hash, size=stat["size"], stat=stat)
        return opened if opened.shown() == shown else None

    def _replay(self, shown: Mapping[str, Any] | None, seen: LastSeen | None, stat: Mapping[str, int]) -> Opened:
        """Verify every line, and return the task after its last complete transaction."""
        opened, confirmed = Opened(), None
        for line, now in self._walk(self._rows(), Opened(), seen):
            if shown is not None and line.seq == shown.get("serial"):
                confirmed = now.shown()
            if not line.more:
                opened = now
        if confirmed != shown:
            problem = f"state.json does not match the ledger, which ends at line {opened.serial}"
            raise TamperedError(problem, remedy=REPAIR)
        unfinished = read_bytes(self.ledger_file, self.files, offset=opened.size) or b""
        return replace(opened, unfinished=unfinished, stat=stat)

    def states(self) -> Iterator[tuple[Line, Opened]]:
        """Yield every line of the ledger, verified, with its complete event and the task after it."""
        return self._walk(self._rows(), Opened(), None)

    def follow(self, opened: Opened, rows: list[bytes], *, name: str) -> tuple[Opened, Line]:
        """Return the task after rows that a shared store has added, and the last line.

        Raises StateError if they break the chain.

        :param name: the source of the rows, for messages.
        """
        seen = self.last_seen()
        lines = list(self._walk(rows, opened, seen, name=name))
        if not lines or lines[-1][0].more or lines[-1][0].end != sum(map(len, rows)):
            raise TamperedError(f"{name} has an incomplete transaction of task {self.task}", remedy=REPAIR)
        last, after = lines[-1]
        self._refuse_foreign(after, seen)
        return after, last

    def _walk(
        self, rows: Iterable[bytes], opened: Opened, seen: LastSeen | None, *, name: str = "ledger.jsonl"
    ) -> Iterator[tuple[Line, Opened]]:
        """Yield each line after those that are opened, verified, with its complete event and the task after it."""
        rows = iter(rows)
        if not opened.exists:
            first = next(rows, b"")
            opened, rows = read_beginning(first), chain((first,), rows)
        state, seen_line = opened.state, None if seen is None else (seen.lineage, seen.serial)
        for line in read_chain(rows, key=self.key_for(opened), after=(opened.serial, opened.head), name=name):
            if seen is not None and seen_line == (opened.lineage, line.seq) and seen.head != line.hash:
                raise _rolled_back(f"line {line.seq} is not the one that was seen before")
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
            shown = loads(raw)
        except (ValueError, RecursionError):
            shown = None
        if not isinstance(shown, dict):
            raise TamperedError("state.json is damaged", remedy=REPAIR)
        schema = shown.get("schema")
        if isinstance(schema, int) and schema != SCHEMA:
            raise StateError(
                f"state.json has schema {schema}, but this version supports {SCHEMA}",
                remedy="use the pytest-phase-gate that wrote it, or remove the folder; nothing was changed",
                slug="state-schema",
            )
        return shown

    def key_for(self, beginning: Opened) -> bytes | None:
        """Return the key of the ledger. Raises StateError if PHASE_GATE_KEY is another one."""
        if beginning.key_check is None:
            if self.key is None or not beginning.lineage:  # without a lineage, the first line is damaged
                return None
            problem = "PHASE_GATE_KEY is set, but the ledger was made without a key, so it can't be trusted"
            remedy = "unset PHASE_GATE_KEY; or move the state folder away, to start again with the key"
        elif self.key is None:
            problem = "the ledger was made with PHASE_GATE_KEY, which is not set: the ledger can't be verified"
            remedy = "set PHASE_GATE_KEY to the key it was made with"
        elif check_of(beginning.lineage, self.key) != beginning.key_check:
            problem = "PHASE_GATE_KEY is not the key the ledger was made with"
            remedy = "set PHASE_GATE_KEY to that key"
        else:
            return self.key
        raise StateError(problem, remedy, slug="state-key")

    # --- whether the ledger belongs to this task, and to the lineage that this user has seen -----------------------

    def last_seen(self) -> LastSeen | None:
        return None if self.guard is None else load_value(LastSeen, self.guard, self.files)

    def _refuse_foreign(self, opened: Opened, seen: LastSeen | None) -> None:
        """Raise ForeignStateError or RollbackError if the ledger was replaced. The folder's path does not matter."""
        if opened.exists and opened.state.task != self.task:
            name = ascii(str(opened.state.task)[:64])[1:-1]  # from a file, so control characters are escaped
            raise ForeignStateError(
                f"the ledger here belongs to task {name}, and this is task {self.task}",
                remedy=f"move ledger.jsonl and state.json back to task {name}; restore those of task {self.task},"
                " or start again",
            )
        if seen is not None and seen.lineage == opened.lineage and opened.serial < seen.serial:
            raise _rolled_back(f"it ends at line {opened.serial}, but line {seen.serial} was seen")
        # Between cycles a folder may be replaced: that skips no open gate.
        if seen is not None and seen.lineage != opened.lineage and opened.exists and seen.cycle_is_open:
            raise ForeignStateError(
                "the state folder contains another ledger than the one seen here, whose cycle is still open",
                remedy=f"restore that folder, or {_ACCEPT}, or remove the folder and start again",
            )


def _rolled_back(problem: str) -> RollbackError:
    return RollbackError(
        f"the state folder is older than it was before: {problem}",
        remedy=f"{_ACCEPT}, or restore the newer folder",
    )


def guard_file(folder: Path, environment: Mapping[str, str]) -> Path | None:
    """Return the file with the last line seen of a task, in the user's state directory; None under CI."""
    root = None if is_ci(environment) else user_state_folder(environment)
    if root is None:
        return None
    # Resolved, so that every spelling of the folder's path gives the same file.
    name = sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    return root / f"{name}.json"


def is_ci(environment: Mapping[str, str]) -> bool:
    """Return whether this is a CI job: all common systems set `CI`."""
    return environment.get("CI", "").lower() not in ("", "0", "false")


def user_state_folder(environment: Mapping[str, str]) -> Path | None:
    """Return `phase-gate` in the user's state directory; None for a user without a home, as in some containers."""
    base = environment.get("XDG_STATE_HOME") or ""
    try:
        return (Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state") / "phase-gate"
    except RuntimeError:
        return None


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
        kind = ascii(str(line.event.kind)[:40])[1:-1]
        raise TamperedError(f"ledger.jsonl:{line.seq}: malformed {kind} event", remedy=REPAIR) from error


def _apply(state: State, event: Event) -> tuple[Event, State]:
    """Return the complete event of a line, and the state after it."""
    from phase_gate.gate.brief import restore
    from phase_gate.gate.events import apply

    event = restore(event, state)
    return event, apply(state, event)
