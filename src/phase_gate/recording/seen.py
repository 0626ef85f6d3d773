"""What one process saw of a session, as a value: the same on the controller and on the workers of xdist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.gate.findings import Finding
from phase_gate.gate.freeze import Parts, merge_parts
from phase_gate.values import Value, field, fields


class Seen(Value):
    """By pytest's own node ids; paths are relative to our root."""

    deselected: tuple[str, ...] = ()
    #: Where the files of tests are, by the part of a node id before the first `::`.
    paths: Mapping[str, str] = field(default_factory=dict)
    #: With --dist=loadgroup xdist appends the group of a test to its id.
    groups: tuple[str, ...] = ()
    #: Tests that failed, so that a report which is changed on its way can be told.
    failed: tuple[str, ...] = ()
    #: Criteria that tests name in their marks, and why tests are marked as passing already.
    criteria: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    guarding: Mapping[str, str] = field(default_factory=dict)
    #: Modules that were loaded, and the files of the project that were imported, from the root.
    modules: Mapping[str, str] = field(default_factory=dict)
    imported: tuple[str, ...] = ()
    #: What tests are made of outside of their files.
    parts: Parts = field(default_factory=Parts)
    #: What makes outcomes doubtful.
    doubts: tuple[Finding, ...] = ()
    #: In a shard: what was collected before any hook chose, and what was left out, by the function that did it.
    collected: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def merge_seen(several: Iterable[Seen]) -> Seen:
    """Return what some process saw."""
    several = tuple(several)
    if len(several) == 1:
        return several[0]
    return Seen(**{name: _merge([getattr(each, name) for each in several]) for name in fields(Seen)})


def _merge(values: list[Any]) -> Any:
    first = values[0]
    if isinstance(first, Parts):
        return merge_parts(values)
    if isinstance(first, tuple):
        return tuple(dict.fromkeys(each for value in values for each in value))
    merged: dict[str, Any] = {}
    for value in values:
        for name, each in value.items():
            merged[name] = _merge([merged[name], each]) if name in merged and isinstance(each, tuple) else each
    return merged
