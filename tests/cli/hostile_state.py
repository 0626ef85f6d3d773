"""A state folder from a stranger: its hashes are right, and every text in it that may be anything is a hostile one.

Made from a folder with an honest story: all texts are changed but those that a reader of the ledger has to understand.
"""

from __future__ import annotations

import json
import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from phase_gate.gate.state import Event
from phase_gate.storage.files import REAL
from phase_gate.storage.ledger import GENESIS, encode_transaction, parse_line
from phase_gate.storage.objects import ObjectStore

#: Stands where a line of ours would, if a line end got through.
FORGED = "FORGED"
#: Short enough for the name of a file, and without a NUL, which no path may have.
HOSTILE = (
    "\x1b[2J\x1b]0;x\x07\r\x08\x9b2J\x85\x7f\u202e\u2066\u200b\u200d\u2028\ufeff\U000e0041\udc9b"
    "\n::error::x\n::set-output name=x::\n##[error]\n##vso[task.complete] ##teamcity[x]"
    f"\r\n::warning::x\n{FORGED} \n  {FORGED}\n"
)

Poison = Callable[[str, str], str]
_DIGEST = re.compile(r"[0-9a-f]{64}")


def poison_folder(folder: Path, poison: Poison) -> None:
    """Rewrite the ledger and the objects of a task's folder; the state is folded anew from them.

    :param poison: what to make of a text; it is called with its place, as `evaluated.evaluation.reason`.
    """
    objects = {path.stem: json.loads(zlib.decompress(path.read_bytes())) for path in folder.glob("objects/*.z")}
    store = ObjectStore(folder / "objects", REAL)
    kept: dict[str, str] = {}

    def change(value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return {_key(key, place): change(each, f"{place}.{key}") for key, each in value.items()}
        if isinstance(value, list):
            return [change(each, place) for each in value]
        if not isinstance(value, str):
            return value
        if value in objects and _DIGEST.fullmatch(value):
            if value not in kept:
                kept[value] = store.keep(change(objects[value], f"({place.rpartition('.')[2]})"))
            return kept[value]
        return poison(place, value)

    def _key(key: str, place: str) -> str:
        # A test, a file: not a word of ours.
        return poison(f"{place}.*", key) if re.search("[/.:]|^AC-", key) else key

    out, seq, prev = bytearray(), 0, GENESIS
    for raw in (folder / "ledger.jsonl").read_bytes().splitlines(keepends=True):
        event = parse_line(raw[:-1]).event
        data = event.data if event.kind == "created" else change(dict(event.data), event.kind)
        made, line = encode_transaction(
            [Event(kind=event.kind, data=data, at=event.at)], seq=seq + 1, prev=prev, state_digest="", key=None
        )
        out, seq, prev = out + made, line.seq, line.hash
    (folder / "ledger.jsonl").write_bytes(bytes(out))
    (folder / "state.json").unlink()
    shutil.rmtree(folder / "cache", ignore_errors=True)
