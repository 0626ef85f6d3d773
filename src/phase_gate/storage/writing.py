"""Write a task's files: lines of the ledger, and the checkpoint behind them.

Who may write, and what, is decided in `store`: the caller holds the lock.
"""

from __future__ import annotations

import contextlib
import functools
from json import dumps
from pathlib import Path

from phase_gate.errors import StateError, StorageError
from phase_gate.gate.state import SCHEMA
from phase_gate.storage.files import (
    REAL,
    FileSystem,
    append_durably,
    cut_off,
    exists,
    make_folder,
    set_aside,
    sync_folders,
    write_atomically,
)
from phase_gate.storage.memory import Memory, Seen
from phase_gate.storage.opening import Opened, Opener
from phase_gate.storage.places import TaskPlaces, make_state_folder
from phase_gate.values import replace
from phase_gate.workflow.settings import DEFAULT_KEEP_OBJECTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.storage.objects import ObjectStore


class TaskFiles(TaskPlaces):
    """The files of one task, and how they are written."""

    def __init__(
        self,
        folder: Path,
        *,
        task: str,
        key: bytes | None = None,
        memory: Memory | None = None,
        files: FileSystem = REAL,
        state_folder: Path | None = None,
        keep_objects: float = DEFAULT_KEEP_OBJECTS,
    ) -> None:
        """Take the files in that folder.

        :param state_folder: the folder of all tasks, which git ignores; None: that folder itself.
        :param keep_objects: days after which an object that nothing names any more is removed; 0: never.
        """
        super().__init__(folder)
        self.task, self.key, self.files = task, key, files
        self._state_folder = state_folder or folder
        self._keep_objects = keep_objects
        self._memory = memory or Memory(None, folder)
        self.opener = Opener(self.ledger_file, self.state_file, task=task, key=key, memory=self._memory, files=files)

    @functools.cached_property
    def objects(self) -> ObjectStore:
        from phase_gate.storage.objects import ObjectStore

        return ObjectStore(self.folder / "objects", self.files, kept_for=self._keep_objects * 86_400)

    def write(
        self,
        opened: Opened,
        after: Opened,
        document: dict[str, Any],
        data: bytes,
        last: int,
        instead_of: bytes | None = None,
        *,
        is_expected: bool = False,
    ) -> Opened:
        """Write lines and the state after them, and return the task with the files that it has then.

        :param document: that state, as it is stored.
        :param last: where the last of the lines begins among them.
        """
        if opened.unfinished:
            # Kept aside, not thrown away: it may show what happened.
            aside = self.folder / f"ledger.unfinished-{opened.serial}"
            write_atomically(self.files, aside, opened.unfinished)
            cut_off(self.files, self.ledger_file, opened.size)
        if not is_expected:
            self._memory.expect(after.lineage)
        if instead_of is None:
            append_durably(self.files, self.ledger_file, data)
        else:
            write_atomically(self.files, self.ledger_file, instead_of + data)
        written = replace(after, size=opened.size + len(data), unfinished=b"", stat={})
        try:
            written = replace(written, stat=self.opener.ledger_stat())
            self._write_state(written, document, last_start=opened.size + last)
        except StorageError:
            # Recorded: the ledger has it. A checkpoint that lags is made up for by the next one; one of a ledger that
            # is not there any more would be in the way.
            if instead_of is not None and exists(self.state_file, self.files):
                set_aside(self.files, self.state_file, self.folder / "state.old")
        self._memory.keep(_seen(written))
        return written

    def remove_old_objects(self, document: dict[str, Any], data: bytes) -> None:
        """Remove objects that are old, and that neither the state nor these lines lead to. With best effort."""
        from phase_gate.storage.ledger import canonical
        from phase_gate.storage.objects import find_names

        with contextlib.suppress(StateError, OSError):
            self.objects.remove_old(find_names(canonical(document) + data))

    def _write_state(self, opened: Opened, document: dict[str, Any], *, last_start: int) -> None:
        stored = {
            "schema": SCHEMA,
            "lineage": opened.lineage,
            "serial": opened.serial,
            "head": opened.head,
            "key_check": opened.key_check,
            "ledger": {"last": last_start, **opened.stat},
            "state": document,
        }
        write_atomically(self.files, self.state_file, dumps(stored, indent=1).encode())

    def make_folder(self) -> None:
        """Make the task's folder, in a state folder that git ignores."""
        make_state_folder(self._state_folder, self.files)
        make_folder(self.files, self.folder)

    def make_folders(self) -> None:
        make_folder(self.files, self.folder / "runs")
        # Once more: the process that made them may have died before. Up to where `tasks/NAME` in a state folder lies.
        sync_folders(self.files, self.folder.parents[:3])


def _seen(opened: Opened) -> Seen:
    state = opened.state
    return Seen(
        lineage=opened.lineage,
        serial=opened.serial,
        head=opened.head,
        # One that vanished is open until another one has gone the whole way.
        cycle_is_open=(state.phase is not None or state.vanished) and not state.is_done,
        cycle=state.cycle,
    )
