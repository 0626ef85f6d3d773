"""`python -m tests.stores.writing`: one machine that adds to a task on a shared store, and says what was acknowledged.

Each change reads a number and writes the next one, signed with a word of its own: so the ledger itself tells whether
one was lost, added twice, or judged on what was no longer true.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from phase_gate.errors import StorageError, StoreBusyError, StoreUnreachableError
from phase_gate.gate.state import Event
from phase_gate.storage import store as task_stores
from phase_gate.storage.store import TaskStore
from phase_gate.stores.address import parse_address
from phase_gate.stores.choosing import open_address
from phase_gate.stores.shared import SharedStore, again_if_moved
from phase_gate.stores.task_store import SharedTaskStore

#: What the machines count.
COUNTED = "updates"


def open_shared(folder: Path) -> SharedStore:
    """Return the store that the environment names."""
    return open_address(parse_address(os.environ["PHASE_GATE_STORE"]), folder, os.environ)


def open_task(folder: Path, task: str = "default") -> TaskStore:
    state = folder / ".phase-gate"
    return SharedTaskStore(open_shared(state), state / task, task=task, state_folder=state, command="writing")


def add_one(store: TaskStore, by: str) -> int:
    """Write the next number, signed; return it."""

    @again_if_moved
    def add() -> int:
        with store.transaction() as change:
            value = next((fact.value for fact in change.state.facts), 0)
            assert isinstance(value, int)
            data = {"name": COUNTED, "value": value + 1, "reason": "one more", "by": by}
            change.record(Event(kind="fact-declared", data=data))
        return value + 1

    return add()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", default="writer")
    parser.add_argument("--changes", type=int, default=1)
    parser.add_argument("--clock", type=float, default=0.0, help="seconds that this machine's clock is wrong by")
    parser.add_argument("--patient", action="store_true", help="goes on when the store does not answer")
    arguments = parser.parse_args()
    if arguments.clock:
        _set_clock(arguments.clock)
    print("ready", flush=True)
    sys.stdin.readline()
    store = open_task(arguments.folder)
    done = tried = 0
    while done < arguments.changes:
        tried += 1
        by = f"{arguments.name}-{tried}"
        try:
            add_one(store, by)
        except StoreBusyError:
            print(f"busy {by}", flush=True)
        except (StoreUnreachableError, StorageError) as error:
            print(f"unknown {by} {error.problem}", flush=True)
            if not arguments.patient:
                return 1
            time.sleep(0.1)
        else:
            done += 1
            print(f"added {by}", flush=True)
    return 0


def _set_clock(seconds: float) -> None:
    """Let all of this process's clocks be wrong: what the ledger writes, and what ages go by."""
    real, offset = time.time, timedelta(seconds=seconds)
    time.time = lambda: real() + seconds

    def now() -> str:
        return (datetime.now(UTC) + offset).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    task_stores.now = now


class Found:
    """What a ledger has in the end, beside what was acknowledged."""

    def __init__(self, rows: bytes, said: Iterable[str]) -> None:
        events: list[dict[str, Any]] = [json.loads(row) for row in rows.splitlines()]
        counted = [event["data"] for event in events if event["kind"] == "fact-declared"]
        self.events, self.values = events, [each["value"] for each in counted]
        signed = Counter(str(each["by"]) for each in counted)
        words = [line.split() for line in said]
        self.acknowledged = [word[1] for word in words if word[0] == "added"]
        self.unknown = [word[1] for word in words if word[0] == "unknown"]
        self.busy = sum(word[0] == "busy" for word in words)
        self.lost = [by for by in self.acknowledged if by not in signed]
        self.doubled = [by for by, times in signed.items() if times > 1]
        #: Neither said to be there, nor that it was not known: nobody wrote it.
        self.strange = [by for by in signed if by not in {*self.acknowledged, *self.unknown}]
        self.came_unknown = sum(by in signed for by in self.unknown)

    def check(self, *, killed: bool = False) -> None:
        """Nothing acknowledged is lost, nothing is there twice, and each judged on what was true."""
        assert (self.lost, self.doubled) == ([], [])
        # A machine that was killed could not say what it knew.
        assert killed or self.strange == []
        assert self.values == list(range(1, len(self.values) + 1))
        assert [event["seq"] for event in self.events] == list(range(1, len(self.events) + 1))

    def __str__(self) -> str:
        unknown = f", {len(self.unknown)} without an answer ({self.came_unknown} of them there)" if self.unknown else ""
        busy = f", {self.busy} gave up and tried again" if self.busy else ""
        return (
            f"{len(self.acknowledged)} acknowledged{unknown}{busy}; lost {len(self.lost)}, doubled {len(self.doubled)}"
        )


if __name__ == "__main__":
    raise SystemExit(main())
