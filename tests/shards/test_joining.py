"""One run of what ran in a room and of what ran beside it. Pure: no files, no sessions."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.errors import ShardError
from phase_gate.gate.outcomes import Bucket
from phase_gate.shards.joining import join_pieces
from phase_gate.shards.record import Shard, Split, collection_digest, to_ranges
from phase_gate.values import replace
from tests.shards.test_merging import MARKS, SPLITTER, shard

OLD, ALSO, LATE, GONE = "t.py::test_old", "t.py::test_also", "late.py::test_late", "gone.py::test_gone"


def room(*ids: str, **changes: Any) -> Shard:
    """What ran in the room: all that it has."""
    made = shard(1, *ids, **changes)
    collected = changes.get("collected", tuple(sorted(ids)))
    return replace(made, split=Split(1, 2, "room"), collected=collected, left_out={})


def beside(*own: str, others: tuple[str, ...] = (OLD,), **changes: Any) -> Shard:
    """What ran beside it: what the room does not have."""
    collected = tuple(sorted((*own, *others)))
    left = to_ranges(place for place, each in enumerate(collected) if each in others)
    made = shard(2, *own, **{"collected": collected, "collection": collection_digest(collected), **changes})
    return replace(made, split=Split(2, 2, "beside"), left_out={SPLITTER: left})


def test_both_are_one_run() -> None:
    facts = join_pieces([room(OLD), beside(LATE)])
    assert facts.outcomes == {OLD: Bucket.PASSED, LATE: Bucket.PASSED}
    assert (facts.in_room, facts.beside_room, facts.deselected) == (1, 1, frozenset())
    assert facts.duration_s == 3.0, "one after the other"
    assert (facts.tally["passed"], facts.exit_status) == (2, 0)


def test_a_room_that_has_everything_is_the_run() -> None:
    facts = join_pieces([room(OLD, ALSO)])
    assert (facts.in_room, facts.beside_room, len(facts.outcomes)) == (2, 0, 2)


def test_a_test_that_the_project_does_not_have_any_more_is_not_there() -> None:
    facts = join_pieces([room(OLD, GONE), beside(LATE)])
    assert (set(facts.outcomes), facts.in_room) == ({OLD, LATE}, 1)


def test_where_the_project_can_not_be_imported_nothing_is_taken_for_gone() -> None:
    broken = beside(others=(), outcomes={OLD: Bucket.UNCOLLECTABLE}, collection_errors=("t.py",))
    facts = join_pieces([room(OLD, ALSO), broken])
    assert facts.outcomes == {OLD: Bucket.UNCOLLECTABLE, ALSO: Bucket.PASSED}, "outside it can't be imported: it fails"


def test_what_can_not_be_imported_in_the_room_fails() -> None:
    inside = room(outcomes={OLD: Bucket.UNCOLLECTABLE}, collected=(), collection_errors=("t.py",), tally={"errors": 1})
    facts = join_pieces([inside, beside(LATE)])
    assert facts.outcomes == {OLD: Bucket.UNCOLLECTABLE, LATE: Bucket.PASSED}
    assert (facts.collection_errors, facts.tally["errors"]) == (("t.py",), 1)


def test_what_a_mark_leaves_out_in_both_is_deselected() -> None:
    inside = replace(room(OLD), collected=(ALSO, OLD), left_out={MARKS: ((0, 1),)})
    outside = beside(LATE, others=(ALSO, OLD))
    places = {test_id: place for place, test_id in enumerate(outside.collected)}
    outside = replace(
        outside,
        left_out={SPLITTER: to_ranges([places[OLD]]), MARKS: to_ranges([places[ALSO]])},
    )
    assert join_pieces([inside, outside]).deselected == {ALSO}


def test_one_that_was_stopped_says_so() -> None:
    facts = join_pieces([room(OLD, interrupted="interrupted")])
    assert facts.interrupted == "interrupted"


@pytest.mark.parametrize(
    ("pieces", "says"),
    [
        pytest.param(
            [room(OLD), beside(others=(OLD, LATE))],
            "1 collected test ran in no shard: late.py::test_late",
            id="one-is-in-neither",
        ),
        pytest.param(
            [room(OLD), beside(OLD, LATE, others=())],
            "the run in the room and the run beside the room both ran 1 test: t.py::test_old",
            id="one-is-in-both",
        ),
        pytest.param(
            [room(OLD), beside(LATE, settings={"ini addopts": "-x"})],
            "they differ in the setting 'ini addopts'",
            id="other-settings",
        ),
    ],
)
def test_pieces_that_are_not_one_run_are_refused(pieces: list[Shard], says: str) -> None:
    with pytest.raises(ShardError) as caught:
        join_pieces(pieces)
    assert says in caught.value.problem
