"""What conditions mean: comparisons, three values, and how they are shown."""

from __future__ import annotations

import itertools

import pytest

from phase_gate.errors import ConditionError
from phase_gate.workflow import conditions
from phase_gate.workflow.condition_parser import check_types
from phase_gate.workflow.conditions import Clause, Outcome
from phase_gate.workflow.metrics import MetricType, MetricValue

VALUES_BY_TYPE: dict[str, MetricValue] = {"int": 1, "number": 1.5, "bool": True, "text": "a"}
NUMBERS = {"int", "number"}
ORDERS = ("<", "<=", ">", ">=")


def evaluate(text: str, **values: MetricValue) -> bool | None:
    return conditions.evaluate(text, values).met


def only_clause(text: str, **values: MetricValue) -> Clause:
    (clause,) = conditions.evaluate(text, values).clauses
    return clause


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
