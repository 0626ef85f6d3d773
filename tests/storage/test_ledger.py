"""The chain of the ledger: what it holds together, and what breaks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase_gate.errors import TamperedError
from phase_gate.gate.state import Event
from phase_gate.storage.ledger import (
    GENESIS,
    Line,
    canonical,
    digest,
    encode_transaction,
    parse_line,
    read_chain,
)

KEY = b"a key that is kept elsewhere"

AT = "2026-01-01T00:00:00.000Z"


def transaction(
    *names: str, seq: int = 1, prev: str = GENESIS, key: bytes | None = None, state: str = "s"
) -> tuple[list[bytes], Line]:
    events = [Event(kind="noted", data={"name": name}, at=AT) for name in names]
    data, last = encode_transaction(events, seq=seq, prev=prev, state_digest=state, key=key)
    return data.splitlines(keepends=True), last


def ledger(count: int = 5, *, key: bytes | None = None) -> list[bytes]:
    """Return a ledger of one-line transactions."""
    lines: list[bytes] = []
    prev = GENESIS
    for seq in range(1, count + 1):
        written, last = transaction(f"event-{seq}", seq=seq, prev=prev, key=key)
        lines += written
        prev = last.hash
    return lines


def names(lines: list[bytes], *, key: bytes | None = None) -> list[str]:
    return [line.event.data["name"] for line in read_chain(lines, key=key)]


def rehash(raw: bytes, *, key: bytes | None = None, **changes: Any) -> bytes:
    """Change fields of a line and give it a hash that fits."""
    document = json.loads(raw)
    del document["hash"]
    document |= changes
    return canonical({**document, "hash": digest(document, key)}) + b"\n"


# --- what is written


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@settings(deadline=None)
@given(st.dictionaries(st.text(), VALUES | st.lists(VALUES, max_size=3), max_size=4))
def test_whatever_json_an_event_carries_comes_back(data: dict[str, Any]) -> None:
    event = Event(kind="noted", data=data, at=AT)
    written, _ = encode_transaction([event], seq=1, prev=GENESIS, state_digest="", key=None)
    assert [line.event for line in read_chain([written])] == [event]


# --- what was tampered with

Tampering = Callable[[list[bytes]], list[bytes]]

TAMPERED: dict[str, tuple[int, str, Tampering]] = {
    "a-value-changed": (
        3,
        "its hash is wrong",
        lambda lines: [*lines[:2], lines[2].replace(b"event-3", b"event-9"), *lines[3:]],
    ),
    "a-value-changed-and-rehashed": (
        4,
        "it does not follow the line before it",
        lambda lines: [*lines[:2], rehash(lines[2], data={"name": "event-9"}), *lines[3:]],
    ),
    "the-first-line-removed": (1, "it does not follow", lambda lines: lines[1:]),
    "a-line-appended": (6, "it does not follow", lambda lines: [*lines, lines[4]]),
    "an-empty-line-between": (3, "", lambda lines: [*lines[:2], b"\n", *lines[2:]]),
    "binary": (1, "", lambda lines: [b"\x00\xff\xfe\n", *lines]),
    "other-json": (1, "it is not a ledger line", lambda lines: [b"[1, 2]\n", *lines]),
}


@pytest.mark.parametrize(("number", "problem", "tamper"), TAMPERED.values(), ids=TAMPERED)
def test_tampering_is_noticed_at_its_line(number: int, problem: str, tamper: Tampering) -> None:
    with pytest.raises(TamperedError) as caught:
        names(tamper(ledger()))
    assert caught.value.problem.startswith(f"ledger.jsonl:{number}: {problem}")
    assert "phase-gate audit --repair" in caught.value.remedy
    assert (caught.value.slug, caught.value.exit_code) == ("state-tampered", 11)


# --- the key


def test_without_the_key_nobody_makes_a_hash_that_fits() -> None:
    lines = ledger(key=KEY)
    with pytest.raises(TamperedError, match="its hash is wrong"):
        names([*lines[:4], rehash(lines[4], data={"name": "forged"})], key=KEY)
    assert names([*lines[:4], rehash(lines[4], key=KEY, data={"name": "by the owner"})], key=KEY)[-1] == "by the owner"


@pytest.mark.parametrize("key", [None, b"kept elsewhere"])
def test_the_hash_counts_once_and_in_its_place(key: bytes | None) -> None:
    """A hash that has moved into the data leaves none in its place, and a line is as it was written."""
    event = Event(kind="note", data={"hash": "0" * 64, "more": {"a": 1}}, at="now")
    raw, line = encode_transaction([event], seq=1, prev=GENESIS, state_digest="s", key=key)
    raw = raw.removesuffix(b"\n")
    assert parse_line(raw, key=key).event == event
    member = f'"hash":"{line.hash}",'.encode()
    bare = raw.replace(member, b"")
    for wrong in (
        bare.replace(b'"more":{', b'"more":{' + member),
        raw.replace(member, member * 2),
        raw.replace(b'"a":1', b'"a":1,"b":2'),
        json.dumps(json.loads(raw)).encode(),
    ):
        with pytest.raises(ValueError):
            parse_line(wrong, key=key)
