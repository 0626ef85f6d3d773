"""The condition language: a typed subset of CEL, with words for operators.

Evaluates a condition for given values, clause by clause. It never runs code: there are no calls, attributes or
arithmetic. Pure. `condition_parser` checks the text of a file and has the grammar.

- NOT applies to the whole clause after it.
- Three-valued logic: a name without a usable value, or a comparison of incompatible types, makes a clause unknown.
  NOT unknown is unknown; `false AND unknown` is false; `true OR unknown` is true.
- Integers and floats can be compared with each other. A boolean is not a number. Numbers and texts are ordered;
  booleans are not.

Everywhere else, a condition is its canonical text. Here it is a tree, in the form of JSON.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite

from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeGuard

    from phase_gate.workflow.metrics import MetricType, MetricValue

    #: `["AND" or "OR", part, part, …]`, `["NOT", part]`; or a clause: `[operand, sign, operand]` or `[operand]`.
    #: An operand is a name or a value. A text has its canonical quotes, which tell it from a name.
    Node = list[Any]

_WORDS = ("AND", "OR", "NOT")

#: In bits, as for the largest float. Python refuses to print integers with thousands of digits.
_MAX_INTEGER_BITS = 1024
#: In characters: longer texts would not fit in a line of the panel.
_MAX_SHOWN_TEXT = 60

#: The types of values by their names in files.
TYPE_NAMES: Mapping[type, MetricType] = {int: "int", float: "number", bool: "bool", str: "text"}
ORDERED = ("int", "number", "text")
#: What a value of a type can be compared with.
PARTNERS = {"int": "a number", "number": "a number", "bool": "true or false", "text": "a quoted text"}

_COMPARE: Mapping[str, Callable[..., bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

#: Trees by canonical text. Those of shipped workflows are added when these are loaded, so a usual run parses nothing.
TREES: dict[str, Node] = {}


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


class Outcome(Value):
    """The result of a condition. `met` is None if it is unknown, which never opens a gate."""

    met: bool | None
    clauses: tuple[Clause, ...]


def tree_of(condition: str) -> Node:
    if condition not in TREES:
        from phase_gate.workflow.condition_parser import parse_tree  # here, not above: most processes need no parser

        TREES[condition] = parse_tree(condition)
    return TREES[condition]


def names_in(condition: str) -> frozenset[str]:
    return frozenset(name for _, leaf in clauses_in(tree_of(condition)) for name in _names_in(leaf))


def evaluate(condition: str, values: Mapping[str, MetricValue]) -> Outcome:
    """Return the outcome with all clauses, including those that do not affect it."""
    known = {name: value for name, value in values.items() if _is_usable(value)}
    tree = tree_of(condition)
    clauses: list[Clause] = []
    for conjunct in tree[1:] if tree[0] == "AND" else [tree]:
        found = [*clauses_in(conjunct)]
        group = None if found[0][0] is conjunct else render(conjunct)
        clauses += [_describe(clause, leaf, known, group) for clause, leaf in found]
    return Outcome(met=_judge(tree, known), clauses=tuple(clauses))


# --- trees


def _is_leaf(node: Node) -> bool:
    return node[0] not in _WORDS


def clauses_in(node: Node, outer: Node | None = None) -> Iterator[tuple[Node, Node]]:
    """Yield the comparisons from left to right, each with and without the NOTs right before it."""
    outer = outer or node
    if _is_leaf(node):
        yield outer, node
    elif node[0] == "NOT":
        yield from clauses_in(node[1], outer)
    else:
        for part in node[1:]:
            yield from clauses_in(part)


def is_name(operand: MetricValue) -> TypeGuard[str]:
    return isinstance(operand, str) and operand[0] not in "\"'"


def _value_of(operand: MetricValue, known: Mapping[str, MetricValue]) -> MetricValue:
    """Return the value of an operand; None for a name without a usable one."""
    if is_name(operand):
        return known.get(operand)
    return operand[1:-1] if isinstance(operand, str) else operand


def _names_in(leaf: Node) -> list[str]:
    return [operand for operand in leaf[::2] if is_name(operand)]


def join(word: str, parts: Iterable[Node]) -> Node:
    """Return the parts joined by AND or OR. Nested groups with the same word are flattened."""
    flat = [each for part in parts for each in (part[1:] if part[0] == word else (part,))]
    return flat[0] if len(flat) == 1 else [word, *flat]


def render(node: Node) -> str:
    """Return the canonical text: one line, words in upper case, only necessary parentheses."""
    if _is_leaf(node):
        return " ".join(each if isinstance(each, str) else render_value(each) for each in node)
    word, *parts = node
    # Groups that bind more loosely need parentheses. NOT binds most tightly, so it never does.
    looser = {"AND": ("OR",), "OR": (), "NOT": ("AND", "OR")}[word]
    texts = [f"({render(part)})" if part[0] in looser else render(part) for part in parts]
    return f"NOT {texts[0]}" if word == "NOT" else f" {word} ".join(texts)


def render_value(value: MetricValue) -> str:
    """Return a value in the syntax of conditions."""
    if isinstance(value, str):
        quote = "'" if '"' in value else '"'
        # Literals are printable, but a measured value may contain terminal control codes.
        return quote + "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in value) + quote
    return str(value).lower() if isinstance(value, bool) else repr(value)


# --- evaluation


def _judge(node: Node, known: Mapping[str, MetricValue]) -> bool | None:
    """Return the verdict on a node. A single decisive part is enough, even if others are unknown."""
    if _is_leaf(node):
        return _compare(node, known)
    word, *parts = node
    verdicts = [_judge(part, known) for part in parts]
    if word == "NOT":
        return None if verdicts[0] is None else not verdicts[0]
    decisive: bool = word == "OR"
    if decisive in verdicts:
        return decisive
    return None if None in verdicts else not decisive


def _describe(clause: Node, leaf: Node, known: Mapping[str, MetricValue], group: str | None) -> Clause:
    names = dict.fromkeys(_names_in(leaf))
    text = render(clause)
    return Clause(
        text=text,
        met=_judge(clause, known),
        values={name: known[name] for name in names if name in known},
        unknown=tuple(name for name in names if name not in known),
        shown=_show(leaf, text.removesuffix(render(leaf)), known),
        group=group,
    )


def _is_usable(value: object) -> bool:
    # Exact types only: a subclass may define its own equality.
    if type(value) is int:
        return value.bit_length() <= _MAX_INTEGER_BITS
    return isfinite(value) if type(value) is float else type(value) in (bool, str)


def _compare(leaf: Node, known: Mapping[str, MetricValue]) -> bool | None:
    """Return the verdict on a comparison; None if a name has no value, or the types do not fit."""
    left, *others = [_value_of(each, known) for each in leaf[::2]]
    if left is None or None in others:
        return None
    if not others:
        return left if isinstance(left, bool) else None
    does_fit = not find_mismatch(TYPE_NAMES[type(left)], leaf[1], TYPE_NAMES[type(others[0])])
    return _COMPARE[leaf[1]](left, others[0]) if does_fit else None


def find_mismatch(left: str, sign: str, right: str) -> str:
    """Return why values of two types can't be compared with this operator; empty if they can."""
    if PARTNERS[left] != PARTNERS[right]:
        return f"can't compare {left} with {right}"
    return "" if left in ORDERED or sign in ("==", "!=") else f"{left} has no order"


def _show(leaf: Node, prefix: str, known: Mapping[str, MetricValue]) -> str:
    def show_operand(operand: MetricValue) -> str:
        value = _value_of(operand, known)
        if isinstance(value, str) and len(value) > _MAX_SHOWN_TEXT:
            value = f"{value[:_MAX_SHOWN_TEXT]}..."
        return "?" if value is None else render_value(value)

    names = _names_in(leaf)
    if len(names) == 1:
        return show_operand(names[0])
    left, *others = leaf
    return prefix + " ".join([show_operand(left), *others[:1], *map(show_operand, others[1:])])
