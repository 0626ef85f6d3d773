"""The ledger: an append-only, hash-chained log of all events.

Each line is a JSON object: `seq, at, kind, data, prev, hash`. A transaction is one or more lines. All but the last have
`more`; the last has `state`, the digest of the state after it. So the lines of an interrupted transaction can be
recognized and cut off, and a state file that was edited by hand does not match its digest in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from json import dumps, loads

from phase_gate.bound import sha256
from phase_gate.errors import TamperedError
from phase_gate.gate.state import Event
from phase_gate.values import Value

#: The value of `prev` in the first line.
GENESIS = "0" * 64

REPAIR = "phase-gate audit shows the damage; phase-gate audit --repair keeps a copy and continues at the last good line"


class Line(Value):
    seq: int
    event: Event
    prev: str
    hash: str
    #: Not the last line of its transaction.
    more: bool = False
    #: Digest of the state after the transaction, in its last line.
    state: str | None = None
    #: Byte offsets of the line in the file.
    start: int = 0
    end: int = 0


def canonical(document: object) -> bytes:
    """Return the canonical form of a JSON document, which digests are made from."""
    return dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def digest(document: object, key: bytes | None = None) -> str:
    """Return SHA-256 of the canonical form, or HMAC-SHA-256 with a key."""
    return _digest_of(canonical(document), key)


def _digest_of(data: bytes, key: bytes | None) -> str:
    if key is None:
        return sha256(data).hexdigest()
    import hmac  # here: most ledgers have no key

    return hmac.new(key, data, "sha256").hexdigest()


def encode_transaction(
    events: Iterable[Event], *, seq: int, prev: str, state_digest: str, key: bytes | None
) -> tuple[bytes, Line]:
    """Return the lines of one transaction as bytes, and its last line."""
    events = list(events)
    out, start = bytearray(), 0
    for number, event in enumerate(events, start=seq):
        is_last = number == seq + len(events) - 1
        ending = {"state": state_digest} if is_last else {"more": True}
        body = {"seq": number, "at": event.at, "kind": event.kind, "data": event.data, "prev": prev, **ending}
        start, before, prev = len(out), prev, digest(body, key)
        out += canonical({**body, "hash": prev}) + b"\n"
    return bytes(out), Line(
        seq=number, event=event, prev=before, hash=prev, state=state_digest, start=start, end=len(out)
    )


def parse_line(raw: bytes, *, start: int = 0, key: bytes | None = None) -> Line:
    """Parse one line. Raises ValueError if it is not a ledger line or its hash is wrong."""
    try:
        document = loads(raw)
        written = document.pop("hash")
        # Removing the hash gives the bytes that were hashed, with unknown fields and all.
        member = f'"hash":"{written}",'.encode()
        if raw.count(member) != 1 or written != _digest_of(raw.replace(member, b""), key):
            raise ValueError("its hash is wrong")
        event = Event(kind=document["kind"], data=document["data"], at=document["at"])
        return Line(
            seq=document["seq"],
            event=event,
            prev=document["prev"],
            hash=written,
            more=document.get("more", False),
            state=document.get("state"),
            start=start,
            end=start + len(raw) + 1,
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("it is not a ledger line") from error


def read_chain(
    rows: Iterable[bytes],
    *,
    key: bytes | None = None,
    after: tuple[int, str] = (0, GENESIS),
    name: str = "ledger.jsonl",
) -> Iterator[Line]:
    """Yield the lines of a ledger in order. Raises TamperedError at the first one that breaks the chain.

    An interrupted write may have left garbage at the end, even with line breaks. It is not yielded; the caller notices
    that the file is longer than the last line's `end`.

    :param after: the number and the hash of the preceding line.
    """
    (seq, prev), start = after, 0
    rows = iter(rows)
    for number, raw in enumerate(rows, start=1):
        if not raw.endswith(b"\n"):
            return
        try:
            line = parse_line(raw[:-1], start=start, key=key)
        except ValueError as error:
            if any(map(_is_written, (raw, *rows))):
                raise _broken(name, number, str(error)) from error
            return
        if (line.seq, line.prev) != (seq + 1, prev):
            raise _broken(name, number, "it does not follow the line before it")
        yield line
        prev, seq, start = line.hash, line.seq, line.end


def _is_written(raw: bytes) -> bool:
    """Return whether these bytes were written as a line: complete JSON is no accident."""
    try:
        return isinstance(loads(raw), dict)
    except (ValueError, RecursionError):
        return False


def _broken(name: str, number: int, problem: str) -> TamperedError:
    return TamperedError(f"{name}:{number}: {problem}", remedy=REPAIR)
