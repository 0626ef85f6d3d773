"""The condition language: a typed subset of CEL, with words.

Decides whether a condition is met by given values, and says so clause by clause. It never runs code:
there are no calls, no attributes and no arithmetic. Pure. Begin with `parser`.

    condition   = conjunction { OR conjunction }
    conjunction = negation { AND negation }
    negation    = NOT negation | "(" condition ")" | clause
    clause      = operand compare operand | operand "in" "[" literal { "," literal } "]" | name | "true" | "false"
    compare     = "==" | "!=" | "<" | "<=" | ">" | ">="
    operand     = name | literal
    literal     = integer | float | text | "true" | "false" | "null"

- AND, OR and NOT may be written `&&`, `||` and `!`; words are read in any case. NOT takes the whole clause
  that follows; `!` before a comparison needs parentheses. Space and line breaks mean nothing.
- Text stands in '...' or "...", with the escapes `\\ \" \' \n \t`.
- Three-valued: a name without a usable value makes its clause unknown, and so does a comparison of types that
  can't be compared. NOT unknown is unknown; `false AND unknown` is false; `true OR unknown` is true.
- Integers and floats compare with each other. A boolean is no number. Numbers and texts have an order, booleans
  and null have none. Anything may be asked to be `== null` or `!= null`. `in` is a row of `==` joined by OR.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite

from phase_gate.values import Value
from phase_gate.workflow.conditions.parser import MAX_LENGTH, parse_tree
from phase_gate.workflow.conditions.tree import (
    TYPE_NAMES,
    Leaf,
    Node,
    Operand,
    check_leaf,
    error_at,
    find_mismatch,
    join,
    leaves,
    name_operands,
    render,
    render_leaf,
    render_value,
    strip_negations,
    substitute,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.workflow.metrics import MetricType, MetricValue

#: In bits: no float is larger, and Python refuses to print integers of thousands of digits.
_MAX_INTEGER_BITS = 1024
#: In characters: a longer text would push the rest of its line off the panel.
_MAX_SHOWN_TEXT = 60

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
    """One comparison of a condition, evaluated."""

    #: Canonical text, with the NOTs that stand right before it.
    text: str
    #: None means unknown.
    met: bool | None
    #: The names with a usable value.
    values: Mapping[str, MetricValue]
    #: The names without one.
    unknown: tuple[str, ...]
    #: For people: the names replaced by their values, or the value alone where the rest is literal.
    shown: str
    #: The top-level conjunct around it, as a condition of its own; None where the clause is that conjunct.
    group: str | None
    #: Why it is unknown.
    problem: str = ""


class Outcome(Value, kw_only=False):
    """What a condition says for given values; None means unknown, which opens nothing."""

    met: bool | None
    clauses: tuple[Clause, ...]


class _Parsed(Value):
    names: frozenset[str]
    tree: Node


class Condition(Value):
    """A condition; two of them are equal if their canonical texts are. Made by `parse_condition`, or read back."""

    #: Canonical, in one line; it parses to an equal condition.
    text: str
    #: As written.
    source: str
    #: None for one that was stored: most of those are never asked, so each is parsed when it is.
    parsed: _Parsed | None = None

    @property
    def names(self) -> frozenset[str]:
        return (self.parsed or _parse_stored(self.text)).names

    @property
    def tree(self) -> Node:
        return (self.parsed or _parse_stored(self.text)).tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"

    def evaluate(self, values: Mapping[str, MetricValue]) -> Outcome:
        """Return the outcome with every clause in it, the ones that no longer matter too."""
        clauses: list[Clause] = []
        conjuncts = self.tree.parts if not isinstance(self.tree, Leaf) and self.tree.word == "AND" else (self.tree,)
        verdicts = []
        for conjunct in conjuncts:
            is_clause = isinstance(strip_negations(conjunct)[0], Leaf)
            verdicts.append(_judge(conjunct, values, None if is_clause else render(conjunct), clauses))
        return Outcome(_combine(verdicts, decisive=False), tuple(clauses))

    def check_types(self, types: Mapping[str, MetricType]) -> None:
        """Raise ConditionError for a name that is not among `types`, and for what can't be compared."""
        for leaf in leaves(self.tree):
            check_leaf(leaf, types, self.source)

    def replace_names(self, conditions: Mapping[str, Condition], names: Mapping[str, str]) -> Condition:
        """Return the condition with names replaced: by whole conditions, or by other names.

        What is put in is not looked through again. Errors go on speaking of places in `source`.
        """
        if self.names.isdisjoint(conditions) and self.names.isdisjoint(names):
            return self
        trees = {name: condition.tree for name, condition in conditions.items()}
        tree = substitute(self.tree, trees, names, self.source)
        parse_tree(render(tree))  # the limits hold for what comes out, too
        return _make_condition(tree, self.source)

    def conjoin(self, other: Condition) -> Condition:
        """Return the condition that both hold."""
        return parse_condition(render(join("AND", (self.tree, other.tree))))


