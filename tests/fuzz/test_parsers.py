"""Only our own errors come out of a parser, whatever goes in."""

from __future__ import annotations

import itertools
import json
import re
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from phase_gate.errors import TamperedError
from phase_gate.storage.files import REAL
from phase_gate.storage.objects import MAX_SIZE, ObjectStore
from tests.fuzz.mutations import anything
from tests.fuzz.targets import all_targets

NAMES = tuple(all_targets())

#: Few enough that the folder takes seconds.
brief = settings(
    deadline=None,
    max_examples=60,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", NAMES)
@brief
@given(data=st.data())
def test_only_our_own_errors_come_out(name: str, data: st.DataObject) -> None:
    target = all_targets()[name]
    target(data.draw(anything(target.seeds)))


@pytest.mark.parametrize("name", NAMES)
def test_what_it_is_made_from_is_valid(name: str) -> None:
    """Were the seeds refused, the mutants would not get far."""
    target = all_targets()[name]
    refused = {"forged-ledger", "ledger", "object-name", "lock-holder", "object"}  # they end in a refusal by design
    for seed in target.seeds:
        if name in refused:
            target(seed)
        else:
            target.run(seed)


#: Targets that take JSON, where nesting has no limit of its own.
NESTING = ("ledger-line", "ledger", "forged-ledger", "state", "memory", "tree-cache", "status-block")
#: Of events, as far as somebody reads them.
FIELDS = ("run", "phase", "kind", "green", "evaluation", "iteration", "next", "findings", "tree")

LARGE = {
    "deep-lists": b"[" * 100_000,
    "deep-mappings": b'{"a":' * 100_000,
    "deep-pairs": b"[" * 900 + b"]" * 900,
    "deep-parentheses": b"(" * 9_000,
    "many-negations": b"NOT " * 2_400,
    "a-long-number": b"9" * 100_000,
    "a-long-line": b"x" * 2_000_000,
    "many-lines": b"\n" * 500_000,
    "many-keys": b"".join(b"k%d: v\n" % number for number in range(20_000)),
    "an-alias-bomb": b"a: &a [x]\n" + b"".join(b"%c: &%c [*a, *a, *a]\n" % (n, n) for n in range(98, 110)),
    "nul-bytes": b"\0" * 10_000,
    "lone-surrogates": b"\xed\xa0\x80" * 1_000,
    "a-flood-of-quotes": b'"' * 100_001,
    "a-flood-of-comments": b"-->" + b"<!--" * 200_000,
    "a-flood-of-fences": b"```\n" * 100_000,
    "a-wide-heading": b"# a" + b" " * 500_000 + b"b",
    "a-wide-table": b"| a" + b" " * 500_000 + b"b" + b"|" * 100_000,
    "a-long-id": b"- A" + b"-A" * 400_000,
    "a-flood-of-diagrams": b"::: mermaid\n" * 20_000,
    "a-flood-of-directives": b'%%{ /* /\' """ accDescr { ' * 20_000,
    "a-flood-of-arguments": b"C4Context\nPerson(" + b"a," * 20_000 + b")",
    "a-flood-of-brackets": b"{a b" + b" because {a b" * 50_000,
    "a-flood-of-imports": b"!a " * 100_000 + b"workspace",
}


@pytest.mark.sampled(17)
@pytest.mark.parametrize(("name", "large"), list(itertools.product(NAMES, LARGE)))
def test_large_and_deep_input_ends_soon(name: str, large: str) -> None:
    all_targets()[name](LARGE[large])


@pytest.mark.parametrize("depth", [200, 480, 700, 900, 990, 5_000, 100_000])
@pytest.mark.parametrize("name", NESTING)
def test_depth_in_a_valid_place(name: str, depth: int) -> None:
    """Deep enough for one reader and too deep for the next: in the middle of a document that is otherwise good."""
    nested = b"[" * depth + b"]" * depth
    target = all_targets()[name]
    for seed in target.seeds:
        for place in (b"null", b"{}", b"[]", b"true", b"1"):
            if place in seed:
                target(seed.replace(place, nested, 1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"NaN", b"Infinity", b"9" * 400 + b".5"])
@pytest.mark.parametrize("name", NESTING)
def test_numbers_that_are_none_in_a_valid_place(name: str, number: bytes) -> None:
    target = all_targets()[name]
    for seed in target.seeds:
        for found in re.finditer(rb"\b\d+(?:\.\d+)?\b", seed):
            target(seed[: found.start()] + number + seed[found.end() :])


@brief
@given(
    events=st.lists(
        st.tuples(
            st.sampled_from([kind for kind, _ in json.loads(all_targets()["forged-ledger"].seeds[0])]),
            st.dictionaries(
                st.sampled_from(FIELDS),
                st.recursive(
                    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(allow_nan=False),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
                    max_leaves=4,
                ),
                max_size=6,
            ),
        ),
        max_size=4,
    )
)
def test_events_that_nobody_wrote_are_refused(events: list[tuple[str, dict[str, object]]]) -> None:
    all_targets()["forged-ledger"](json.dumps(events).encode())


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
