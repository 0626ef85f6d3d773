"""Tell whether a condition depends on anything: whether it is met, or unmet, whatever is measured.

Pure. Each name is probed at the values where one of its comparisons can turn: at the literals, parameters and bounds
that it meets, and next to them. Between two of these nothing changes, so that all combinations together are a proof;
where there are too many, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from math import floor, prod
from typing import Any

from phase_gate.values import Value, field
from phase_gate.workflow.conditions import Condition, decide
from phase_gate.workflow.conditions.tree import Group, Leaf, Node, join, leaves, name_operands
from phase_gate.workflow.metrics import AT_MOST, BOUNDS, COUNTS, MetricType, MetricValue

#: Combinations of values that are tried: real conditions have a few hundred, and all of these take less than a second.
MAX_PROBES = 10_000


class Names(Value):
    """What is known of the names that a condition may use."""

    types: Mapping[str, MetricType]
    #: Names with fixed values: the parameters.
    values: Mapping[str, MetricValue] = field(default_factory=dict)


def find_fixed_truth(conditions: Iterable[Condition], names: Names) -> bool | None:
    """Return what the conditions, all of them together, are for any values: true, false, or None if it depends."""
    return _find(join("AND", [condition.tree for condition in conditions]), names)


def _find(node: Node, names: Names) -> bool | None:
    if not isinstance(node, Group) or node.word == "NOT":
        return _probe(node, names)
    independent = list(_independent(node.parts, names))
    if len(independent) == 1:
        return _probe(node, names)
    found = [_find(join(node.word, parts), names) for parts in independent]
    decisive = node.word == "OR"
    if decisive in found:
        return decisive
    return None if None in found else not decisive


def _independent(parts: Iterable[Node], names: Names) -> Iterator[list[Node]]:
    """Yield the parts in groups that share no name: what one measures says nothing about the others."""
    groups: list[tuple[set[str], list[Node]]] = []
    for part in parts:
        mine = _free_names(part, names)
        mine |= {whole for each, whole in AT_MOST if each in mine}
        together = [part]
        for group in [group for group in groups if group[0] & mine]:
            groups.remove(group)
            mine |= group[0]
            together = [*group[1], *together]
        groups.append((mine, together))
    return (together for _, together in groups)


def _free_names(node: Node, names: Names) -> set[str]:
    used = {operand.name for leaf in leaves(node) for operand in name_operands(leaf)}
    return used - names.values.keys()


# --- probing


def _probe(node: Node, names: Names) -> bool | None:
    """Return what the condition is for all combinations of values; None if it is both, or there are too many."""
    values = _values_of(node, names)
    if prod(map(len, values.values())) > MAX_PROBES:
        return None
    seen: set[bool] = set()
    for combination in product(*values.values()):
        measured = dict(zip(values, combination, strict=True))
        if _is_possible(measured):
            # What is unknown opens nothing.
            seen.add(decide(node, {**names.values, **measured}) is True)
            if len(seen) == 2:
                return None
    return seen.pop() if seen else None


def _is_possible(measured: Mapping[str, Any]) -> bool:
    pairs = ((measured.get(part), measured.get(whole)) for part, whole in AT_MOST)
    return all(part is None or whole is None or part <= whole for part, whole in pairs)


# --- values


def _values_of(node: Node, names: Names) -> dict[str, Sequence[Any]]:
    """Return the values that each name is probed at."""
    free = sorted(_free_names(node, names))
    found = list(leaves(node))
    kinds = {name: names.types.get(name, "text") for name in free}
    fixed = [value for leaf in found for value in _fixed_values(leaf, names)]
    numbers = [name for name in free if kinds[name] in ("int", "number")]
    marks = {value for value in fixed if isinstance(value, int | float) and not isinstance(value, bool)}
    marks |= {bound for name in numbers for bound in _bounds(name) if bound is not None}
    # Of names that are compared with each other, each may need a value of its own between two marks.
    depth = max(1, len(numbers)) if _are_compared(found, numbers) else 1
    whole = sorted({floor(mark) + step for mark in marks or {0} for step in range(-depth, depth + 2)})
    of_kind: dict[str, Sequence[Any]] = {
        "bool": (False, True),
        "int": whole,
        "number": _around({*marks, *whole}, depth),
        "text": _texts({value for value in fixed if isinstance(value, str)}, len(free)),
    }
    nullable = {name for leaf in found for name in _compared_with_null(leaf)}
    return {
        name: [*_within(_bounds(name), of_kind[kinds[name]]), *([None] if name in nullable else [])] for name in free
    }


def _fixed_values(leaf: Leaf, names: Names) -> Iterator[MetricValue]:
    for operand in (leaf.left, *leaf.right):
        if not operand.name or operand.name in names.values:
            yield names.values.get(operand.name, operand.value)


def _compared_with_null(leaf: Leaf) -> Iterator[str]:
    if any(not operand.name and operand.value is None for operand in (leaf.left, *leaf.right)):
        yield from (operand.name for operand in name_operands(leaf))


def _are_compared(found: Iterable[Leaf], numbers: Sequence[str]) -> bool:
    sides = (sum(each.name in numbers for each in name_operands(leaf)) for leaf in found)
    return any(count > 1 for count in sides) or any({*pair} <= {*numbers} for pair in AT_MOST)


def _bounds(name: str) -> tuple[float | None, float | None]:
    return BOUNDS.get(name, (0 if name in COUNTS else None, None))


def _within(bounds: tuple[float | None, float | None], values: Iterable[Any]) -> Iterator[Any]:
    least, greatest = bounds
    return (each for each in values if (least is None or each >= least) and (greatest is None or each <= greatest))


def _around(marks: Iterable[float], depth: int) -> list[float]:
    """Return the marks, and values between them."""
    ordered = sorted(marks)
    step = min((above - below for below, above in pairwise(ordered)), default=1) / (2 * depth + 2)
    return sorted({mark + step * number for mark in ordered for number in range(-depth, depth + 1)})


def _texts(marks: Iterable[str], depth: int) -> list[str]:
    """Return the texts, one before all of them, and those that come right after each."""
    return sorted({text + "\0" * number for text in {"", *marks} for number in range(depth + 1)})
