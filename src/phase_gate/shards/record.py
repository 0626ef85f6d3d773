"""What one shard wrote down, as a value.

Pure. Ids of tests stand in it whole; what was left out, which may be most of the suite, as places in the collection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.gate.outcomes import Bucket
from phase_gate.gate.record import Document
from phase_gate.values import Value, field

#: Places in the sorted list of collected tests, each as first and one after the last.
Ranges = tuple[tuple[int, int], ...]


class Split(Value, kw_only=False):
    """Which shard, of how many."""

    index: int
    total: int

    def __str__(self) -> str:
        return f"{self.index}/{self.total}"


class Shard(Value):
    """What one shard wrote down."""

    #: Random: a shard can be used for one run only.
    id: str
    split: Split
    task: str
    phase: str
    began: str
    commit: str
    tree: str
    python: str
    pytest: str
    workflow: Mapping[str, Any]
    #: The file that it was read from, for messages.
    file: str = ""
    #: What it did not live to write, if there are none.
    facts: Document | None = None
    criteria_given: str = ""
    criteria: tuple[str, ...] = ()
    changed_sources: tuple[str, ...] = ()
    #: Files that tests use and that the shard itself has written.
    written: tuple[str, ...] = ()
    #: Every test that pytest found, sorted, before any selection; and the digest of that.
    collected: tuple[str, ...] = ()
    collection: str = ""
    #: Which of them were deselected, by the function that did it.
    left_out: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"shard {self.split}"

    @property
    def shown(self) -> Document:
        """What it showed, where it is known to have ended."""
        assert self.facts is not None, "one that never ended was refused"
        return self.facts

    @property
    def ran(self) -> frozenset[str]:
        """The tests that were its own. One that can't be imported belongs to every shard."""
        outcomes = self.shown.outcomes
        return frozenset(test_id for test_id in outcomes if outcomes[test_id] is not Bucket.UNCOLLECTABLE)


def collection_digest(collected: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(collected).encode("utf-8", "surrogatepass")).hexdigest()


def to_ranges(places: Iterable[int]) -> Ranges:
    """Return sorted places as ranges."""
    ranges: list[tuple[int, int]] = []
    for place in places:
        if ranges and ranges[-1][1] == place:
            ranges[-1] = (ranges[-1][0], place + 1)
        else:
            ranges.append((place, place + 1))
    return tuple(ranges)
