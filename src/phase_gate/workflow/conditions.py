"""The condition language: a typed subset of CEL, with words for operators.

Evaluates a condition for given values, clause by clause. It never runs code: there are no calls, attributes or
arithmetic. Pure. `condition_text` has the parser.

    condition   = conjunction { OR conjunction }
    conjunction = negation { AND negation }
    negation    = NOT negation | "(" condition ")" | clause
    clause      = operand compare operand | operand "in" "[" literal { "," literal } "]" | name | "true" | "false"
    compare     = "==" | "!=" | "<" | "<=" | ">" | ">="
    operand     = name | literal
    literal     = integer | float | text | "true" | "false" | "null"

- Words are case-insensitive. NOT applies to the whole clause after it. Spaces and line breaks are ignored.
- Text is quoted with '...' or "...", with the escapes `\\ \" \' \n \t`.
- Three-valued logic: a name without a usable value, or a comparison of incompatible types, makes a clause unknown.
  NOT unknown is unknown; `false AND unknown` is false; `true OR unknown` is true.
- Integers and floats can be compared with each other. A boolean is not a number. Numbers and texts are ordered;
  booleans and null are not. Any value can be compared by `== null` or `!= null`. `in` means several `==` joined by OR.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from math import isfinite

from phase_gate.values import Value
from phase_gate.workflow.condition_text import (
    MAX_LENGTH,
    Group,
    Leaf,
    Node,
    Operand,
    error_at,
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

#: Names of the types of values: those of metrics, and null.
_TYPE_NAMES: Mapping[type, str] = {int: "int", float: "number", bool: "bool", str: "text", type(None): "null"}
_FAMILIES = {"int": "number"}
_ORDERED = ("number", "text")
_PARTNERS = {"number": "a number", "bool": "true or false", "text": "a quoted text"}

_COMPARE: Mapping[str, Callable[..., bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": operator.eq,
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
    #: Why it is unknown; empty if it is known.
    problem: str = ""


class Outcome(Value, kw_only=False):
    """The result of a condition. `met` is None if it is unknown, which never opens a gate."""

    met: bool | None
    clauses: tuple[Clause, ...]


class Condition(Value):
    """A condition, from `parse_condition` or `stored_condition`. Two are equal if their canonical texts are."""

    #: The canonical text, in one line. It parses to an equal condition.
    text: str
    #: As written.
    source: str
    #: The tree, with offsets in the source; None for a stored condition, which is parsed on demand.
    parsed: Node | None = None

    @property
    def tree(self) -> Node:
        return self.parsed or _parse_stored(self.text)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(operand.name for leaf in _leaves(self.tree) for operand in _names_in(leaf))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"

    def evaluate(self, values: Mapping[str, MetricValue]) -> Outcome:
        """Return the outcome with all clauses, including those that do not affect it."""
        clauses: list[Clause] = []
        tree = self.tree
        conjuncts = tree.parts if isinstance(tree, Group) and tree.word == "AND" else (tree,)
        verdicts = []
        for conjunct in conjuncts:
            is_clause = isinstance(_strip_negations(conjunct)[0], Leaf)
            verdicts.append(_judge(conjunct, values, None if is_clause else render(conjunct), clauses))
        return Outcome(_combine(verdicts, decisive=False), tuple(clauses))

    def check_types(self, types: Mapping[str, MetricType]) -> None:
        """Raise ConditionError if incompatible types are compared. `types` has to contain all names."""
        for leaf in _leaves(self.tree):
            _check_leaf(leaf, types, self.source)

    def conjoin(self, other: Condition) -> Condition:
        """Return the condition that both hold."""
        return parse_condition(render(join("AND", (self.tree, other.tree))))


def parse_condition(source: str) -> Condition:
    """Return the condition that a text describes. Raises ConditionError with the place of a syntax error."""
    tree = parse_tree(source)
    text = render(tree)
    if len(text) > MAX_LENGTH:
        problem = f"the condition has {len(text)} characters in canonical form, more than {MAX_LENGTH}"
        raise error_at(source, 0, problem, "shorten it, or split it into guards")
    return Condition(text=text, source=source, parsed=tree)


def stored_condition(text: str) -> Condition:
    """Return a condition from its canonical text, which was parsed before it was stored."""
    return Condition(text=text, source=text)


@lru_cache(maxsize=256)
def _parse_stored(text: str) -> Node:
    return parse_tree(text)


def _leaves(node: Node) -> Iterator[Leaf]:
    """Yield the comparisons from left to right."""
    if isinstance(node, Leaf):
        yield node
    else:
        for part in node.parts:
            yield from _leaves(part)


def _names_in(leaf: Leaf) -> list[Operand]:
    return [operand for operand in (leaf.left, *leaf.right) if operand.name]


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
    missing = [name for name in names if name not in values]
    unusable = {name: fault for name in names if name in values and (fault := _find_fault(values[name]))}
    known = {name: values[name] for name in names if name in values and name not in unusable}
    if missing or unusable:
        reasons = [f"no value for {', '.join(missing)}"] if missing else []
        verdict, problem = None, "; ".join(reasons + [f"{name} {fault}" for name, fault in unusable.items()])
    else:
        verdict, problem = _compare(leaf, known)
    prefix = "NOT " * negations
    return Clause(
        text=prefix + render(leaf),
        met=_negate(verdict, negations),
        values=known,
        unknown=(*missing, *unusable),
        shown=_show(leaf, prefix, known),
        group=group,
        problem=problem,
    )


def _find_fault(value: object) -> str:
    """Return why a value can't be used; empty if it can."""
    # Exact types only: a subclass may define its own equality.
    if type(value) not in _TYPE_NAMES:
        return f"has a value of type {type(value).__name__}, which a condition can't compare"
    if isinstance(value, float) and not isfinite(value):
        return "is not a finite number"
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return "is too large a number"
    return ""


