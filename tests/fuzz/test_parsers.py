"""Only our own errors come out of a parser, and soon, whatever goes in."""

from __future__ import annotations

import re
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from phase_gate.errors import TamperedError
from phase_gate.storage.files import REAL
from phase_gate.storage.objects import MAX_SIZE, ObjectStore
from tests.fuzz import stored  # noqa: F401  # adds its rows
from tests.fuzz.parsers import PARSERS
from tests.sweeps import IS_WHOLE

#: What parsers stumble over, in addition to random bytes.
ODD = (
    *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\r", b"\n", b"\t"),
    *(b"null", b"true", b"-1", b"1e999", b"NaN", b"-Infinity", b"9" * 5000, b"0.1", b'""', b"[]", b"{}"),
    *(b"&a", b"*a", b"<<: *a", b"!!python/object:os.system", b"%YAML 9.9", b"---\n", b"? ", b"| ", b"'", b'"', b": "),
    *(b"(" * 50, b"[" * 60, b"{" * 60, b"NOT " * 50, b'{"a":' * 60, b"AND", b"in [", b"==", b"---END"),
)
_TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")


@st.composite
def damaged(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """Return a valid document after one to four changes."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = start + draw(st.sampled_from([0, 1, 1, 2, 5, 20, 200]))
        part = draw(st.sampled_from([b"", data[start:end] * 2]) | st.sampled_from(ODD) | st.binary(max_size=6))
        data = data[:start] + part + data[end:]
    return data


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PARSERS)
@settings(
    max_examples=600 if IS_WHOLE else 60,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_only_our_own_errors_come_out(name: str, data: st.DataObject) -> None:
    texts = st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass"))
    damages = damaged(PARSERS[name].seeds)
    PARSERS[name](data.draw(damages | damages | damages | texts | st.binary(max_size=80)))


@pytest.mark.parametrize("name", PARSERS)
def test_the_seeds_are_valid(name: str) -> None:
    """If seeds were refused, what is made from them would not get far."""
    for seed in PARSERS[name].seeds:
        if name in ("forged-ledger", "ledger", "stored-object"):  # refused by design, at the very end
            PARSERS[name](seed)
        else:
            PARSERS[name].read(seed)


SHAPES = {
    "deep lists": b"[" * 100_000,
    "deep mappings": b'{"a":' * 100_000,
    "deep pairs": b"[" * 900 + b"]" * 900,
    "deep parentheses": b"(" * 9_000,
    "negations": b"NOT " * 2_400,
    "a long number": b"9" * 100_000,
    "a long line": b"x" * 2_000_000,
    "lines": b"\n" * 500_000,
    "keys": b"".join(b"k%d: v\n" % number for number in range(20_000)),
    "an alias bomb": b"a: &a [x]\n" + b"".join(b"%c: &%c [*a, *a, *a]\n" % (n, n) for n in range(98, 110)),
    "lone surrogates": b"\xed\xa0\x80" * 1_000,
    "comments": b"-->" + b"<!--" * 200_000,
    "fences": b"```\n" * 100_000,
    "a wide heading": b"# a" + b" " * 500_000 + b"b",
    "diagrams": b"::: mermaid\n" * 20_000,
    "directives": b'%%{ /* /\' """ accDescr { ' * 20_000,
    "arguments": b"C4Context\nPerson(" + b"a," * 20_000 + b")",
}


def grow(seeds: tuple[bytes, ...], size: int) -> Iterator[tuple[str, bytes]]:
    """Yield large inputs: general shapes, and what the seeds are made of, repeated and stretched in its place."""
    yield from SHAPES.items()
    seen: set[bytes] = set()
    for seed in seeds:
        yield f"{seed[:20]!r}, repeated", seed * (size // len(seed) + 1)
        for found in _TOKEN.finditer(seed[:2_000]):
            part = found[0]
            if part not in seen:
                seen.add(part)
                stretched = part * (size // len(part) + 1)
                yield f"{part!r}, stretched", seed[: found.start()] + stretched + seed[found.end() :]
                yield f"{part!r}, alone", stretched


@pytest.mark.sampled(3)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", PARSERS)
def test_large_input_ends_soon(name: str) -> None:
    """The suite tries every 20th input at a tenth of the size."""
    rows = list(grow(PARSERS[name].seeds, size=200_000 if IS_WHOLE else 20_000))
    assert len(rows) > len(SHAPES)
    for row, data in rows if IS_WHOLE else rows[sorted(PARSERS).index(name) % 20 :: 20]:
        try:
            PARSERS[name](data)
        except Exception as error:
            raise AssertionError(row) from error


def test_patterns_do_not_try_every_start() -> None:
    PARSERS["output"](b"==== 5 passed, " + b"1" * 200_000 + b" skipped in 0.1s ====\n")
    PARSERS["criteria-markdown"](b"- AC-1 a" + b" " * 200_000 + b"x\n")


#: Deep enough for one reader and too deep for the next; and numbers that are none.
_NESTED = [b"[" * depth + b"]" * depth for depth in (200, 480, 700, 900, 990, 100_000)]
_NUMBERS = [b"1e999", b"NaN", b"9" * 400 + b".5"]


@pytest.mark.parametrize("name", ["ledger", "forged-ledger", "state", "tree-cache"])
def test_odd_values_in_a_valid_place(name: str) -> None:
    for seed in PARSERS[name].seeds:
        for nested in _NESTED:
            for place in (b"null", b"{}", b"[]", b"true", b"1"):
                PARSERS[name](seed.replace(place, nested, 1))
        for found in re.finditer(rb"\b\d+(?:\.\d+)?\b", seed):
            for number in _NUMBERS:
                PARSERS[name](seed[: found.start()] + number + seed[found.end() :])


def test_an_object_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    """A few kilobytes that would fill the memory."""
    packer = zlib.compressobj(1)
    bomb = b"".join(packer.compress(b"\0" * (1 << 20)) for _ in range(256)) + packer.flush()
    assert len(bomb) < 2 << 20
    (tmp_path / f"{'0' * 64}.z").write_bytes(bomb)
    tracemalloc.start()
    try:
        with pytest.raises(TamperedError, match="is damaged"):
            ObjectStore(tmp_path, REAL).load("0" * 64)
        assert tracemalloc.get_traced_memory()[1] < 3 * MAX_SIZE
    finally:
        tracemalloc.stop()
