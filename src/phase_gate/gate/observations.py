"""The task of a witness, and its observations: values only, the same on the controller and on the workers of xdist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from phase_gate.gate.measured import Finding
from phase_gate.values import Value, field, fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Wanted(Value):
    """The facts that a witness records. Sent to the workers of xdist."""

    root: str
    #: Why tests fail, and which are marked as already passing.
    reasons: bool = False
    #: Code of tests outside of their files.
    parts: bool = False
    #: Criteria that marks may name.
    criteria: tuple[str, ...] = ()
    #: Modules whose location matters.
    modules: tuple[str, ...] = ()
    #: Only a part of the suite runs: record the tests collected before any hook selected, and which hook dropped which.
    slices: bool = False


class Seen(Value):
    """Keys are pytest's node ids; paths are relative to our root."""

    deselected: tuple[str, ...] = ()
    #: Paths of test files, by the part of a node id before the first `::`.
    paths: Mapping[str, str] = field(default_factory=dict)
    #: With --dist=loadgroup xdist appends the group of a test to its id.
    groups: tuple[str, ...] = ()
    #: Failed tests, so that a report that is changed on its way to the controller is detected.
    failed: tuple[str, ...] = ()
    #: Criteria that tests name in their marks, and the reasons of tests that are marked as already passing.
    criteria: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    guarding: Mapping[str, str] = field(default_factory=dict)
    #: Loaded modules, and imported files of the project, from the root.
    modules: Mapping[str, str] = field(default_factory=dict)
    imported: tuple[str, ...] = ()
    #: Code of tests outside of their files, as `file::name`: under `tests` functions, inherited or imported; under
    #: `around` fixtures, base classes and setup methods; and a `problem`, if they could not be inspected.
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Findings that make outcomes doubtful.
    doubts: tuple[Finding, ...] = ()
    #: In a shard: the tests collected before any hook selected, and the deselected ones, by the function that did it.
    collected: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def merge_seen(several: Iterable[Seen]) -> Seen:
    """Return the union of the observations of several processes."""
    several = tuple(several)
    if len(several) == 1:
        return several[0]
    return Seen(**{name: merge_values([getattr(each, name) for each in several]) for name in fields(Seen)})


def merge_values(values: Sequence[Any]) -> Any:
    """Return the union of mappings or of tuples."""
    first = values[0]
    if isinstance(first, tuple):
        return tuple(dict.fromkeys(each for value in values for each in value))
    merged: dict[str, Any] = {}
    for value in values:
        for name, each in value.items():
            merged[name] = merge_values([merged[name], each]) if name in merged and isinstance(each, tuple) else each
    return merged