def _compare(leaf: Leaf, known: Mapping[str, MetricValue]) -> tuple[bool | None, str]:
    """Return the verdict on a comparison whose names all have values, and the reason if it is unknown."""
    left = known[leaf.left.name] if leaf.left.name else leaf.left.value
    left_type = _TYPE_NAMES[type(left)]
    if not leaf.operator:
        return (left, "") if isinstance(left, bool) else (None, f"{leaf.left.name} is {left_type}, not bool")
    problem = ""
    for operand in leaf.right:
        right = known[operand.name] if operand.name else operand.value
        mismatch = _find_mismatch(left_type, leaf.operator, _TYPE_NAMES[type(right)])
        if not mismatch and _COMPARE[leaf.operator](left, right):
            return True, ""
        problem = problem or mismatch
    return (None, problem) if problem else (False, "")


def _show(leaf: Leaf, prefix: str, known: Mapping[str, MetricValue]) -> str:
    def show_operand(operand: Operand) -> str:
        if operand.name and operand.name not in known:
            return "?"
        value = known[operand.name] if operand.name else operand.value
        if isinstance(value, str) and len(value) > _MAX_SHOWN_TEXT:
            value = f"{value[:_MAX_SHOWN_TEXT]}..."
        return render_value(value)

    names = _names_in(leaf)
    return show_operand(names[0]) if len(names) == 1 else prefix + render_leaf(leaf, show_operand)


# --- type checks, used when a condition is loaded and when it is evaluated


def _find_mismatch(left: str, sign: str, right: str) -> str:
    """Return why values of two types can't be compared with this operator; empty if they can."""
    family = _FAMILIES.get(left, left)
    is_same = family == _FAMILIES.get(right, right)
    has_order = is_same and family in _ORDERED
    if has_order or (sign in ("==", "!=", "in") and (is_same or "null" in (left, right))):
        return ""
    return f"{left} has no order" if is_same else f"can't compare {left} with {right}"


def _check_leaf(leaf: Leaf, types: Mapping[str, MetricType], source: str) -> None:
    def type_of(operand: Operand) -> str:
        return types[operand.name] if operand.name else _TYPE_NAMES[type(operand.value)]

    text, start, left = render(leaf), leaf.left.offset, type_of(leaf.left)
    if not leaf.operator and left != "bool":
        example = '== "..."' if left == "text" else "> 0"
        problem = f"{text} is {left}, not bool, and not a condition by itself"
        raise error_at(source, start, problem, f"compare it: {text} {example}")
    for operand in leaf.right:
        right = type_of(operand)
        if mismatch := _find_mismatch(left, leaf.operator, right):
            # The remedy keeps the name, whose type is given: the user can change the literal.
            is_literal_first = operand.name and not leaf.left.name
            subject, kind = (operand, right) if is_literal_first else (leaf.left, left)
            raise error_at(source, start, f"{mismatch}: {text}", _find_partner(subject, _FAMILIES.get(kind, kind)))


def _find_partner(subject: Operand, family: str) -> str:
    if family == "null":
        return "compare null by == or != only"
    order = "" if family in _ORDERED else " by == or !="
    return f"compare {subject.name or render_value(subject.value)} with {_PARTNERS[family]}{order}"
