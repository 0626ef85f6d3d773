"""One run of two pieces: what ran in a room with the frozen tests, and what the room does not have, beside it.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from phase_gate.gate.outcomes import Bucket
from phase_gate.gate.record import SessionFacts
from phase_gate.shards.merging import find_deselected, ids_in, merge_shards, refuse_other_rules
from phase_gate.shards.record import Shard, to_ranges
from phase_gate.values import replace


def join_pieces(pieces: Sequence[Shard]) -> SessionFacts:
    """Return what a run in a room and the one beside it showed together; the latter may not have been needed.

    Unlike shards they may have ended before their time: that is what the run then says of itself. Raises ShardError if
    they are not two pieces of one run, or if a test is in neither.
    """
    if len(pieces) > 1:
        pieces = [_drop_gone(pieces[0], pieces[1]), *pieces[1:]]
    refuse_other_rules(pieces)
    is_whole = not any(piece.shown.interrupted for piece in pieces)
    merged = merge_shards(pieces, deselected=find_deselected(pieces) if is_whole else frozenset())
    ran = {piece.split.part: len(piece.ran) for piece in pieces}
    return replace(
        merged,
        duration_s=sum(piece.shown.duration_s for piece in pieces),  # one after the other
        in_room=ran["room"],
        beside_room=ran.get("beside", 0),
    )


def _drop_gone(room: Shard, beside: Shard) -> Shard:
    """Return what ran in the room without tests that the project itself does not have any more: these are missing."""
    facts, errors = room.shown, beside.shown.collection_errors
    if errors or beside.shown.interrupted:
        return room  # what was not collected there may be there all the same
    there = frozenset(beside.collected)
    gone = {
        test_id
        for test_id, bucket in facts.outcomes.items()
        if test_id not in there and bucket is not Bucket.UNCOLLECTABLE
    }
    kept = {test_id: bucket for test_id, bucket in facts.outcomes.items() if test_id not in gone}
    collected = tuple(test_id for test_id in room.collected if test_id in there)
    places = {test_id: place for place, test_id in enumerate(collected)}
    left_out = {
        who: to_ranges(sorted(places[each] for each in ids_in(room, ranges) if each in places))
        for who, ranges in room.left_out.items()
    }
    return replace(room, facts=replace(facts, outcomes=kept), collected=collected, left_out=left_out)
