"""What holds for any condition: Python's own operators agree with it, and no text breaks the parser.

Python is asked about comparisons of one type only, for on mixed types we differ on purpose: see `test_conditions`.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from phase_gate.errors import ConditionError
from phase_gate.workflow.condition_parser import normalize
from phase_gate.workflow.conditions import evaluate, names_in
from phase_gate.workflow.metrics import MetricType, MetricValue
from tests.sweeps import IS_WHOLE

#: Few enough that the module takes seconds; each property was also run with 2,500.
thorough = settings(deadline=None, max_examples=70)

PLACE = re.compile(r"(?:line (\d+), )?column (\d+): \S")

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


@settings(thorough, max_examples=250 if IS_WHOLE else 60)
@given(expression=expressions, context=contexts)
def test_agrees_with_python_and_with_its_own_text(expression: Pair, context: Context) -> None:
    assert evaluate(expression.ours, context).met is eval(expression.python, {}, context)
    assert_round_trip(expression.ours, context)


def assert_answers(text: str) -> None:
    """Any text is a condition that can be evaluated, or an error that says where."""
    try:
        normalize(text)
    except ConditionError as refused:
        error = refused
    else:
        assert_round_trip(text, {})
        return
    place = PLACE.match(error.problem)
    assert place is not None, error.problem
    lines = text.split("\n")
    line, column = int(place[1] or 1), int(place[2])
    assert line <= len(lines)
    assert 1 <= column <= len(lines[line - 1]) + 1
    assert error.remedy


token_soup = st.lists(
    st.sampled_from(
        [
            *("x", "y", "AND", "or", "Not", "in", "true", "NULL", "&&", "||", "!", "==", "!=", "<", "<=", ">", ">="),
            *("(", ")", "[", ",", "0", "-1", "1.5", "1e9", "1e999", "'a'", '"b"', "'", '"', "\\"),
            *("=", "&", "|", ".", "-", "+", "\n", "\t", "é", "\x00", "9" * 31, "'\\q'", "'\\n'"),
        ]
    ),
    max_size=25,
)


@settings(thorough, max_examples=400 if IS_WHOLE else 60)
@given(token_soup, st.sampled_from(["", " "]))
def test_any_row_of_tokens_gets_an_answer(tokens: list[str], space: str) -> None:
    assert_answers(space.join(tokens))


@thorough
@given(
    expression=expressions,
    context=st.dictionaries(
        st.sampled_from(sorted(TYPES)),
        st.none()
        | st.booleans()
        | st.integers()
        | st.just(10**5000)
        | st.floats()
        | st.text()
        | st.binary()
        | st.lists(st.integers())
        | st.complex_numbers(),
    ),
)
def test_any_value_gets_an_answer(expression: Pair, context: Context) -> None:
    for clause in evaluate(expression.ours, context).clauses:
        assert clause.shown.isprintable()
        assert not clause.unknown or clause.met is None
        assert not any(isinstance(value, float) and not isfinite(value) for value in clause.values.values())
        assert {*clause.values, *clause.unknown} == names_in(clause.text)
