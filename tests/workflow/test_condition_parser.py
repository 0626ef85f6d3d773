"""The text of conditions: how it is read, what can't be understood, and that Python's own operators agree with it."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase_gate.errors import ConditionError
from phase_gate.workflow.condition_parser import MAX_DEPTH, MAX_LENGTH, check_types, conjoin, normalize
from phase_gate.workflow.conditions import evaluate, names_in
from phase_gate.workflow.metrics import MetricType, MetricValue
from tests.sweeps import IS_WHOLE


def refusal(text: str) -> ConditionError:
    with pytest.raises(ConditionError) as caught:
        normalize(text)
    return caught.value


# --- Canonical text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        pytest.param("a and b or not c", "a AND b OR NOT c", id="words-in-capitals"),
        pytest.param("((a)) AND ((b OR (c)))", "a AND (b OR c)", id="only-needed-parentheses"),
        pytest.param("NOT (a AND b)", "NOT (a AND b)", id="not-before-a-group"),
        pytest.param("x==TRUE", "x == true", id="literals-in-lower-case"),
        pytest.param("x == 'it'", 'x == "it"', id="text-in-double-quotes"),
        pytest.param("x == 'say \"b\"'", "x == 'say \"b\"'", id="text-with-double-quotes"),
    ],
)
def test_canonical_text(source: str, text: str) -> None:
    assert normalize(source) == normalize(text) == text


# --- What can't be understood


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        pytest.param("", "column 1: the condition is empty", "write at least one clause", id="empty"),
        pytest.param("x = 5", "column 3: = is not an operator", "write == to compare", id="single-equals-sign"),
        pytest.param("a & b", "column 3: & is not an operator", "write AND", id="single-ampersand"),
        pytest.param("x + 1 > 2", "column 3: a condition can't calculate", "plain names", id="plus"),
        pytest.param("x -1 > 2", "column 3: a condition can't calculate", "plain names", id="minus-a-number"),
        pytest.param("a.b == 1", "column 2: a name has no parts", "use a plain name", id="attribute"),
        pytest.param("x > .5", "column 5: a name has no parts, and a number", "write 0.5", id="number-without-digit"),
        pytest.param("f(x)", "column 2: f can't be called", "use a plain name", id="call"),
        pytest.param("{x}", "column 1: { has no meaning", "remove it", id="brace"),
        pytest.param("größe == 1", "column 3: ö has no meaning", "remove it", id="letter-beyond-ascii"),
        pytest.param("x\xa0== 1", "column 2: U+00A0 has no meaning", "remove it", id="invisible-space"),
        pytest.param("x == '5\n'", "line 1, column 6: this text has no end", "in the same line", id="text-over-lines"),
        pytest.param("x == 'a\tb'", "column 8: the invisible character U+0009", "remove it", id="raw-tab-in-text"),
        pytest.param("x == 1_000", "column 6: 1_000 is not a number", "in decimal", id="underscore-in-number"),
        pytest.param("x < 1e999", "column 5: 1e999 is too large", "write a number between", id="infinite-literal"),
        pytest.param(
            "x ==", "column 5: the condition ends where a name or a value", "write a name", id="no-right-side"
        ),
        pytest.param("x == NOT y", "column 6: there is NOT where a name", "write a name", id="not-behind-an-operator"),
        pytest.param("a b", "column 3: there is b where AND or OR", "put AND or OR between", id="two-names"),
        pytest.param("x NOT == 1", "column 3: NOT must come before", "NOT name == 1", id="not-in-the-middle"),
        pytest.param("(a AND (b)", "column 1: this ( is never closed", "add the missing )", id="open-parenthesis"),
        pytest.param("a AND b)", "column 8: this ) has no matching (", "remove it", id="closing-parenthesis"),
        pytest.param("(a OR b) == true", "column 10: an expression in parentheses", "NOT (...)", id="group-compared"),
        pytest.param("1 < x < 3", "column 7: comparisons can't be chained", "two comparisons with AND", id="chain"),
        pytest.param("!x == 5", "column 1: ! is not an operator", "write NOT", id="exclamation-mark"),
        pytest.param("5", "column 1: 5 is not a condition by itself", "compare it: name == 5", id="bare-number"),
        pytest.param("x in [1]", "column 3: there is in where AND or OR", "an operator between", id="no-lists"),
        pytest.param("a\nAND b = 1", "line 2, column 7: = is not", "write ==", id="line-and-column"),
        pytest.param("a " + "b" * 31, f"column 3: there is {'b' * 30}... where", "put AND", id="long-word-is-cut"),
        pytest.param("f(x.y)", "column 2: f can't be called", "use a plain name", id="the-first-fault-is-told"),
    ],
)
def test_error(text: str, problem: str, remedy: str) -> None:
    error = refusal(text)
    assert error.problem.startswith(problem)
    assert remedy in error.remedy
    assert error.slug == "bad-condition"


# --- Limits


@pytest.mark.parametrize(
    ("fits", "too_much", "problem"),
    [
        pytest.param(
            "x".rjust(MAX_LENGTH),
            "x".rjust(MAX_LENGTH + 1),
            f"the condition has {MAX_LENGTH + 1} characters, more than {MAX_LENGTH}",
            id="length",
        ),
        pytest.param(
            "(" * MAX_DEPTH + "x" + ")" * MAX_DEPTH,
            "(" * (MAX_DEPTH + 1) + "x" + ")" * (MAX_DEPTH + 1),
            f"column {MAX_DEPTH + 1}: parentheses and NOT are nested more than {MAX_DEPTH} deep",
            id="parentheses",
        ),
    ],
)
def test_limits(fits: str, too_much: str, problem: str) -> None:
    normalize(fits)
    assert refusal(too_much).problem == problem


# --- Types that are known when it is loaded


TYPES: dict[str, MetricType] = {"count": "int", "seconds": "number", "done": "bool", "name": "text"}


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        pytest.param(
            "done AND count == '5'",
            'can\'t compare int with text: count == "5"',
            "compare count with a number",
            id="number-with-text",
        ),
        pytest.param(
            "count == 1 AND\n  '5' < count",
            'can\'t compare text with int: "5" < count',
            "compare count with a number",
            id="the-name-keeps-its-type-and-the-literal-goes",
        ),
        pytest.param(
            "true < false",
            "bool has no order: true < false",
            "compare false with true or false by == or !=",
            id="booleans-have-no-order",
        ),
        pytest.param(
            "done AND NOT count",
            "count is int, not bool, and not a condition by itself",
            "compare it: count > 0",
            id="bare-number",
        ),
    ],
)
def test_check_types_refuses(text: str, problem: str, remedy: str) -> None:
    with pytest.raises(ConditionError) as caught:
        check_types(text, TYPES)
    assert caught.value.problem == problem
    assert caught.value.remedy.startswith(remedy)


# --- Other names for things


def test_another_spelling() -> None:
    assert normalize("no_improvements_found") == "no_more_improvements_identified"
    assert normalize("a == 'no_improvements_found'") == 'a == "no_improvements_found"', "a text is no name"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param("a AND b", "c AND d", "a AND b AND c AND d", id="flat"),
        pytest.param("a OR b", "c OR d", "(a OR b) AND (c OR d)", id="or-stays-together"),
    ],
)
def test_conjoin(one: str, other: str, expected: str) -> None:
    assert conjoin(one, other) == expected
    assert names_in(expected) == set("abcd")


# --- What Python says. On mixed types we differ on purpose, so it is asked about comparisons of one type only

Context = dict[str, MetricValue]


class Pair(NamedTuple):
    """The same expression in our language and in Python."""

    ours: str
    python: str


KINDS: dict[str, MetricType] = {
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


contexts = st.fixed_dictionaries({name: VALUES[kind] for name, kind in KINDS.items()})


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
    name = draw(st.sampled_from(sorted(KINDS)))
    kind = KINDS[name]
    form = draw(st.sampled_from(["compare", "compare", "bare"]))
    if form == "bare":
        text = draw(st.sampled_from(["b0", "b1", "true", "false"]))
        return Pair(text, text.title() if text in ("true", "false") else text)
    operators = ["==", "!="] if kind == "bool" else ["==", "!=", "<", "<=", ">", ">="]
    partners = [
        other for other, other_kind in KINDS.items() if {kind, other_kind} <= {"int", "number"} or other_kind == kind
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
