"""Findings: how they are named, capped, and told apart by what a waiver covers; and how long a waiver lasts."""

from __future__ import annotations

import pytest

from phase_gate.gate.measured import NAMED_AT_MOST, Finding, Waiver, cap_findings
from phase_gate.values import replace

NOW = "2026-07-01T12:00:00.000Z"
LATER = "2026-07-01T12:00:00.001Z"
ONE = Finding(slug="s", tier="hard", id="i", file="f", detail="d", proof="p")


def some(number: int, slug: str = "tests-kept") -> list[Finding]:
    return [Finding(slug=slug, tier="hard", id=f"t.py::test_{index}", detail="gone") for index in range(number)]


def test_many_are_named_up_to_a_number_and_one_stands_for_the_rest() -> None:
    found = cap_findings(some(NAMED_AT_MOST + 7))
    assert found[:-1] == tuple(some(NAMED_AT_MOST))
    assert (found[-1].slug, found[-1].tier, found[-1].detail, found[-1].id) == ("tests-kept", "hard", "and 7 more", "")
    assert cap_findings(found) == found, "what was capped before stays as it is"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(some(NAMED_AT_MOST + 8), id="one-more"),
        pytest.param(some(NAMED_AT_MOST + 6), id="one-less"),
        pytest.param([*some(NAMED_AT_MOST + 6), replace(ONE, slug="tests-kept")], id="as-many-but-another"),
    ],
)
def test_the_rest_is_told_apart_by_what_is_in_it(other: list[Finding]) -> None:
    rest = cap_findings(some(NAMED_AT_MOST + 7))[-1]
    assert rest.key == cap_findings(some(NAMED_AT_MOST + 7))[-1].key
    assert rest.key != cap_findings(other)[-1].key


@pytest.mark.parametrize("change", [{"slug": "t"}, {"id": "j"}, {"file": "g"}, {"proof": "q"}, {"proof": ""}])
def test_the_key_says_what_it_is_about(change: dict[str, str]) -> None:
    assert ONE.key != replace(ONE, **change).key


def test_words_do_not_count_where_there_is_a_proof() -> None:
    assert ONE.key == replace(ONE, detail="in other words", line=3).key
    assert replace(ONE, proof="").key != replace(ONE, proof="", detail="in other words").key


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
    several = [replace(ONE, slug=slug, guard=guard, id=str(number)) for number in range(NAMED_AT_MOST + 1)]
    assert {finding.belongs_to(asked) for finding in cap_findings(several)} == {expected}


@pytest.mark.parametrize(
    ("expires", "at", "expected"),
    [
        pytest.param("", "9999-01-01T00:00:00.000Z", True, id="without-an-end-it-lasts"),
        pytest.param(LATER, NOW, True, id="a-moment-before"),
        pytest.param(NOW, NOW, False, id="the-very-moment"),
        pytest.param(NOW, LATER, False, id="a-moment-after"),
    ],
)
def test_in_force(expires: str, at: str, expected: bool) -> None:
    waiver = Waiver(guard="g", findings=(), reason="because", by="dev", at=NOW, expires=expires)
    assert waiver.is_in_force(at) is expected
