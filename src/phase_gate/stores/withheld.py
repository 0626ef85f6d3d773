"""The store of a driven agent: the drive has one that no agent is given, and the folder's copy is only looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NoReturn

from phase_gate.errors import StoreUntrustedError
from phase_gate.storage.shared import Head, Tail


class WithheldStore:
    shown = "a store that agents are not given"

    def read(self, task: str, after: Head) -> Tail:
        # The drive keeps the copy up to date.
        return Tail(head=after)

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        self._refuse()

    def age(self, task: str, serial: int) -> float:
        return math.inf

    def list_tasks(self) -> tuple[str, ...]:
        return ()

    def wait(self, task: str, after: Head, seconds: float) -> bool:
        return False

    def _refuse(self) -> NoReturn:
        raise StoreUntrustedError(
            "this task is driven, and kept in a store that its agent is not given: nothing is recorded here",
            remedy="stop when you are done: phase-gate drive runs the tests, and records them",
        )
