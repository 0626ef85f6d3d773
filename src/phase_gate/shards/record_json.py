"""A shard's record as a document, and back. Ids stand in it by file: a big suite has hundreds of tests in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from phase_gate.gate.failures import failure_from_json, failure_to_json
from phase_gate.gate.findings import findings_from_json, findings_to_json
from phase_gate.gate.inventory import join_id, split_id
from phase_gate.gate.outcomes import Bucket, Outcomes
from phase_gate.gate.record import SessionFacts
from phase_gate.gate.test_parts import parts_from_json, parts_to_json
from phase_gate.shards.record import Shard, Split
from phase_gate.values import as_dict

#: Of the documents that this version writes and reads.
SCHEMA = 1

#: Ids by file.
Grouped = Mapping[str, list[str]]


def shard_to_json(shard: Shard) -> dict[str, Any]:
    document = as_dict(shard)
    del document["file"]
    return {
        **document,
        "split": [shard.split.index, shard.split.total],
        "collected": _group(shard.collected),
        "left_out": {who: [list(each) for each in ranges] for who, ranges in shard.left_out.items()},
        "facts": None if shard.facts is None else _facts_to_json(shard.facts),
    }


def shard_from_json(
    document: Mapping[str, Any],
    *,
    file: str,
    expand: Callable[[str, Callable[[], tuple[str, ...]]], tuple[str, ...]] = lambda digest, read: read(),
) -> Shard:
    """Return the shard. Raises KeyError, TypeError or ValueError where the document is not one of ours.

    :param expand: returns a collection by its digest; it may keep one for all shards.
    """
    index, total = document["split"]
    facts = document["facts"]
    return Shard(
        **{
            **document,
            "file": file,
            "split": Split(_number(index), _number(total)),
            "criteria": tuple(document["criteria"]),
            "changed_sources": tuple(document["changed_sources"]),
            "written": tuple(document["written"]),
            "collected": expand(document["collection"], lambda: tuple(_ungroup(document["collected"]))),
            "left_out": {
                who: tuple((_number(start), _number(end)) for start, end in ranges)
                for who, ranges in document["left_out"].items()
            },
            "facts": None if facts is None else _facts_from_json(facts),
        }
    )


def _facts_to_json(facts: SessionFacts) -> dict[str, Any]:
    return {
        **as_dict(facts),
        "outcomes": _outcomes_to_json(facts.outcomes),
        "deselected": sorted(facts.deselected),
        "narrowed_files": sorted(facts.narrowed_files),
        "failures": {test_id: failure_to_json(failure) for test_id, failure in facts.failures.items()},
        "doubts": findings_to_json(facts.doubts),
        "parts": parts_to_json(facts.parts),
    }


def _facts_from_json(document: Mapping[str, Any]) -> SessionFacts:
    return SessionFacts(
        **{
            **document,
            "outcomes": {
                test_id: Bucket(bucket)
                for bucket, grouped in document["outcomes"].items()
                for test_id in _ungroup(grouped)
            },
            "deselected": frozenset(document["deselected"]),
            "narrowed_files": frozenset(document["narrowed_files"]),
            "narrowed_by": tuple(document["narrowed_by"]),
            "collection_errors": tuple(document["collection_errors"]),
            "failures": {test_id: failure_from_json(row) for test_id, row in document["failures"].items()},
            "marked": {test_id: tuple(ids) for test_id, ids in document["marked"].items()},
            "parts": parts_from_json(document["parts"]),
            "plugins": tuple(document["plugins"]),
            "imported": tuple(document["imported"]),
            "testpaths": tuple(document["testpaths"]),
            "doubts": findings_from_json(document["doubts"]),
            "foreign_hooks": tuple(document["foreign_hooks"]),
            "complaints": tuple(document["complaints"]),
            "notes": tuple(document.get("notes", ())),
        }
    )


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


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(value)
    return value
