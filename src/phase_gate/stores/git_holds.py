"""The leases of this process's runs: pushed with a transaction, renewed by a thread, removed with the run's end."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Mapping

from phase_gate.errors import PhaseGateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.storage.tree.own_repository import Answer
    from phase_gate.stores.git_objects import OwnRepository

    #: By their names: the value that a ref is expected to have, None for any, and the one that it gets; empty: none.
    Changes = Mapping[str, tuple[str | None, str]]

#: Kinds of lines that tell of a run's end: its lease goes with them.
_ENDS = frozenset({"run-ended", "run-lost", "verify-ran"})


class RunLease:
    """One run that lives."""

    def __init__(self, holds: Holds, task: str, name: str, ref: str, value: str, expected: str) -> None:
        self.task, self.name, self.ref, self.value, self.expected = task, name, ref, value, expected
        self.is_pushed = False
        self._holds = holds

    def release(self) -> None:
        self._holds.remove(self)


class Holds:
    def __init__(self, own: OwnRepository, push: Callable[[Changes], Answer], renewal: float) -> None:
        """Keep the leases of one store.

        :param push: pushes refs.
        :param renewal: seconds between two renewals.
        """
        self._own, self._push, self._renewal = own, push, renewal
        self._leases: list[RunLease] = []
        self._lock = threading.Lock()
        #: Held while one is renewed or removed: never both at once.
        self._pushing = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def add(self, task: str, name: str, ref: str, *, expected: str) -> RunLease:
        lease = RunLease(self, task, name, ref, self._new_value(), expected)
        with self._lock:
            self._leases.append(lease)
        return lease

    def begun(self, task: str) -> Changes:
        """Return what is to be pushed for runs that have just begun."""
        with self._lock:
            return {
                each.ref: (each.expected, each.value)
                for each in self._leases
                if each.task == task and not each.is_pushed
            }

    def over(self, task: str, ended: frozenset[str]) -> Changes:
        """Return what is to be removed of the leases of runs that have ended."""
        with self._lock:
            return {
                each.ref: (None, "")
                for each in self._leases
                if each.task == task and each.is_pushed and each.name in ended
            }

    def note_pushed(self, begun: Changes, over: Changes) -> None:
        """Take note of what the server has by now."""
        with self._lock:
            for each in self._leases:
                each.is_pushed = each.is_pushed or each.ref in begun
            self._leases = [each for each in self._leases if each.ref not in over]
            if begun and self._thread is None:
                self._thread = threading.Thread(target=self._renew_all, name="phase-gate lease", daemon=True)
                self._thread.start()

    def remove(self, lease: RunLease) -> None:
        """Say that a run has ended; at once, where no transaction has said so."""
        if os.getpid() != self._process:
            return  # a forked child: the run is its parent's
        with self._lock:
            if lease not in self._leases:
                return
            self._leases.remove(lease)
            if not self._leases:
                self._wake.set()
        if lease.is_pushed:
            # It has ended in any case: where this fails, the others see that it is not renewed.
            with self._pushing, contextlib.suppress(PhaseGateError):
                self._push({lease.ref: (None, "")})

    def _renew_all(self) -> None:
        while True:
            self._wake.wait(self._renewal)
            with self._lock:
                self._wake.clear()
                if not self._leases:
                    self._thread = None
                    return
                leases = [each for each in self._leases if each.is_pushed]
            for lease in leases:
                # A server that can't be asked now is asked again the next time: a lease outlasts that.
                with self._pushing, contextlib.suppress(PhaseGateError, OSError):
                    self._renew(lease)

    def _renew(self, lease: RunLease) -> None:
        with self._lock:
            if lease not in self._leases:
                return
        # Whatever stands there: the answer of the last renewal may have been lost.
        self._push({lease.ref: (None, self._new_value())})

    def _new_value(self) -> str:
        return self._own.write_mark(os.urandom(16).hex())


def find_ended(rows: bytes) -> frozenset[str]:
    """Return the runs that these lines tell the end of."""
    found: set[str] = set()
    for row in rows.splitlines():
        line = json.loads(row)
        if line.get("kind") in _ENDS:
            data = line["data"]
            found.add(str(data["check"]["id"] if "check" in data else data["run"]))
    return frozenset(found)
