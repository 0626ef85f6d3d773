"""Which types a condition may compare, when it is loaded and when it is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phase_gate.core._condition_tokens import error_at
from phase_gate.core._condition_tree import Leaf, Operand, name_operands, render, render_operand
from phase_gate.core.metrics import MetricType
from phase_gate.errors import ConditionError

#: What we call the types of values: as metrics do, and null.
TYPE_NAMES: Mapping[type, str] = {int: "int", float: "number", bool: "bool", str: "text", type(None): "null"}

_FAMILIES = {"int": "number"}
_ORDERED = ("number", "text")
_PARTNERS = {"number": "a number", "bool": "true or false", "text": "a quoted text"}


def find_mismatch(left: str, operator: str, right: str) -> str:
    """Return why values of two types can't be compared that way, or nothing."""
    is_same = _FAMILIES.get(left, left) == _FAMILIES.get(right, right)
    if operator in ("==", "!=", "in"):
        is_fine = is_same or "null" in (left, right)
    else:
        is_fine = is_same and _FAMILIES.get(left, left) in _ORDERED
    if is_fine:
        return ""
    return f"{left} has no order" if is_same else f"can't compare {left} with {right}"


def check_leaf(leaf: Leaf, types: Mapping[str, MetricType], source: str) -> None:
    """Raise ConditionError if a comparison has an unknown name, or types that can't be compared."""
    for operand in name_operands(leaf):
        if operand.name not in types:
            raise _unknown_name(operand, types, source)
    text, start = render(leaf), leaf.left.offset
    left = _type_of(leaf.left, types)
    if not leaf.operator and left != "bool":
        example = '== "..."' if left == "text" else "> 0"
        raise error_at(
            source, start, f"{text} is {left}, not bool, and no condition by itself", f"compare it: {text} {example}"
        )
    for operand in leaf.right:
        right = _type_of(operand, types)
        if mismatch := find_mismatch(left, leaf.operator, right):
            raise error_at(source, start, f"{mismatch}: {text}", _find_partner(leaf.left, left, operand, right))


def _type_of(operand: Operand, types: Mapping[str, MetricType]) -> str:
    return types[operand.name] if operand.name else TYPE_NAMES[type(operand.value)]


def _find_partner(left: Operand, left_type: str, right: Operand, right_type: str) -> str:
    # The name stays: its type is given, while the literal is what the writer can change.
    subject, kind = (right, right_type) if right.name and not left.name else (left, left_type)
    family = _FAMILIES.get(kind, kind)
    if family == "null":
        return "compare null by == or != only"
    order = "" if family in _ORDERED else " by == or !="
    return f"compare {render_operand(subject)} with {_PARTNERS[family]}{order}"


def _unknown_name(operand: Operand, known: Iterable[str], source: str) -> ConditionError:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=operand.name)

    def distance(name: str) -> tuple[float, str]:
        matcher.set_seq1(name)
        return -matcher.ratio(), name

    names = ", ".join(sorted(known, key=distance))
    return error_at(
        source,
        operand.offset,
        f"unknown name {operand.name}",
        f"use one of: {names}" if names else "remove it: no names are known here",
    )
