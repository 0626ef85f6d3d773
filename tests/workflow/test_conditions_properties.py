"""What holds for any condition: Python's own operators agree with it, and so does its canonical text.

Python is asked about comparisons of one type only, for on mixed types we differ on purpose: see `test_conditions`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from phase_gate.workflow.condition_parser import normalize
from phase_gate.workflow.conditions import evaluate, names_in
from phase_gate.workflow.metrics import MetricType, MetricValue
from tests.sweeps import IS_WHOLE

Context = dict[str, MetricValue]


class Pair(NamedTuple):
    """The same expression in our language and in Python."""

    ours: str
    python: str


TYPES: dict[str, MetricType] = {
    "i0": "int",
    "i1": "int",
    "n0": "number",
    "n1": "number",
    "t0": "text",
    "t1": "text",
    "b0": "bool",
    "b1": "bool",
}
# Mostly from few values, so that two of them are often equal: that is where < and <= part.
INTEGERS = st.sampled_from([-1, 0, 1, 2]) | st.integers(-1, 2) | st.integers(-(2**40), 2**40)
FLOATS = st.sampled_from([-1.0, 0.0, 0.5, 1.0]) | st.sampled_from([0.0, 1.0]) | st.floats(-1e9, 1e9)
TEXTS = st.sampled_from(["a", "b"]) | st.sampled_from(
    ["", "a", "b", "B", "ab", 'say "a"', "it's", "back\\slash", "größe", "😀"]
)
VALUES: dict[str, st.SearchStrategy[MetricValue]] = {
    "int": INTEGERS,
    "number": FLOATS,
    "text": TEXTS,
    "bool": st.booleans(),
}


contexts = st.fixed_dictionaries({name: VALUES[kind] for name, kind in TYPES.items()})


@st.composite
def literals(draw: st.DrawFn, kind: str) -> Pair:
    """A literal in both languages; only Python's has escapes."""
    value = draw(VALUES[kind])
    if not isinstance(value, str):
        return Pair(str(value).lower() if isinstance(value, bool) else repr(value), repr(value))
    quote = draw(st.sampled_from([each for each in "'\"" if each not in value]))
    return Pair(f"{quote}{value}{quote}", repr(value))


@st.composite
def leaves(draw: st.DrawFn) -> Pair:
    """One well-typed comparison."""
    name = draw(st.sampled_from(sorted(TYPES)))
    kind = TYPES[name]
    form = draw(st.sampled_from(["compare", "compare", "bare"]))
    if form == "bare":
        text = draw(st.sampled_from(["b0", "b1", "true", "false"]))
        return Pair(text, text.title() if text in ("true", "false") else text)
    operators = ["==", "!="] if kind == "bool" else ["==", "!=", "<", "<=", ">", ">="]
    partners = [
        other for other, other_kind in TYPES.items() if {kind, other_kind} <= {"int", "number"} or other_kind == kind
    ]
    other = draw(st.sampled_from(partners).map(lambda each: Pair(each, each)) | literals(kind))
    left, right = draw(st.permutations([Pair(name, name), other]))
    operator = draw(st.sampled_from(operators))
    return Pair(f"{left.ours} {operator} {right.ours}", f"{left.python} {operator} {right.python}")


@st.composite
def negations(draw: st.DrawFn, parts: st.SearchStrategy[Pair]) -> Pair:
    part = draw(parts)
    is_leaf = not re.search(r" (?:AND|and|OR|or) |^\(", part.ours)
    ours = part.ours if is_leaf else f"({part.ours})"
    return Pair(f"{draw(st.sampled_from(['NOT', 'not']))} {ours}", f"not ({part.python})")


@st.composite
def junctions(draw: st.DrawFn, parts: st.SearchStrategy[Pair]) -> Pair:
    """Two parts, often without parentheses, so that both languages show what binds closer."""
    left, right = draw(parts), draw(parts)
    ours, theirs = draw(st.sampled_from([("AND", "and"), ("and", "and"), ("OR", "or"), ("or", "or")]))
    space = draw(st.sampled_from([" ", "\n  "]))
    pair = Pair(f"{left.ours}{space}{ours} {right.ours}", f"{left.python} {theirs} {right.python}")
    return Pair(f"({pair.ours})", f"({pair.python})") if draw(st.booleans()) else pair


expressions = st.recursive(leaves(), lambda parts: negations(parts) | junctions(parts), max_leaves=12)


def assert_round_trip(source: str, context: Context) -> None:
    text = normalize(source)
    assert normalize(text) == text
    assert names_in(text) == names_in(source)
    assert evaluate(text, context) == evaluate(source, context)
    assert "\n" not in text


@settings(deadline=None, max_examples=250 if IS_WHOLE else 60)
@given(expression=expressions, context=contexts)
def test_agrees_with_python_and_with_its_own_text(expression: Pair, context: Context) -> None:
    assert evaluate(expression.ours, context).met is eval(expression.python, {}, context)
    assert_round_trip(expression.ours, context)
