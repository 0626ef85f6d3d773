"""The parsers of what is stored: ledger, state, memory, caches and objects. Rows of the same table."""

from __future__ import annotations

import functools
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

from phase_gate.codec import to_json
from phase_gate.errors import TamperedError
from phase_gate.gate.state import Event
from phase_gate.storage.files import REAL
from phase_gate.storage.fingerprint import Contents
from phase_gate.storage.ledger import GENESIS, encode_transaction
from phase_gate.storage.objects import ObjectStore
from phase_gate.storage.opening import Place
from phase_gate.storage.store import TaskStore
from tests.fuzz.parsers import parser, temporary, write
from tests.gate.verdicts import verdict


def forge(events: list[tuple[str, Any]]) -> bytes:
    """Return a ledger whose hashes are right: they need no key, so a forger can compute them."""
    out, seq, prev = bytearray(), 0, GENESIS
    for kind, data in [("created", {"task": "default", "lineage": "0" * 32, "key_check": None}), *events]:
        event = Event(kind=kind, data=data, at="2026-01-01T00:00:00.000Z")
        raw, line = encode_transaction([event], seq=seq + 1, prev=prev, state_digest="", key=None)
        out, seq, prev = out + raw, line.seq, line.hash
    return bytes(out)


_RUN: dict[str, Any] = {
    "run": "r",
    "phase": "GREEN",
    "tree": "t",
    "rules": None,
    "arguments": [],
    "python": "3",
    "pytest": "9",
}
_ENDED = {"run": "r", "kind": "complete", "green": "green", "tree": "t", "iteration": 1, "metrics": {"a": 1}}
EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("cycle-began", {"workflow": "tdd", "cycle": 1, "baseline": None, "run": "r"}),
    ("phase-entered", {"phase": "GREEN", "how": "begin", "run": "r"}),
    ("run-started", _RUN),
    ("run-ended", {**_ENDED, "inventory": None, "outcomes": None, "known": None, "findings": [], "exit_status": 0}),
    ("evaluated", {"evaluation": to_json(verdict(iteration=1, run="r", status="closed"))}),
    ("signal-spent", {"premature": False}),
    ("phase-exited", {"phase": "GREEN", "next": "REFACTOR", "freezes": True, "forced": False}),
    ("fact-declared", {"name": "f", "value": True, "reason": "r", "by": "b"}),
    ("waived", {"guard": "g", "findings": ["x"], "reason": "r", "by": "b", "expires": ""}),
    ("run-started", {**_RUN, "run": "s"}),
    ("run-lost", {"run": "s"}),
    ("repaired", {"kept_lines": 1}),
]


def _look(folder: Path) -> None:
    store = TaskStore(Place(folder, "default"))
    opened = store.read()
    list(store.lines())
    store.lost_runs(opened.state)
    store.check_objects(opened.state)


@parser(forge(EVENTS))
def ledger(data: bytes) -> None:
    _look(write("ledger/ledger.jsonl", data).parent)


@parser(json.dumps(EVENTS))
def forged_ledger(data: bytes) -> None:
    """Read a list of kinds and data, and write it down as a ledger; what is no such list is no test."""
    try:
        raw = forge([(kind, dict(values)) for kind, values in json.loads(data) if isinstance(kind, str)])
    except (ValueError, TypeError, RecursionError):
        return
    ledger(raw)


@functools.cache
def _recorded() -> tuple[bytes, bytes]:
    """Return the state and the ledger of a task that has been worked on."""
    store = TaskStore(Place(Path(temporary().name, "recorded"), "default"))
    for kind, data in EVENTS[:2]:
        with store.transaction() as change:
            change.record(Event(kind=kind, data=data))
    return store.state_file.read_bytes(), store.ledger_file.read_bytes()


@parser(_recorded()[0])
def state(data: bytes) -> None:
    write("state/ledger.jsonl", _recorded()[1])
    _look(write("state/state.json", data).parent)


@parser(f'{{"schema": 1, "written_ns": {2**62}, "files": {{"a.py": [6, 1, 2, 3, "{"0" * 64}"], "b.py": []}}}}')
def tree_cache(data: bytes) -> None:
    root = str(write("tree/a.py", b"A = 1\n").parent)
    assert Contents(root, write("tree/cache.json", data)).find("a.py") == Contents(root).find("a.py")


@parser(zlib.compress(b'{"files": {}}', 1))
def stored_object(data: bytes) -> None:
    """The content is anything, under its right name and under a wrong one."""
    try:
        plain = zlib.decompressobj().decompress(data, 1 << 20)
    except zlib.error:
        plain = data
    for name in (hashlib.sha256(plain).hexdigest(), "0" * 64):
        path = write(f"objects/{name}.z", data)
        try:
            ObjectStore(path.parent, REAL).load(name)
        except TamperedError:
            continue
        finally:
            path.unlink()
