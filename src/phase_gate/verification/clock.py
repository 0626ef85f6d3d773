"""How long ago something was, by this machine's own clock.

With a state folder alone, one clock writes the ledger and reads it. With a shared store the ledger's times are those of
other machines, which may be an hour apart: then a time counts from when this machine first saw it. That is later than
it was, never earlier, so that no worker loses a task because of a clock. It is kept in the state folder, and lost with
it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from phase_gate.errors import StorageError
from phase_gate.storage import store
from phase_gate.storage.files import REAL, make_folder, write_atomically
from phase_gate.values import replace
from phase_gate.verification.model import FINISHED, Verification
from phase_gate.verification.rules import MARGIN, Lease, seconds_between
from phase_gate.verification.stats import TaskRow

_FILE = "first-seen.json"


class Clock:
    """The times of verify tasks, as this machine counts them."""

    def __init__(self, state_folder: Path, *, is_shared: bool) -> None:
        self._file = state_folder / "cache" / _FILE
        self._is_shared = is_shared
        self._seen = self._read() if is_shared else {}

    def see(self, rows: Iterable[TaskRow]) -> None:
        """Remember when the times of these tasks, which are all that there are, were first seen."""
        if not self._is_shared:
            return
        now = store.now()
        seen: dict[str, dict[str, str]] = {}
        for row in rows:
            if row.status not in FINISHED:
                known = self._seen.get(row.task, {})
                times = (row.began_at, row.verified_at, row.last_step_at, *(each.at for each in row.failures[-1:]))
                # A clock that was put back must not make a lease longer than it is.
                found = {at: min(known.get(at, now), now) for at in times if at}
                seen |= {row.task: found} if found else {}
        if seen != self._seen:
            self._seen = seen
            self._write()

    def own(self, task: str, at: str) -> str:
        """Return a time of the ledger by this machine's clock."""
        if not self._is_shared or not at:
            return at
        return self._seen.get(task, {}).get(at) or store.now()

    def is_over(self, task: str, lease: Lease | None) -> bool:
        """Tell whether the task belongs to no worker any more."""
        if lease is None or lease.seconds is None:
            return False
        margin = MARGIN if self._is_shared else 0.0
        return seconds_between(self.own(task, lease.since), store.now()) > lease.seconds + margin

    def on_own(self, task: str, verification: Verification) -> Verification:
        """Return the task with the times that limits are counted from as this machine has them."""
        if not self._is_shared:
            return verification
        check, failures = verification.check, verification.failures
        return replace(
            verification,
            began_at=self.own(task, verification.began_at),
            check=None if check is None else replace(check, ended_at=self.own(task, check.ended_at)),
            failures=(*failures[:-1], *(replace(each, at=self.own(task, each.at)) for each in failures[-1:])),
        )

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            found: dict[str, dict[str, str]] = json.loads(self._file.read_bytes())
            for times in found.values():
                for at, first in times.items():
                    seconds_between(at, first)
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return {}
        return found

    def _write(self) -> None:
        # Where it can't be kept, every look is the first one, and no task is taken from a worker.
        with contextlib.suppress(StorageError):
            make_folder(REAL, self._file.parent)
            write_atomically(REAL, self._file, json.dumps(self._seen, separators=(",", ":")).encode(), durable=False)
