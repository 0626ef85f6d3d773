"""Tell whether a condition depends on anything: whether it holds, or fails, whatever is measured.

Pure. A search for values that make the condition false (or true), by cases: each case is a set of comparisons, and
comparisons of numbers are differences `x - y <= c`, which contradict each other where they close a negative cycle.
What is not understood (the order of texts, null) counts as free, and a search that takes too long as a success; so
"it can't fail" is only said where it is proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from phase_gate.values import Value, field
from phase_gate.workflow.conditions import Condition
from phase_gate.workflow.conditions.tree import Leaf, Node, Operand, render_operand
from phase_gate.workflow.metrics import AT_MOST, BOUNDS, COUNTS, MetricType, MetricValue

#: Cases that a search looks at: real conditions take a few dozen.
MAX_CASES = 500

#: The variable that is always 0: `x <= 3` is `x - ZERO <= 3`.
_ZERO = ""
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Names(Value):
    """What is known of the names that a condition may use."""

    types: Mapping[str, MetricType]
    #: Names with fixed values: the parameters.
    values: Mapping[str, MetricValue] = field(default_factory=dict)

    def literal(self, operand: Operand) -> Operand:
        """Return the operand, or its value where that is fixed."""
        if operand.name in self.values:
            return Operand("", self.values[operand.name], operand.offset)
        return operand

    def is_whole(self, name: str) -> bool:
        return name == _ZERO or self.types.get(name) == "int"


def find_fixed_truth(conditions: Iterable[Condition], names: Names) -> bool | None:
    """Return what the conditions, all of them together, are for any values: true, false, or None if it depends."""
    trees = [condition.tree for condition in conditions]
    if not any(_search([_Wanted(tree, False)], _Case(names)) for tree in trees):
        return True
    return None if _search([_Wanted(tree, True) for tree in trees], _Case(names)) else False


class _Wanted(NamedTuple):
    """A part of the condition, and what it has to be."""

    node: Node
    truth: bool


class _Difference(NamedTuple):
    """`left - right <= bound`, or `<` where it is strict."""

    left: str
    right: str
    bound: Fraction
    strict: bool


class _Choice(NamedTuple):
    """Something with two or more values, which has this one, or has not: a truth value, a text."""

    name: str
    value: MetricValue
    truth: bool


_Item = _Wanted | _Difference | _Choice
#: Alternatives, each a list of what has to hold together.
_Split = list[Sequence[_Item]]


class _Budget:
    def __init__(self) -> None:
        self.cases = MAX_CASES


class _Case:
    """What is supposed so far."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.splits: list[_Split] = []
        self.budget = _Budget()
        self._bounds: dict[tuple[str, str], tuple[Fraction, int]] = {}
        self._known: set[str] = {_ZERO}
        self._is: dict[str, MetricValue] = {}
        self._is_not: set[tuple[str, MetricValue]] = set()
        self._broken = False

    def copy(self) -> _Case:
        other = _Case(self.names)
        other.splits, other.budget = self.splits[1:], self.budget
        other._bounds, other._known = dict(self._bounds), set(self._known)
        other._is, other._is_not = dict(self._is), set(self._is_not)
        return other

    def suppose(self, fact: _Difference | _Choice) -> None:
        if isinstance(fact, _Choice):
            self._choose(fact)
            return
        for name in (fact.left, fact.right):
            self._learn(name)
        self._bound(fact)

    @property
    def is_possible(self) -> bool:
        return not self._broken and not self._has_negative_cycle()

    def _choose(self, fact: _Choice) -> None:
        if fact.truth:
            self._broken |= self._is.setdefault(fact.name, fact.value) != fact.value
        else:
            self._is_not.add((fact.name, fact.value))
        if fact.name in self._is:
            self._broken |= (fact.name, self._is[fact.name]) in self._is_not

    def _learn(self, name: str) -> None:
        """Suppose what is always so of a name that turns up."""
        if name in self._known:
            return
        self._known.add(name)
        least, greatest = BOUNDS.get(name, (0 if name in COUNTS else None, None))
        if least is not None:
            self._bound(_Difference(_ZERO, name, Fraction(-least), False))
        if greatest is not None:
            self._bound(_Difference(name, _ZERO, Fraction(greatest), False))
        for part, whole in AT_MOST:
            if name in (part, whole):
                self._learn(part)
                self._learn(whole)
                self._bound(_Difference(part, whole, Fraction(0), False))

    def _bound(self, fact: _Difference) -> None:
        bound, strict = fact.bound, fact.strict
        if self.names.is_whole(fact.left) and self.names.is_whole(fact.right):
            bound, strict = Fraction(ceil(bound) - 1 if strict else floor(bound)), False
        # A strict bound is one that is smaller by next to nothing.
        weight, key = (bound, -1 if strict else 0), (fact.left, fact.right)
        self._bounds[key] = min(weight, self._bounds.get(key, weight))

    def _has_negative_cycle(self) -> bool:
        distance = dict.fromkeys(self._known, (Fraction(0), 0))
        for _ in self._known:
            changed = False
            for (left, right), (bound, less) in self._bounds.items():
                at, below = distance[right]
                if (reached := (at + bound, below + less)) < distance[left]:
                    distance[left], changed = reached, True
            if not changed:
                return False
        return True


