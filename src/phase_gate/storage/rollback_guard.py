"""Detect a state folder that was replaced by an older copy or by another task's.

An old copy has a valid hash chain, so the last line that this user has seen is saved outside the project. Failures are
ignored. Off under CI, where every job starts from scratch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from json import dumps
from pathlib import Path

from phase_gate.codec import to_json
from phase_gate.errors import ForeignStateError, RollbackError
from phase_gate.hashing import sha256
from phase_gate.storage import cache
from phase_gate.storage.files import REAL, FileSystem, write_atomically
from phase_gate.storage.ledger import Line
from phase_gate.values import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.storage.opening import Opened


class LastSeen(Value):
    """The last line seen of a ledger, with the cycle at that time and whether it was open."""

    lineage: str
    serial: int
    head: str
    cycle_is_open: bool
    #: The cycle has left RED, or the task is a verify task or a pipeline: losing the folder would lose work.
    has_red: bool = False
    cycle: int = 0
    #: Only for people who read the file.
    folder: str = ""


class RollbackGuard:
    """The last line seen of one task's ledger, in a file outside the project."""

    def __init__(self, file: Path | None, folder: Path, files: FileSystem = REAL) -> None:
        self._file, self._folder, self._files = file, folder, files

    @classmethod
    def for_folder(cls, folder: Path, environment: Mapping[str, str]) -> RollbackGuard:
        return cls(guard_file(folder, environment), folder)

    def last_seen(self) -> LastSeen | None:
        return None if self._file is None else cache.load_value(LastSeen, self._file, self._files)

    def expect(self, lineage: str) -> None:
        """Accept any line of a ledger with this lineage from now on.

        Call this before the ledger is replaced: if the process dies in between, the new ledger must not look like a
        rollback. Whether a cycle was open stays recorded. Raises StorageError if the file can't be written.
        """
        seen = self.last_seen()
        if seen is not None and self._file is not None:
            expected = replace(seen, lineage=lineage, serial=0, head="")
            write_atomically(self._files, self._file, dumps(to_json(expected)).encode())

    def keep(self, seen: LastSeen) -> None:
        """Save the last line seen. Failures are ignored: an unwritable home folder is no reason to refuse a run."""
        if self._file is not None:
            cache.save(self._file, replace(seen, folder=str(self._folder.absolute())), self._files)


def guard_file(folder: Path, environment: Mapping[str, str]) -> Path | None:
    """Return the guard's file for this state folder, in the user's state directory; None if the guard is off."""
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


# --- whether a ledger belongs to this task and to the lineage that this user has seen. The folder's path does not
# matter: a project may be moved.


_ACCEPT = 'phase-gate audit --accept-rollback --reason "..." --by NAME'


def refuse_foreign(opened: Opened, task: str, seen: LastSeen | None) -> None:
    """Raise ForeignStateError or RollbackError if the ledger was replaced.

    :param seen: the last line seen; None if the guard is off, as in CI.
    """
    if opened.exists and opened.state.task != task:
        raise _of_another_task(opened.state.task, task)
    if seen is None:
        return
    if seen.lineage != opened.lineage:
        # Between cycles a folder may be replaced: that skips no open gate.
        if opened.exists and seen.cycle_is_open:
            raise ForeignStateError(
                "the state folder contains another ledger than the one seen here, whose cycle is still open",
                remedy=f"restore that folder, or {_ACCEPT}, or remove the folder and start again",
            )
    elif opened.serial < seen.serial:
        raise _rolled_back(f"it ends at line {opened.serial}, but line {seen.serial} was seen")
    elif opened.serial == seen.serial and opened.head != seen.head:
        raise _rolled_back(f"line {seen.serial} is not the one that was seen before")


def refuse_other_line(seen: LastSeen | None, lineage: str, line: Line) -> None:
    """Raise RollbackError if the last line seen has another hash in this ledger."""
    if seen is not None and (seen.lineage, seen.serial) == (lineage, line.seq) and seen.head != line.hash:
        raise _rolled_back(f"line {line.seq} is not the one that was seen before")


def _rolled_back(problem: str) -> RollbackError:
    return RollbackError(
        f"the state folder is older than it was before: {problem}",
        remedy=f"{_ACCEPT}, or restore the newer folder",
    )


def _of_another_task(name: str, task: str) -> ForeignStateError:
    # The name comes from a file, so control characters are escaped.
    shown = ascii(str(name)[:64])[1:-1]
    return ForeignStateError(
        f"the ledger here belongs to task {shown}, and this is task {task}",
        remedy=f"move ledger.jsonl and state.json back to task {shown}; restore those of task {task}, or start again",
    )
