"""Take out of a state folder what only says where and when it was made, with every hash made anew."""

from __future__ import annotations

import itertools
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phase_gate.gate.codec import state_to_json
from phase_gate.gate.events import apply
from phase_gate.gate.state import NEW_STATE, SCHEMA, Event
from phase_gate.hashing import sha256
from phase_gate.storage.ledger import GENESIS, digest, encode_transaction, read_chain

#: Fields that say something about a machine, and what stands there instead.
FIELDS: Mapping[str, object] = {
    "host": "host",
    "user": "dev",
    "root": "project",
    "pid": 1,
    "surroundings": "a system; Python; packages",
    "python": "3",
    "pytest": "9",
    "duration_s": 0.5,
    "seconds": 0.5,
}
_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
_OBJECT = re.compile(r"\b[0-9a-f]{64}\b")


class Neutral:
    """The folder of one task."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder, self._root = folder, str(root)
        #: Objects by the name that they had: the new one, and what is in it.
        self._renamed: dict[str, str] = {}
        self._objects: dict[str, bytes] = {}
        self._ids: dict[str, str] = {}
        self._numbers = itertools.count(1)
        #: The time of the transaction that is written.
        self._at = ""

    def write(self, target: Path) -> None:
        """Write the folder anew, there."""
        (target / "objects").mkdir(parents=True)
        rows = (self._folder / "ledger.jsonl").read_bytes().splitlines(keepends=True)
        state, seq, prev, out, waiting = NEW_STATE, 1, GENESIS, bytearray(), list[Event]()
        last = 0
        for line in read_chain(rows):
            if not waiting:
                self._at = f"2026-01-01T00:{seq // 60:02}:{seq % 60:02}.000Z"
            waiting.append(Event(kind=line.event.kind, data=self._clean(line.event.data), at=self._at))
            state = apply(state, waiting[-1])
            if not line.more:
                told = digest(state_to_json(state))
                data, end = encode_transaction(waiting, seq=seq, prev=prev, state_digest=told, key=None)
                last = len(out) + end.start
                out += data
                seq, prev, waiting = end.seq + 1, end.hash, []
        (target / "ledger.jsonl").write_bytes(out)
        first = json.loads(out.splitlines()[0])["data"]
        stored = {
            "schema": SCHEMA,
            "lineage": first["lineage"],
            "serial": seq - 1,
            "head": prev,
            "key_check": None,
            "ledger": {"last": last, "size": len(out), "mtime_ns": 0, "ctime_ns": 0, "inode": 0},
            "state": state_to_json(state),
        }
        (target / "state.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        for name, new in self._renamed.items():
            (target / "objects" / f"{new}.z").write_bytes(zlib.compress(self._objects[name], 9))

    def _clean(self, value: Any, name: str = "") -> Any:
        if name in FIELDS and type(value) is type(FIELDS[name]):
            return FIELDS[name]
        if isinstance(value, dict):
            return {self._text(key): self._clean(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [self._clean(each) for each in value]
        if isinstance(value, str):
            return self._identity(value) if name in ("run", "lineage", "id") and value else self._text(value)
        return value

    def _text(self, text: str) -> str:
        text = _TIME.sub(self._at, text.replace(self._root, "project"))
        return _OBJECT.sub(lambda found: self._object(found[0]), text)

    def _identity(self, text: str) -> str:
        if text not in self._ids:
            number = next(self._numbers)
            self._ids[text] = f"{number:0{len(text)}x}" if re.fullmatch("[0-9a-f]{16,}", text) else self._text(text)
        return self._ids[text]

    def _object(self, name: str) -> str:
        """Return the name of an object after it was cleaned; of what is no object, the name itself."""
        path = self._folder / "objects" / f"{name}.z"
        if not path.exists():
            return name
        if name not in self._renamed:
            document = self._clean(json.loads(zlib.decompress(path.read_bytes())))
            data = json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")
            self._objects[name] = data
            self._renamed[name] = sha256(data).hexdigest()
        return self._renamed[name]