def parse_condition(text: str) -> Condition:
    """Return the condition that a text says; ConditionError tells where it can't be understood."""
    condition = _make_condition(parse_tree(text), text)
    if len(condition.text) > MAX_LENGTH:
        raise error_at(
            text,
            0,
            f"the condition has {len(condition.text)} characters in canonical form, more than {MAX_LENGTH}",
            "shorten it, or split it into guards",
        )
    return condition


def _make_condition(tree: Node, source: str) -> Condition:
    return Condition(text=render(tree), source=source, parsed=_look_through(tree))


def _look_through(tree: Node) -> _Parsed:
    return _Parsed(names=frozenset(operand.name for leaf in leaves(tree) for operand in name_operands(leaf)), tree=tree)


def stored_condition(text: str) -> Condition:
    """Return a condition from its canonical text, which was parsed before it was stored."""
    return Condition(text=text, source=text)


@lru_cache(maxsize=256)
def _parse_stored(text: str) -> _Parsed:
    return _look_through(parse_tree(text))


def _judge(node: Node, values: Mapping[str, MetricValue], group: str | None, clauses: list[Clause]) -> bool | None:
    """Return the verdict on a node, and append its clauses."""
    inner, negations = strip_negations(node)
    if isinstance(inner, Leaf):
        clauses.append(_judge_clause(inner, negations, values, group))
        return clauses[-1].met
    verdict = _combine([_judge(part, values, group, clauses) for part in inner.parts], decisive=inner.word == "OR")
    return _negate(verdict, negations)


def _combine(verdicts: list[bool | None], *, decisive: bool) -> bool | None:
    """Return what the verdicts say together: a single decisive one is enough, even if others are unknown."""
    if decisive in verdicts:
        return decisive
    return None if None in verdicts else not decisive


def _negate(verdict: bool | None, times: int) -> bool | None:
    return verdict if verdict is None or times % 2 == 0 else not verdict


def _judge_clause(leaf: Leaf, negations: int, values: Mapping[str, MetricValue], group: str | None) -> Clause:
    known: dict[str, MetricValue] = {}
    missing: list[str] = []
    unusable: dict[str, str] = {}
    for name in dict.fromkeys(operand.name for operand in name_operands(leaf)):
        if name not in values:
            missing.append(name)
        elif reason := _find_fault(values[name]):
            unusable[name] = f"{name} {reason}"
        else:
            known[name] = values[name]
    if missing or unusable:
        verdict = None
        problem = "; ".join(([f"no value for {', '.join(missing)}"] if missing else []) + [*unusable.values()])
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
    """Return why a value can't be used, or nothing."""
    # Exact types: a subclass may bring its own idea of equality.
    if type(value) not in TYPE_NAMES:
        return f"has a value of type {type(value).__name__}, which a condition can't compare"
    if isinstance(value, float) and not isfinite(value):
        return "is not a finite number"
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return "is too large a number"
    return ""


def _compare(leaf: Leaf, known: Mapping[str, MetricValue]) -> tuple[bool | None, str]:
    """Return the verdict on a comparison whose names all have values, and why it is unknown."""
    left = known[leaf.left.name] if leaf.left.name else leaf.left.value
    left_type = TYPE_NAMES[type(left)]
    if not leaf.operator:
        return (left, "") if isinstance(left, bool) else (None, f"{leaf.left.name} is {left_type}, not bool")
    problem = ""
    for operand in leaf.right:
        right = known[operand.name] if operand.name else operand.value
        mismatch = find_mismatch(left_type, leaf.operator, TYPE_NAMES[type(right)])
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

    names = list(name_operands(leaf))
    if len(names) == 1:
        return show_operand(names[0])
    return prefix + render_leaf(leaf, show_operand)