def _search(pending: Iterable[_Item], case: _Case) -> bool:
    """Tell whether there may be values for which everything is as wanted."""
    case.budget.cases -= 1
    if case.budget.cases < 0:
        return True
    left = list(pending)
    while left:
        item = left.pop()
        if not isinstance(item, _Wanted):
            case.suppose(item)
            continue
        split = list(_alternatives(item, case.names))
        if len(split) == 1:
            left.extend(split[0])
        elif split:
            case.splits.append(split)
        else:
            return False
    if not case.is_possible:
        return False
    return not case.splits or any(_search(part, case.copy()) for part in case.splits[0])


def _alternatives(wanted: _Wanted, names: Names) -> Iterator[Sequence[_Item]]:
    node, truth = wanted
    if isinstance(node, Leaf):
        yield from _leaf_alternatives(node, truth, names)
    elif node.word == "NOT":
        yield [_Wanted(node.parts[0], not truth)]
    elif (node.word == "AND") is truth:
        yield [_Wanted(part, truth) for part in node.parts]
    else:
        yield from ([_Wanted(part, truth)] for part in node.parts)


def _leaf_alternatives(leaf: Leaf, truth: bool, names: Names) -> Iterator[Sequence[_Item]]:
    left = names.literal(leaf.left)
    if not leaf.operator:
        yield from _equality(left, Operand("", True, 0), truth, names)
    elif leaf.operator == "in":
        equals = [_Wanted(Leaf(leaf.left, "==", (operand,)), truth) for operand in leaf.right]
        if truth:
            yield from ([each] for each in equals)
        else:
            yield [*equals]
    else:
        operator = leaf.operator if truth else _OPPOSITE[leaf.operator]
        yield from _comparison(left, operator, names.literal(leaf.right[0]), names)


def _comparison(left: Operand, operator: str, right: Operand, names: Names) -> Iterator[Sequence[_Item]]:
    kinds = {_kind(left, names), _kind(right, names)}
    if kinds == {"number"}:
        yield from _number_comparison(left, operator, right)
    elif operator in ("==", "!="):
        yield from _equality(left, right, operator == "==", names)
    else:
        # The order of texts: free, but for its own opposite.
        if not left.name:
            left, operator, right = right, _FLIPPED[operator], left
        positive = operator if operator in ("<", "<=") else _OPPOSITE[operator]
        key = f"{render_operand(left)} {positive} {render_operand(right)}"
        yield [_Choice(key, True, operator == positive)]


def _number_comparison(left: Operand, operator: str, right: Operand) -> Iterator[Sequence[_Item]]:
    # A literal is the variable ZERO with its value moved into the bound.
    offset = _number(right) - _number(left)
    below = _Difference(left.name, right.name, offset, operator in ("<", "!="))
    above = _Difference(right.name, left.name, -offset, operator in (">", "!="))
    if operator == "==":
        yield [below, above]
    if operator in ("<", "<=", "!="):
        yield [below]
    if operator in (">", ">=", "!="):
        yield [above]


def _number(operand: Operand) -> Fraction:
    if operand.name:
        return Fraction(0)
    assert isinstance(operand.value, int | float)
    return Fraction(operand.value)


def _equality(left: Operand, right: Operand, truth: bool, names: Names) -> Iterator[Sequence[_Item]]:
    if not left.name:
        left, right = right, left
    if not left.name:
        if (left.value == right.value) is truth:
            yield []
    elif right.name and names.types.get(left.name) == "bool":
        for value in (True, False):
            yield [*_truth(left.name, value), *_truth(right.name, value is truth)]
    elif right.name:
        first, second = sorted((left.name, right.name))
        if first != second:
            yield [_Choice(f"{first} == {second}", True, truth)]
        elif truth:
            yield []
    elif isinstance(right.value, bool):
        yield _truth(left.name, right.value is truth)
    elif right.value is None:
        yield [_Choice(f"{left.name} == null", True, truth)]
    else:
        yield [_Choice(left.name, right.value, truth)]


def _truth(name: str, value: bool) -> list[_Choice]:
    return [_Choice(name, value, True)]


def _kind(operand: Operand, names: Names) -> str:
    if operand.name:
        kind = names.types.get(operand.name, "text")
        return "number" if kind in ("int", "number") else kind
    if isinstance(operand.value, bool) or operand.value is None:
        return "bool" if isinstance(operand.value, bool) else "null"
    return "number" if isinstance(operand.value, int | float) else "text"
