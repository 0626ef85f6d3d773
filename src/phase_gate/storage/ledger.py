"""The ledger: an append-only, hash-chained record of everything that happened.

One JSON object a line: `seq, at, kind, data, prev, hash`. A transaction is one or more lines; all but its last carry
`more`, and its last carries `state`, the digest of the state after it. So a crash in the middle leaves lines that are
seen as unfinished and cut off, and a state file edited by hand does not match what the ledger vouches for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from json import dumps, loads

from phase_gate.errors import TamperedError
from phase_gate.gate.state import Event
from phase_gate.hashing import sha256
from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What stands in `prev` of the first line.
GENESIS = "0" * 64

REPAIR = "phase-gate audit shows the place; phase-gate audit --repair keeps a copy and goes on from the last good line"


class Line(Value):
    seq: int
    event: Event
    prev: str
    hash: str
    #: Not the last line of its transaction.
    more: bool = False
    #: Digest of the state after the transaction that this line ends.
    state: str | None = None
    #: Where the line begins and ends in the file.
    start: int = 0
    end: int = 0


def canonical(document: object) -> bytes:
    """Return the one form of a JSON document that digests are taken of."""
    return dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def digest(document: object, key: bytes | None = None) -> str:
    """Return SHA-256 of the canonical form, or HMAC-SHA-256 under the key."""
    return _digest_of(canonical(document), key)


def _digest_of(data: bytes, key: bytes | None) -> str:
    if key is None:
        return sha256(data).hexdigest()
    import hmac  # here: most ledgers have no key

    return hmac.new(key, data, "sha256").hexdigest()


def _is_same(written: object, expected: str, key: bytes | None) -> bool:
    """Tell whether a hash is the expected one; under a key, without telling by the time how much of it is right."""
    if not (isinstance(written, str) and written.isascii()):
        raise TypeError("a hash is a text")
    if key is None:
        return written == expected
    import hmac

    return hmac.compare_digest(written, expected)


def encode_transaction(
    events: Iterable[Event], *, seq: int, prev: str, state_digest: str, key: bytes | None
) -> tuple[bytes, Line]:
    """Return the lines of one transaction as bytes, and its last line."""
    events = list(events)
    out = bytearray()
    line: Line | None = None
    for index, event in enumerate(events):
        is_last = index == len(events) - 1
        body = _body(seq + index, event, prev, more=not is_last, state=state_digest if is_last else None)
        prev, before = digest(body, key), prev
        start = len(out)
        out += canonical({**body, "hash": prev}) + b"\n"
        line = Line(
            seq=seq + index,
            event=event,
            prev=before,
            hash=prev,
            more=not is_last,
            state=state_digest if is_last else None,
            start=start,
            end=len(out),
        )
    assert line is not None, "a transaction has at least one event"
    return bytes(out), line


def encode_line(line: Line) -> bytes:
    """Return a line as it stands in a ledger's file."""
    body = _body(line.seq, line.event, line.prev, more=line.more, state=line.state)
    return canonical({**body, "hash": line.hash}) + b"\n"


def _body(seq: int, event: Event, prev: str, *, more: bool, state: str | None) -> dict[str, Any]:
    body: dict[str, Any] = {"seq": seq, "at": event.at, "kind": event.kind, "data": event.data, "prev": prev}
    if more:
        body["more"] = True
    if state is not None:
        body["state"] = state
    return body


def parse_line(raw: bytes, *, start: int = 0, key: bytes | None = None) -> Line:
    """Return the line that these bytes are. Raises ValueError if they are none, or if its hash is wrong."""
    try:
        document = loads(raw)
        written = document.pop("hash")
        if not _is_vouched_for(raw, document, written, key):
            raise ValueError("its hash is wrong")
        event = Event(kind=document["kind"], data=document["data"], at=document["at"])
        texts = (event.kind, event.at, document["prev"])
        if not (all(isinstance(each, str) for each in texts) and isinstance(event.data, dict)):
            raise ValueError("a field has the wrong type")
        if not isinstance(document["seq"], int):
            raise ValueError("a field has the wrong type")
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


def _is_vouched_for(raw: bytes, document: object, written: str, key: bytes | None) -> bool:
    """Tell whether the hash is that of all the rest, unknown fields included."""
    # We write canonical lines: without the hash, the bytes are what it was taken of. To encode the document once more
    # would take as long as all the rest, and is only done for lines that were laid out anew.
    member = f'"hash":"{written}",'.encode()
    if raw.count(member) == 1 and _is_same(written, _digest_of(raw.replace(member, b""), key), key):
        return True
    return _is_same(written, digest(document, key), key)


def read_chain(
    chunks: Iterable[bytes],
    *,
    key: bytes | None = None,
    settled: int | None = None,
    after: tuple[int, str] = (0, GENESIS),
    name: str = "ledger.jsonl",
) -> Iterator[Line]:
    """Yield the lines of a ledger in order; raises TamperedError at the first that does not follow.

    A last line without its end is torn: it is not yielded, and the caller sees that the file goes on after the last
    line it got. So is what is no line at all behind `settled`: a write that a power failure cut short may have left
    anything there, with line ends in it.

    :param settled: how many bytes are known to have been written whole; None for all of them.
    :param after: the number and the hash of the line that comes before.
    """
    (seq, prev), start = after, 0
    for number, raw in enumerate(chunks, start=1):
        if not raw.endswith(b"\n"):
            return
        try:
            line = parse_line(raw[:-1], start=start, key=key)
        except ValueError as error:
            if settled is not None and start >= settled and not _is_written(raw):
                return
            raise _broken(name, number, str(error)) from error
        if line.seq != seq + 1:
            raise _broken(name, number, f"it is number {line.seq}, {seq + 1} should stand here")
        if line.prev != prev:
            raise _broken(name, number, "it does not follow the line before it")
        yield line
        prev, seq, start = line.hash, line.seq, line.end


def _is_written(raw: bytes) -> bool:
    """Tell whether these bytes were written as a line: whole JSON is no accident, even if it does not follow."""
    try:
        return isinstance(loads(raw), dict)
    except (ValueError, RecursionError):
        return False


def _broken(name: str, number: int, problem: str) -> TamperedError:
    return TamperedError(f"{name}:{number}: {problem}", remedy=REPAIR)
