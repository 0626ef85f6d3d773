"""Conditions that hold, or fail, whatever is measured: proven where we say so, and found where it is so."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase_gate.rules.truth import Names, find_fixed_truth
from phase_gate.workflow.conditions import parse_condition
from phase_gate.workflow.metrics import AT_MOST, BOUNDS, METRIC_TYPES, SIGNED, MetricType, MetricValue

TYPES: dict[str, MetricType] = {
    **METRIC_TYPES,
    "agreed": "bool",
    "asked": "bool",
    "votes": "int",
    "other_votes": "int",
    "weight": "number",
    "note": "text",
    "title": "text",
    "needed": "int",
}


@pytest.mark.parametrize(
    "text",
    [
        "tests_total >= 0",
        "0 <= tests_total",
        "tests_total > -1",
        "tests_total != -1",
        "tests_failing == 0 OR tests_failing > 0",
        "tests_failing < 1 OR tests_failing >= 0.5",
        "agreed == true OR agreed != true",
        "agreed OR NOT agreed",
        "agreed == true OR agreed == false",
        "agreed == asked OR agreed != asked",
        "agreed == asked OR agreed OR asked",
        "votes >= 3 OR votes < 3",
        "votes >= 3 OR votes <= 2",
        "weight >= 3 OR weight < 3",
        "NOT (votes > 3 AND votes < 4)",
        "votes == other_votes OR votes != other_votes",
        "votes <= other_votes OR votes > other_votes",
        "votes < other_votes OR votes >= 2 OR other_votes < 2",
        "iteration > 0",
        "confidence <= 100",
        "tests_passing <= tests_total",
        "tests_failing == 0 OR tests_total > 0",
        "tests_total >= needed",
        "needed == 0 OR tests_total > 5",
        'note == "a" OR note != "a"',
        'note != "a" OR note != "b"',
        'NOT (note == "a" AND note in ["b", "c"])',
        'note in ["a", "b"] OR NOT (note in ["b", "a"])',
        'note < "a" OR note >= "a"',
        'note < "a" OR "a" <= note',
        'note <= "a" OR note >= "a"',
        "NOT (votes in [0.5])",
        "note == title OR title != note",
        "note == note",
        "votes == votes",
        "agreed == null OR agreed != null",
        "true OR agreed",
        "tests_total >= 0 AND (agreed OR NOT agreed)",
        "(agreed OR votes > 3) OR (NOT agreed AND votes <= 3)",
    ],
)
def test_holds_whatever_is_measured(text: str) -> None:
    assert truth(text) is True
    assert truth(f"NOT ({text})") is False


@pytest.mark.parametrize(
    "text",
    [
        "tests_total > 0",
        "tests_failing == 0",
        "agreed",
        "agreed == asked",
        "NOT agreed OR asked",
        "votes >= 0",
        "quality_delta >= 0",
        "weight > 3 OR weight < 3",
        "NOT (weight > 3 AND weight < 4)",
        "votes <= other_votes",
        "votes < other_votes OR votes > other_votes",
        "iteration > 1",
        "confidence < 100",
        "tests_total <= tests_passing",
        "tests_passing == 0 OR tests_failing == 0",
        'note == "a"',
        'note < "a" OR note > "a"',
        "note == title",
        "agreed != null",
        "tests_total != null",
        "tests_total >= 0 AND agreed",
    ],
)
def test_depends_on_something(text: str) -> None:
    assert truth(text) is None
    assert truth(f"NOT ({text})") is None


def test_conditions_that_exclude_each_other_never_hold_together() -> None:
    names = Names(types=TYPES)
    pair = [parse_condition("tests_failing == tests_total AND tests_total > 0"), parse_condition("tests_failing < 1")]
    assert find_fixed_truth(pair, names) is False
    assert find_fixed_truth(pair[:1], names) is None


def test_a_parameter_is_a_value_only_where_it_is_given() -> None:
    condition = parse_condition("tests_total >= needed")
    assert find_fixed_truth([condition], Names(types=TYPES, values={"needed": 1})) is None
    assert find_fixed_truth([condition], Names(types=TYPES)) is None


def test_too_many_combinations_say_nothing() -> None:
    # A chain that comes back to where it began can't be equal everywhere but at its end.
    chain = " OR ".join(f"b{number} != b{number + 1}" for number in range(13))
    condition = parse_condition(f"{chain} OR b13 == b0")
    types: dict[str, MetricType] = dict.fromkeys(sorted(condition.names), "bool")
    assert find_fixed_truth([condition], Names(types=types)) is None


def test_parts_without_a_common_name_are_looked_at_one_by_one() -> None:
    names = [f"b{number}" for number in range(60)]
    types: dict[str, MetricType] = dict.fromkeys(names, "bool")
    always = parse_condition(" AND ".join(f"({name} OR NOT {name})" for name in names))
    assert find_fixed_truth([always], Names(types=types)) is True
    never = parse_condition(" AND ".join([*names, "NOT b7"]))
    assert find_fixed_truth([never], Names(types=types)) is False


def test_the_longest_condition_is_looked_at_in_no_time() -> None:
    assert truth(" OR ".join(f"(votes > {number} AND other_votes > {number})" for number in range(240))) is None


def test_every_bound_speaks_of_a_metric() -> None:
    named = {*BOUNDS, *SIGNED, *itertools.chain.from_iterable(AT_MOST)}
    assert named <= METRIC_TYPES.keys()


def truth(text: str) -> bool | None:
    condition = parse_condition(text)
    condition.check_types(TYPES)
    return find_fixed_truth([condition], Names(types=TYPES, values={"needed": 0}))


# Against all values of a small world: no constant is so large that a larger world would say something else.

#: Few enough that the module takes seconds; the property was also run with 3,000.
thorough = settings(deadline=None, max_examples=40)

WORLD: dict[str, tuple[MetricValue, ...]] = {
    "votes": tuple(range(-3, 6)),
    "weight": tuple(number / 4 for number in range(-4, 13)),
    "agreed": (True, False),
    "note": ("a", "b", "c", "d"),
}

number_literals = st.sampled_from(["0", "1", "2", "0.5"])
operators = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
clauses = st.one_of(
    st.builds("{} {} {}".format, st.sampled_from(["votes", "weight"]), operators, number_literals),
    st.builds("{} {} {}".format, number_literals, operators, st.sampled_from(["votes", "weight"])),
    st.builds("votes {} weight".format, operators),
    st.sampled_from(["agreed", "agreed == true", "agreed != true", "true", "false"]),
    st.sampled_from(['note == "a"', 'note != "a"', '"b" == note', 'note in ["a", "b"]', 'note in ["a", "b", "c"]']),
    st.sampled_from(["votes in [0, 1]", "votes in [0.5]"]),
)
trees = st.recursive(
    clauses,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=6,
)


@thorough
@given(trees)
def test_it_is_as_in_a_small_world(text: str) -> None:
    condition = parse_condition(text)
    names = sorted(condition.names)
    verdicts = {
        condition.evaluate(dict(zip(names, values, strict=True))).met
        for values in itertools.product(*(WORLD[name] for name in names))
    }
    found = truth(text)
    if found is not None:
        assert verdicts == {found}
    else:
        assert verdicts == {True, False}
