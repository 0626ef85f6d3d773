"""What this user has already seen of a state folder: kept outside the project, best effort.

A folder restored from an old copy has a consistent chain; only a memory of how far it had come can tell.
Off under CI, where every job begins anew.
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
    """The highest serial of a lineage, the hash of that line, which cycle it was, and whether that was open then."""

    lineage: str
    serial: int
    head: str
    cycle_is_open: bool
    #: RED was seen in it, or it is a verify task or a pipeline: something is lost where the folder goes.
    has_red: bool = False
    cycle: int = 0
    #: For people.
    folder: str = ""


class RollbackGuard:
    """What is remembered of one task's folder."""

    def __init__(self, file: Path | None, folder: Path, files: FileSystem = REAL) -> None:
        self._file, self._folder, self._files = file, folder, files

    @classmethod
    def for_folder(cls, folder: Path, environment: Mapping[str, str]) -> RollbackGuard:
        return cls(guard_file(folder, environment), folder)

    def last_seen(self) -> LastSeen | None:
        return None if self._file is None else cache.load_value(LastSeen, self._file, self._files)

    def expect(self, lineage: str) -> None:
        """Expect a ledger of this lineage from now on, at any line, in place of what was seen.

        Before it is written: a process that dies in between must not find that the folder was rolled back or exchanged.
        That a cycle was open is not forgotten. Raises StorageError if it can't be done: what was seen would be missed.
        """
        seen = self.last_seen()
        if seen is not None and self._file is not None:
            expected = replace(seen, lineage=lineage, serial=0, head="")
            write_atomically(self._files, self._file, dumps(to_json(expected)).encode())

    def keep(self, seen: LastSeen) -> None:
        """Remember it with best effort: a home folder that can't be written is no reason to refuse a run."""
        if self._file is not None:
            cache.save(self._file, replace(seen, folder=str(self._folder.absolute())), self._files)


def guard_file(folder: Path, environment: Mapping[str, str]) -> Path | None:
    """Return the file of the user's state directory that is about this folder; None where nothing is remembered."""
    root = None if environment.get("CI", "").lower() not in ("", "0", "false") else user_state_folder(environment)
    if root is None:
        return None
    # Resolved: another spelling of the folder's name must not make us forget it.
    name = sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    return root / f"{name}.json"


def user_state_folder(environment: Mapping[str, str]) -> Path | None:
    """Return our folder in the user's state directory; None for a user without a home, as in some containers."""
    base = environment.get("XDG_STATE_HOME") or ""
    try:
        return (Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state") / "phase-gate"
    except RuntimeError:
        return None


# --- whether a ledger is the one that belongs here: of this task, and of the lineage that this user has seen. The
# folder's path is no part of it: a project that was moved goes on.


_ACCEPT = 'phase-gate audit --accept-rollback --reason "..." --by NAME'


def refuse_foreign(opened: Opened, task: str, seen: LastSeen | None) -> None:
    """Raise ForeignStateError or RollbackError for a ledger that took the place of the one that belongs here.

    :param seen: what is remembered of the folder; None where nothing is, as in CI.
    """
    if opened.exists and opened.state.task != task:
        raise _of_another_task(opened.state.task, task)
    if seen is None:
        return
    if seen.lineage != opened.lineage:
        # Between cycles a folder may go, and another one come: nothing is dodged by it.
        if opened.exists and seen.cycle_is_open:
            raise ForeignStateError(
                "the state folder contains another ledger than the one seen here, whose cycle is still open",
                remedy=f"bring that folder back, or {_ACCEPT}, or remove the folder and begin anew",
            )
    elif opened.serial < seen.serial:
        raise _rolled_back(f"it is at {opened.serial}, it was seen at {seen.serial}")
    elif opened.serial == seen.serial and opened.head != seen.head:
        raise _rolled_back(f"line {seen.serial} is not the one that was seen before")


def refuse_other_line(seen: LastSeen | None, lineage: str, line: Line) -> None:
    """Raise RollbackError for a line that is not the one that was seen in its place."""
    if seen is not None and (seen.lineage, seen.serial) == (lineage, line.seq) and seen.head != line.hash:
        raise _rolled_back(f"line {line.seq} is not the one that was seen before")


def _rolled_back(problem: str) -> RollbackError:
    return RollbackError(
        f"the state folder is older than what was seen of it: {problem}",
        remedy=f"{_ACCEPT}, or bring the newer folder back",
    )


def _of_another_task(name: str, task: str) -> ForeignStateError:
    # It stands in a file: shown as it is only if it could be a name.
    shown = ascii(str(name)[:64])[1:-1]
    return ForeignStateError(
        f"the ledger here belongs to task {shown}, and this is task {task}",
        remedy=f"give ledger.jsonl and state.json back to task {shown}; restore those of task {task}, or begin anew",
    )
