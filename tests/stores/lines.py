"""Rows as a ledger has them, for stores that are asked directly: they look at nothing but number and hash."""

from __future__ import annotations

import json

from phase_gate.hashing import sha256
from phase_gate.stores.shared import Head


def row(after: Head, text: str) -> tuple[bytes, Head]:
    """Return a line behind that one, and what is the last one then."""
    serial = after.serial + 1
    found = sha256(f"{after.hash} {text}".encode()).hexdigest()
    return json.dumps({"seq": serial, "data": text, "prev": after.hash, "hash": found}).encode() + b"\n", Head(
        serial, found
    )


def rows(after: Head, *texts: str) -> tuple[bytes, Head]:
    data = b""
    for text in texts:
        added, after = row(after, text)
        data += added
    return data, after
