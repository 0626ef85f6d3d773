"""Findings: how they are named, capped, and told apart by what a waiver covers."""

from __future__ import annotations

import json

import pytest

from phase_gate.codec import each_from_json, spell_out_each
from phase_gate.gate.findings import (
    NAMED_AT_MOST,
    Finding,
    cap_findings,
    name_tests,
)


def some(number: int, slug: str = "tests-kept") -> list[Finding]:
    return [Finding(slug=slug, tier="hard", id=f"t.py::test_{index}", detail="gone") for index in range(number)]


def test_one_finding_a_test_in_order() -> None:
    found = name_tests("flaky", "advisory", {"b.py::test_b", "a.py::test_a", "c.txt"}, "passed on a rerun")
    assert [(finding.id, finding.file) for finding in found] == [
        ("a.py::test_a", "a.py"),
        ("b.py::test_b", "b.py"),
        ("c.txt", "c.txt"),
    ]
    assert {(finding.slug, finding.tier, finding.detail) for finding in found} == {
        ("flaky", "advisory", "passed on a rerun")
    }


@pytest.mark.parametrize("number", [0, 1, NAMED_AT_MOST])
def test_few_are_all_named(number: int) -> None:
    assert cap_findings(some(number)) == tuple(some(number))


def test_many_are_named_up_to_a_number_and_one_stands_for_the_rest() -> None:
    found = cap_findings(some(NAMED_AT_MOST + 7))
    assert found[:-1] == tuple(some(NAMED_AT_MOST))
    assert (found[-1].slug, found[-1].tier, found[-1].detail, found[-1].id) == ("tests-kept", "hard", "and 7 more", "")


def test_what_was_named_up_to_a_number_before_still_adds_up() -> None:
    once = cap_findings(some(NAMED_AT_MOST + 9))
    assert cap_findings(once) == once
    assert len(once) - 1 + sum(finding.more for finding in once) == NAMED_AT_MOST + 9


def test_each_slug_has_a_number_of_its_own() -> None:
    found = cap_findings([*some(NAMED_AT_MOST + 1, "one"), *some(2, "two"), *some(NAMED_AT_MOST + 2, "three")])
    assert [finding.detail for finding in found if finding.id == ""] == ["and 1 more", "and 2 more"]
    assert len(found) == NAMED_AT_MOST + 1 + 2 + NAMED_AT_MOST + 1


def test_the_rest_belongs_to_the_same_guard() -> None:
    rows = [
        Finding(slug="outcome-rewritten", guard="outcomes-genuine", tier="hard", id=str(n), detail="d")
        for n in range(30)
    ]
    assert cap_findings(rows)[-1].belongs_to("outcomes-genuine")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(some(NAMED_AT_MOST + 8), id="one-more"),
        pytest.param(some(NAMED_AT_MOST + 6), id="one-less"),
        pytest.param(
            [*some(NAMED_AT_MOST + 6), Finding(slug="tests-kept", tier="hard", id="t.py::test_x", detail="gone")],
            id="as-many-but-another",
        ),
    ],
)
def test_the_rest_is_told_apart_by_what_is_in_it(other: list[Finding]) -> None:
    rest = cap_findings(some(NAMED_AT_MOST + 7))[-1]
    assert rest.key == cap_findings(some(NAMED_AT_MOST + 7))[-1].key
    assert rest.key != cap_findings(other)[-1].key


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Finding(slug="s2", tier="hard", id="i", file="f", detail="d", proof="p"), id="another-slug"),
        pytest.param(Finding(slug="s", tier="hard", id="i2", file="f", detail="d", proof="p"), id="another-test"),
        pytest.param(Finding(slug="s", tier="hard", id="i", file="f2", detail="d", proof="p"), id="another-file"),
        pytest.param(Finding(slug="s", tier="hard", id="i", file="f", detail="d", proof="p2"), id="another-content"),
        pytest.param(Finding(slug="s", tier="hard", id="i", file="f", detail="d"), id="no-content"),
    ],
)
def test_the_key_says_what_it_is_about(other: Finding) -> None:
    one = Finding(slug="s", tier="hard", id="i", file="f", detail="d", proof="p")
    assert one.key != other.key


def test_words_do_not_count_where_there_is_a_proof() -> None:
    one, two = (Finding(slug="s", tier="hard", detail=text, line=len(text), proof="p") for text in ("a", "bb"))
    assert one.key == two.key
    three, four = (Finding(slug="s", tier="hard", detail=text) for text in ("a", "b"))
    assert three.key != four.key


@pytest.mark.parametrize(
    ("slug", "guard", "asked", "expected"),
    [
        ("tests-kept", "", "tests-kept", True),
        ("asserts-off", "outcomes-genuine", "outcomes-genuine", True),
        ("asserts-off", "outcomes-genuine", "asserts-off", True),
        ("asserts-off", "outcomes-genuine", "tests-kept", False),
        ("tests-kept", "", "", False),
    ],
)
def test_belongs_to(slug: str, guard: str, asked: str, expected: bool) -> None:
    assert Finding(slug=slug, guard=guard, tier="hard", detail="d").belongs_to(asked) is expected


def test_through_json() -> None:
    rows = (*some(2), Finding(slug="s", tier="advisory", detail="d", file="f", line=3, guard="g", proof="p"))
    assert each_from_json(Finding, json.loads(json.dumps(spell_out_each(rows)))) == rows
