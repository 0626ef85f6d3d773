"""The rules of the condition language, one table each."""

from __future__ import annotations

import itertools

import pytest

from phase_gate.errors import ConditionError
from phase_gate.workflow import conditions
from phase_gate.workflow.condition_parser import MAX_DEPTH, MAX_LENGTH, check_types, conjoin, normalize
from phase_gate.workflow.conditions import Clause, Outcome, names_in
from phase_gate.workflow.metrics import MetricType, MetricValue

VALUES_BY_TYPE: dict[str, MetricValue] = {"int": 1, "number": 1.5, "bool": True, "text": "a"}
NUMBERS = {"int", "number"}
ORDERS = ("<", "<=", ">", ">=")


def evaluate(text: str, **values: MetricValue) -> bool | None:
    return conditions.evaluate(text, values).met


def only_clause(text: str, **values: MetricValue) -> Clause:
    (clause,) = conditions.evaluate(text, values).clauses
    return clause


def refusal(text: str) -> ConditionError:
    with pytest.raises(ConditionError) as caught:
        normalize(text)
    return caught.value


# --- What is true


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x == 0005", True, id="zeros-in-front-mean-nothing"),
        pytest.param(r"""odd == 'a\b"c'""", True, id="no-escapes"),
        pytest.param("name == '#) AND ('", False, id="text-holds-anything"),
        pytest.param("yes == TRUE", True, id="true-in-upper-case"),
        pytest.param("NOT x == 4", True, id="not-takes-the-whole-clause"),
        pytest.param("No aNd nO", False, id="words-in-mixed-case-do-not-touch-names"),
    ],
)
def test_evaluate(text: str, expected: bool) -> None:
    values: dict[str, MetricValue] = {
        "x": 5,
        "yes": True,
        "no": False,
        "No": False,
        "nO": False,
        "name": "ann",
        "odd": 'a\\b"c',
    }
    assert conditions.evaluate(text, values).met is expected


# --- What can't be compared


def expected_verdict(operator: str, left: str, right: str) -> bool | None:
    """The rule once more, in other words than the code: which pairs of types have an answer."""
    is_pair_of_numbers = {left, right} <= NUMBERS
    if operator in ORDERS:
        has_answer = is_pair_of_numbers or left == right == "text"
    else:
        has_answer = is_pair_of_numbers or left == right
    if not has_answer:
        return None
    x, y = VALUES_BY_TYPE[left], VALUES_BY_TYPE[right]
    if operator in ORDERS:
        assert isinstance(x, int | float | str)
        return bool(eval(f"x {operator} y", {"x": x, "y": y}))
    return (x == y) is (operator == "==")


@pytest.mark.parametrize("operator", ["==", "!=", *ORDERS])
@pytest.mark.parametrize(
    ("left", "right"),
    [pytest.param(*pair, id=f"{pair[0]}-with-{pair[1]}") for pair in itertools.product(VALUES_BY_TYPE, repeat=2)],
)
def test_every_pair_of_types(operator: str, left: str, right: str) -> None:
    expected = expected_verdict(operator, left, right)
    condition = f"x {operator} y"
    assert evaluate(condition, x=VALUES_BY_TYPE[left], y=VALUES_BY_TYPE[right]) is expected
    types: dict[str, MetricType] = {"x": left, "y": right}  # type: ignore[dict-item]
    if expected is None:
        with pytest.raises(ConditionError, match=condition):
            check_types(condition, types)
    else:
        check_types(condition, types)


@pytest.mark.parametrize(
    ("text", "values", "unknown"),
    [
        pytest.param("x == 1", {}, ("x",), id="no-value"),
        pytest.param("x == 1", {"x": None}, ("x",), id="none-is-no-value"),
        pytest.param("1 == true", {}, (), id="a-boolean-is-no-integer"),
        pytest.param("x < y", {"x": True, "y": False}, (), id="booleans-have-no-order"),
        pytest.param("x", {"x": 1}, (), id="bare-number"),
        pytest.param("x > 1", {"x": float("nan")}, ("x",), id="nan"),
        pytest.param("x > 1", {"x": 10**5000}, ("x",), id="integer-too-long-to-print"),
        pytest.param("x == 1", {"x": [1]}, ("x",), id="value-of-another-type"),
    ],
)
def test_an_unknown_clause(text: str, values: dict[str, MetricValue], unknown: tuple[str, ...]) -> None:
    clause = only_clause(text, **values)
    assert (clause.met, clause.unknown) == (None, unknown)


def test_a_subclass_with_its_own_equality_is_not_believed() -> None:
    class Agreeable(int):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = int.__hash__

    assert evaluate("x == 1", x=Agreeable(7)) is None


# --- Three values


TRUTH = {"t": True, "f": False}  # u has no value


@pytest.mark.parametrize(
    ("verdict", "texts"),
    [
        (True, "t AND t; t OR u; u OR t; NOT f; NOT (f AND u); NOT NOT (t OR f)"),
        (False, "t AND f; f AND u; u AND f; f OR f; NOT t; NOT (u OR t)"),
        (None, "t AND u; u AND t; u AND u; f OR u; u OR f; u OR u; NOT u; NOT (t AND u); u == u; NOT u OR u"),
    ],
)
def test_three_valued_logic(verdict: bool | None, texts: str) -> None:
    for text in texts.split("; "):
        assert conditions.evaluate(text, TRUTH).met is verdict, text


# --- The explanation


def test_a_clause_in_full() -> None:
    assert conditions.evaluate("passing==total", {"passing": 5, "total": 5, "other": 1}) == Outcome(
        met=True,
        clauses=(
            Clause(
                text="passing == total",
                met=True,
                values={"passing": 5, "total": 5},
                unknown=(),
                shown="5 == 5",
                group=None,
            ),
        ),
    )


@pytest.mark.parametrize(
    ("text", "values", "shown"),
    [
        pytest.param("x == 0", {"x": 0}, "0", id="only-the-value-beside-a-literal"),
        pytest.param("x >= y", {"x": 5}, "5 >= ?", id="question-mark-for-unknown"),
        pytest.param("NOT x == y", {"x": 1, "y": 2}, "NOT 1 == 2", id="not-stays-before-two-values"),
        pytest.param("x == 'a'", {"x": 'say "a"'}, "'say \"a\"'", id="text-is-quoted"),
        pytest.param("x == 'a'", {"x": "\x1b[31m\n"}, r'"\u001b[31m\u000a"', id="text-cannot-steer-the-terminal"),
        pytest.param("x == 'a'", {"x": "b" * 100}, f'"{"b" * 60}..."', id="long-text-is-cut"),
        pytest.param("1 == 2", {}, "1 == 2", id="literals-as-they-are"),
    ],
)
def test_shown(text: str, values: dict[str, MetricValue], shown: str) -> None:
    assert only_clause(text, **values).shown == shown


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        pytest.param("NOT a AND NOT NOT b", [None, None], id="a-negated-leaf-has-none"),
        pytest.param("a and (b or c)", [None, "b OR c", "b OR c"], id="or-group"),
        pytest.param("a AND (b OR NOT (c OR d))", [None, *["b OR NOT (c OR d)"] * 3], id="the-outermost-group-counts"),
    ],
)
def test_group(text: str, groups: list[str | None]) -> None:
    assert [clause.group for clause in conditions.evaluate(text, {}).clauses] == groups


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
