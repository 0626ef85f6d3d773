"""`python -m tests.stores.writing`: one machine that adds to a task on a shared store, and says what was acknowledged.

Each change reads a number and writes the next one, signed with a word of its own: so the ledger itself tells whether
one was lost, added twice, or judged on what was no longer true.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from phase_gate.errors import StorageError
from phase_gate.gate.state import Event
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.opening import Place
from phase_gate.stores.choosing import open_address, parse_address
from phase_gate.stores.task_store import SharedTaskStore


def open_task(folder: Path) -> SharedTaskStore:
    """Return the task on the store that the environment names."""
    state = folder / ".phase-gate"
    shared = open_address(parse_address(os.environ["PHASE_GATE_STORE"]), state, os.environ)
    return SharedTaskStore(shared, Place(state / "default", "default", state_folder=state, command="writing"))


@again_if_moved
def add_one(store: SharedTaskStore, by: str) -> int:
    """Write the next number, signed; return it."""
    with store.transaction() as change:
        value = next((fact.value for fact in change.state.facts), 0)
        assert isinstance(value, int)
        data = {"name": "updates", "value": value + 1, "reason": "one more", "by": by}
        change.record(Event(kind="fact-declared", data=data))
    return value + 1


def main(folder: str, name: str, changes: str) -> int:
    """Add so many; a store that does not answer is asked again, by another name."""
    print("ready", flush=True)
    sys.stdin.readline()
    store = open_task(Path(folder))
    done = tried = 0
    while done < int(changes):
        tried += 1
        by = f"{name}-{tried}"
        try:
            add_one(store, by)
        except StorageError as error:
            if error.slug == "store-busy":
                print(f"busy {by}", flush=True)
                continue
            print(f"unknown {by} {error.slug}", flush=True)
            time.sleep(0.1)
        else:
            done += 1
            print(f"added {by}", flush=True)
    return 0


class Found:
    """What a ledger has in the end, beside what was acknowledged."""

    def __init__(self, rows: bytes, said: Iterable[str]) -> None:
        self.events = [json.loads(row) for row in rows.splitlines()]
        counted = [event["data"] for event in self.events if event["kind"] == "fact-declared"]
        self.values = [each["value"] for each in counted]
        signed = Counter(str(each["by"]) for each in counted)
        words = [line.split() for line in said]
        self.acknowledged = [word[1] for word in words if word[0] == "added"]
        self.unknown = [word[1] for word in words if word[0] == "unknown"]
        self.lost = [by for by in self.acknowledged if by not in signed]
        self.doubled = [by for by, times in signed.items() if times > 1]
        #: Neither said to be there, nor that it was not known.
        self.strange = [by for by in signed if by not in {*self.acknowledged, *self.unknown}]

    def check(self, *, killed: bool = False) -> Found:
        """Nothing acknowledged is lost, nothing is there twice, and each judged on what was true."""
        assert (self.lost, self.doubled) == ([], [])
        # A machine that was killed could not say what it knew.
        assert killed or self.strange == []
        assert self.values == list(range(1, len(self.values) + 1))
        assert [event["seq"] for event in self.events] == list(range(1, len(self.events) + 1))
        return self

    def __str__(self) -> str:
        unknown = f", {len(self.unknown)} without an answer" if self.unknown else ""
        return f"{len(self.acknowledged)} acknowledged{unknown}; lost {len(self.lost)}, doubled {len(self.doubled)}"


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
