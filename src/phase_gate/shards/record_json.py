"""A shard's record as a document, and back. Ids stand in it by file: a big suite has hundreds of tests in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from phase_gate.codec import from_json, spell_out
from phase_gate.gate.inventory import join_id, split_id
from phase_gate.gate.outcomes import Outcomes
from phase_gate.gate.record import SessionFacts
from phase_gate.shards.record import Shard
from phase_gate.values import replace

#: Of the documents that this version writes and reads.
SCHEMA = 1

#: Ids by file.
Grouped = Mapping[str, list[str]]


def shard_to_json(shard: Shard) -> dict[str, Any]:
    document = spell_out(replace(shard, collected=(), facts=None))
    del document["file"]
    document["collected"] = _group(shard.collected)
    document["facts"] = None if shard.facts is None else _facts_to_json(shard.facts)
    return document


def shard_from_json(
    document: Mapping[str, Any],
    *,
    file: str,
    expand: Callable[[str, Callable[[], tuple[str, ...]]], tuple[str, ...]] = lambda digest, read: read(),
) -> Shard:
    """Return the shard. Raises KeyError, TypeError or ValueError where the document is not one of ours.

    :param expand: returns a collection by its digest; it may keep one for all shards.
    """
    facts, collected = document["facts"], document["collected"]
    shard = from_json(Shard, {**document, "file": file, "facts": None, "collected": ()})
    return replace(
        shard,
        collected=expand(shard.collection, lambda: tuple(_ungroup(collected))),
        facts=None if facts is None else _facts_from_json(facts),
    )


def _facts_to_json(facts: SessionFacts) -> dict[str, Any]:
    return {**spell_out(replace(facts, outcomes={})), "outcomes": _outcomes_to_json(facts.outcomes)}


def _facts_from_json(document: Mapping[str, Any]) -> SessionFacts:
    grouped = document["outcomes"]
    outcomes = {test_id: bucket for bucket, tests in grouped.items() for test_id in _ungroup(tests)}
    return from_json(SessionFacts, {**document, "outcomes": outcomes})


def _outcomes_to_json(outcomes: Outcomes) -> dict[str, Grouped]:
    by_bucket: dict[str, list[str]] = {}
    for test_id, bucket in outcomes.items():
        by_bucket.setdefault(str(bucket), []).append(test_id)
    return {bucket: _group(ids) for bucket, ids in by_bucket.items()}


def _group(ids: Iterable[str]) -> Grouped:
    grouped: dict[str, list[str]] = {}
    for test_id in ids:
        path, name = split_id(test_id)
        grouped.setdefault(path, []).append(name)
    return grouped


def _ungroup(grouped: Grouped) -> list[str]:
    return sorted(join_id(path, name) for path, names in grouped.items() for name in names)
