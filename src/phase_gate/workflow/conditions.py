"""The condition language: a typed subset of CEL, with words for operators.

Evaluates a condition for given values, clause by clause. It never runs code: there are no calls, attributes or
arithmetic. Pure. `condition_text` has the parser.

    condition   = conjunction { OR conjunction }
    conjunction = negation { AND negation }
    negation    = NOT negation | "(" condition ")" | clause
    clause      = operand compare operand | name | "true" | "false"
    compare     = "==" | "!=" | "<" | "<=" | ">" | ">="
    operand     = name | integer | float | text | "true" | "false"

- Words are case-insensitive. NOT applies to the whole clause after it. Spaces and line breaks are ignored.
- Text is quoted with '...' or "...", in one line. There are no escapes.
- Three-valued logic: a name without a usable value, or a comparison of incompatible types, makes a clause unknown.
  NOT unknown is unknown; `false AND unknown` is false; `true OR unknown` is true.
- Integers and floats can be compared with each other. A boolean is not a number. Numbers and texts are ordered;
  booleans are not.

Everywhere else, a condition is its canonical text: `normalize` returns it, the other functions take it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from math import isfinite

from phase_gate.errors import ConditionError
from phase_gate.values import Value
from phase_gate.workflow.condition_text import (
    MAX_LENGTH,
    Group,
    Leaf,
    Node,
    Operand,
    join,
    parse_tree,
    render,
    render_leaf,
    render_value,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.workflow.metrics import MetricType, MetricValue

#: In bits, as for the largest float. Python refuses to print integers with thousands of digits.
_MAX_INTEGER_BITS = 1024
#: In characters: longer texts would not fit in a line of the panel.
_MAX_SHOWN_TEXT = 60

#: The types of values by their names in files.
_TYPE_NAMES: Mapping[type, str] = {int: "int", float: "number", bool: "bool", str: "text"}
_ORDERED = ("int", "number", "text")
#: What a value of a type can be compared with.
_PARTNERS = {"int": "a number", "number": "a number", "bool": "true or false", "text": "a quoted text"}

_COMPARE: Mapping[str, Callable[..., bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Clause(Value):
    """The result of one comparison of a condition."""

    #: Canonical text, including the NOTs right before it.
    text: str
    #: None means unknown.
    met: bool | None
    #: The names with a usable value.
    values: Mapping[str, MetricValue]
    #: The names without a usable value.
    unknown: tuple[str, ...]
    #: For display: the names replaced by their values, or only the value if the clause has a single name.
    shown: str
    #: The text of the top-level conjunct that contains it; None if the clause is that conjunct.
    group: str | None


class Outcome(Value, kw_only=False):
    """The result of a condition. `met` is None if it is unknown, which never opens a gate."""

    met: bool | None
    clauses: tuple[Clause, ...]


def normalize(source: str) -> str:
    """Return the canonical text of a condition, in one line. Raises ConditionError with the place of a syntax error."""
    text = render(parse_tree(source))
    if len(text) > MAX_LENGTH:
        problem = f"the condition has {len(text)} characters in canonical form, more than {MAX_LENGTH}"
        raise ConditionError(problem, "shorten it, or split it into guards")
    return text


def conjoin(one: str, other: str) -> str:
    """Return the condition that both hold. Raises ConditionError if it is too long."""
    return normalize(render(join("AND", (_parse(one), _parse(other)))))


_parse = lru_cache(maxsize=256)(parse_tree)


def names_in(condition: str) -> frozenset[str]:
    return frozenset(operand.name for leaf in _leaves(_parse(condition)) for operand in _names_in(leaf))


def evaluate(condition: str, values: Mapping[str, MetricValue]) -> Outcome:
    """Return the outcome with all clauses, including those that do not affect it."""
    clauses: list[Clause] = []
    tree = _parse(condition)
    conjuncts = tree.parts if isinstance(tree, Group) and tree.word == "AND" else (tree,)
    verdicts = []
    for conjunct in conjuncts:
        is_clause = isinstance(_strip_negations(conjunct)[0], Leaf)
        verdicts.append(_judge(conjunct, values, None if is_clause else render(conjunct), clauses))
    return Outcome(_combine(verdicts, decisive=False), tuple(clauses))


def check_types(condition: str, types: Mapping[str, MetricType]) -> None:
    """Raise ConditionError if incompatible types are compared. `types` has to contain all names."""
    for leaf in _leaves(_parse(condition)):
        _check_leaf(leaf, types)


def _leaves(node: Node) -> Iterator[Leaf]:
    """Yield the comparisons from left to right."""
    if isinstance(node, Leaf):
        yield node
    else:
        for part in node.parts:
            yield from _leaves(part)


def _names_in(leaf: Leaf) -> list[Operand]:
    return [operand for operand in (leaf.left, leaf.right) if operand is not None and operand.name]


# --- evaluation


def _strip_negations(node: Node) -> tuple[Node, int]:
    """Return the node without its leading NOTs, and their number."""
    count = 0
    while isinstance(node, Group) and node.word == "NOT":
        node, count = node.parts[0], count + 1
    return node, count


def _judge(node: Node, values: Mapping[str, MetricValue], group: str | None, clauses: list[Clause]) -> bool | None:
    """Return the verdict on a node, and append its clauses to `clauses`."""
    inner, negations = _strip_negations(node)
    if isinstance(inner, Leaf):
        clauses.append(_judge_clause(inner, negations, values, group))
        return clauses[-1].met
    verdict = _combine([_judge(part, values, group, clauses) for part in inner.parts], decisive=inner.word == "OR")
    return _negate(verdict, negations)


def _combine(verdicts: list[bool | None], *, decisive: bool) -> bool | None:
    """Return the combined verdict. A single decisive one is enough, even if others are unknown."""
    if decisive in verdicts:
        return decisive
    return None if None in verdicts else not decisive


def _negate(verdict: bool | None, times: int) -> bool | None:
    return verdict if verdict is None or times % 2 == 0 else not verdict


def _judge_clause(leaf: Leaf, negations: int, values: Mapping[str, MetricValue], group: str | None) -> Clause:
    names = dict.fromkeys(operand.name for operand in _names_in(leaf))
    known = {name: values[name] for name in names if _is_usable(values.get(name))}
    unknown = tuple(name for name in names if name not in known)
    verdict = None if unknown else _compare(leaf, known)
    prefix = "NOT " * negations
    return Clause(
        text=prefix + render(leaf),
        met=_negate(verdict, negations),
        values=known,
        unknown=unknown,
        shown=_show(leaf, prefix, known),
        group=group,
    )


def _is_usable(value: object) -> bool:
    # Exact types only: a subclass may define its own equality.
    if type(value) is int:
        return value.bit_length() <= _MAX_INTEGER_BITS
    return isfinite(value) if type(value) is float else type(value) in (bool, str)


def _compare(leaf: Leaf, known: Mapping[str, MetricValue]) -> bool | None:
    """Return the verdict on a comparison whose names all have values; None if their types do not fit."""
    left = known.get(leaf.left.name, leaf.left.value)
    if leaf.right is None:
        return left if isinstance(left, bool) else None
    right = known.get(leaf.right.name, leaf.right.value)
    does_fit = not _find_mismatch(_TYPE_NAMES[type(left)], leaf.operator, _TYPE_NAMES[type(right)])
    return _COMPARE[leaf.operator](left, right) if does_fit else None


def _show(leaf: Leaf, prefix: str, known: Mapping[str, MetricValue]) -> str:
    def show_operand(operand: Operand) -> str:
        if operand.name and operand.name not in known:
            return "?"
        value = known.get(operand.name, operand.value)
        if isinstance(value, str) and len(value) > _MAX_SHOWN_TEXT:
            value = f"{value[:_MAX_SHOWN_TEXT]}..."
        return render_value(value)

    names = _names_in(leaf)
    return show_operand(names[0]) if len(names) == 1 else prefix + render_leaf(leaf, show_operand)


# --- type checks, used when a condition is loaded and when it is evaluated


def _find_mismatch(left: str, sign: str, right: str) -> str:
    """Return why values of two types can't be compared with this operator; empty if they can."""
    if _PARTNERS[left] != _PARTNERS[right]:
        return f"can't compare {left} with {right}"
    return "" if left in _ORDERED or sign in ("==", "!=") else f"{left} has no order"


def _check_leaf(leaf: Leaf, types: Mapping[str, MetricType]) -> None:
    def type_of(operand: Operand) -> str:
        return types[operand.name] if operand.name else _TYPE_NAMES[type(operand.value)]

    text, left = render(leaf), type_of(leaf.left)
    if leaf.right is None:
        if left != "bool":
            example = '== "..."' if left == "text" else "> 0"
            problem = f"{text} is {left}, not bool, and not a condition by itself"
            raise ConditionError(problem, f"compare it: {text} {example}")
    elif mismatch := _find_mismatch(left, leaf.operator, type_of(leaf.right)):
        # The remedy keeps the name, whose type is given: the user can change the literal.
        subject = leaf.right if leaf.right.name and not leaf.left.name else leaf.left
        order = "" if (kind := type_of(subject)) in _ORDERED else " by == or !="
        remedy = f"compare {subject.name or render_value(subject.value)} with {_PARTNERS[kind]}{order}"
        raise ConditionError(f"{mismatch}: {text}", remedy)
