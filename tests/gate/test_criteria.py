"""Which tests show which criterion: in the first phase new ones that fail, later those that pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from phase_gate.gate.criteria import GUARD, CriterionRow, table_to_json, trace_criteria
from phase_gate.gate.measured import Measured, Waiver, cap_findings
from phase_gate.gate.outcomes import FAILING, SKIPPED, Bucket, Judgement
from phase_gate.gate.record import Criteria, Criterion, Document
from phase_gate.values import replace
from tests.tables import named

FAILED: Final = "failed"
PASSED: Final = "passed"
SKIP: Final = "skipped"
XFAILED: Final = "xfailed"
BROKEN: Final = "uncollectable"
ERROR: Final = "error"

Traced = tuple[Measured, tuple[CriterionRow, ...]]

BOTH = Criteria(
    count=2,
    file="criteria.md",
    listed=(
        Criterion(id="AC-1", text="It adds up", file="criteria.md", line=3),
        Criterion(id="AC-2", text="Nothing is 0", file="criteria.md", line=4),
    ),
)


def judgement(outcomes: Mapping[str, Bucket], *, old: str = "", known: str = "", new_skip: str = "") -> Judgement:
    """Judge plainly: all tests are of this cycle but the old ones; skips and xfails are exempt unless named."""

    def among(names: str) -> frozenset[str]:
        return frozenset(names.split())

    marked = {each for each, bucket in outcomes.items() if bucket in SKIPPED or bucket in (XFAILED, "xpassed")}
    return Judgement(
        passing=frozenset(each for each, bucket in outcomes.items() if bucket in (PASSED, "flaky")),
        failing=frozenset(each for each, bucket in outcomes.items() if bucket in FAILING) - among(known),
        known_failing=among(known),
        exempt=frozenset(marked) - among(new_skip),
        newly_skipped=among(new_skip),
        odd=frozenset(),
        flaky=frozenset(each for each, bucket in outcomes.items() if bucket == "flaky"),
        targets=frozenset(outcomes) - among(old) - among(known),
        baseline_failing=frozenset(),
        recovered=frozenset(),
    )


def trace(
    marks: Mapping[str, str],
    outcomes: Mapping[str, Bucket],
    *,
    in_first_phase: bool,
    criteria: Criteria = BOTH,
    alike: str = "",
    old: str = "",
    known: str = "",
    new_skip: str = "",
) -> Traced:
    """Trace tests `{test: "AC-1 AC-2"}`.

    :param alike: tests that are copies of each other; bare names.
    """
    likeness = {each: "same" for each in outcomes if each.partition("[")[0] in alike.split()}
    judged = judgement(outcomes, old=old, known=known, new_skip=new_skip)
    return trace_criteria(criteria, session(marks, outcomes, likeness), judged, in_first_phase=in_first_phase)


def session(marks: Mapping[str, str], outcomes: Mapping[str, Bucket], likeness: Mapping[str, str]) -> Document:
    marked = {test: tuple(ids.split()) for test, ids in marks.items()}
    return Document(outcomes=outcomes, exit_status=0, tally={}, duration_s=0.0, marked=marked, likeness=likeness)


#: `a` is marked with the first criterion, `b` with the second.
EACH = {"a": "AC-1", "b": "AC-2"}
#: `c` is marked with the second, too.
THREE = {**EACH, "c": "AC-2"}
NO_MARK = "no test is marked with it"


def ended(a: Bucket, *others: Bucket) -> dict[str, Bucket]:
    return dict(zip("abcd", (a, *others), strict=False))


@pytest.mark.parametrize(
    ("marks", "outcomes", "more", "expected", "why"),
    named(
        {
            "one-test-each": (EACH, ended(FAILED, FAILED), {}, "failing failing", ""),
            "a-test-without-its-mark": ({"a": "AC-1"}, ended(FAILED, FAILED), {}, "failing open", NO_MARK),
            "a-new-test-that-passes": (EACH, ended(FAILED, PASSED), {}, "failing passing", "b (passed)"),
            "a-new-test-that-is-skipped": (
                EACH,
                ended(FAILED, SKIP),
                {},
                "failing open",
                "none of its tests is new and fails: b (skipped)",
            ),
            "shown-by-an-older-test": (EACH, ended(FAILED, PASSED), {"old": "b"}, "failing met-before", ""),
            "a-copy-under-another-id": (
                EACH,
                ended(FAILED, FAILED),
                {"alike": "a b"},
                "failing open",
                "its test b is a copy of a, which is marked with another",
            ),
        }
    ),
)
def test_in_the_first_phase(
    marks: Mapping[str, str],
    outcomes: Mapping[str, Bucket],
    more: dict[str, Any],
    expected: str,
    why: str,
) -> None:
    traced, rows = trace(marks, outcomes, in_first_phase=True, **more)
    assert " ".join(row.standing.replace(" ", "-") for row in rows) == expected
    assert "".join(row.why for row in rows) == why
    assert traced.metrics["criteria_open"] == expected.count("open")
    assert traced.metrics["criteria_count"] == 2 - expected.count("met-before")
    hard = [finding for finding in traced.findings if finding.tier == "hard"]
    assert [finding.detail for finding in hard] == [row.why for row in rows if row.standing == "open"]
    assert {finding.slug for finding in hard} <= {GUARD}


@pytest.mark.parametrize(
    ("marks", "outcomes", "more", "expected", "why"),
    named(
        {
            "both-pass": (EACH, ended(PASSED, PASSED), {}, "passing passing", ""),
            "one-fails": (EACH, ended(PASSED, FAILED), {}, "passing failing", "b (failed)"),
            "no-mark": ({"a": "AC-1"}, ended(PASSED, PASSED), {}, "passing open", NO_MARK),
            "newly-skipped": (
                EACH,
                ended(PASSED, SKIP),
                {"new_skip": "b"},
                "passing open",
                "not all of its tests pass: b (skipped)",
            ),
            "always-skipped": (EACH, ended(PASSED, SKIP), {}, "passing open", "none of its tests ran: b (skipped)"),
            "one-is-for-another-platform": (THREE, ended(PASSED, PASSED, "skipped-if"), {}, "passing passing", ""),
        }
    ),
)
def test_in_later_phases(
    marks: Mapping[str, str],
    outcomes: Mapping[str, Bucket],
    more: dict[str, Any],
    expected: str,
    why: str,
) -> None:
    traced, rows = trace(marks, outcomes, in_first_phase=False, **more)
    assert " ".join(row.standing.replace(" ", "-") for row in rows) == expected
    assert "".join(row.why for row in rows) == why
    assert traced.metrics["criteria_count"] == 2
    assert traced.metrics["criteria_open"] == expected.count("open")
    assert traced.metrics["criteria_failing"] == expected.count("failing")
    assert traced.metrics["criteria_passing"] == expected.count("passing")
    assert len(traced.findings) == expected.count("open")


def test_metrics_count_what_is_left_to_do() -> None:
    three = replace(BOTH, count=3, listed=(*BOTH.listed, Criterion(id="AC-3", file="criteria.md", line=5)))
    traced, _ = trace(
        {"a": "AC-1", "b": "AC-2"}, {"a": PASSED, "b": FAILED}, old="a", criteria=three, in_first_phase=True
    )
    assert traced.metrics == {
        "criteria_count": 2,
        "criteria_covered": 1,
        "criteria_failing": 1,
        "criteria_passing": 0,
        "criteria_open": 1,
    }


def test_an_id_that_no_criterion_has_is_only_told() -> None:
    marks = {"tests/test_a.py::a": "AC-1 AC-9", "tests/test_a.py::b": "AC-2", "gone": "AC-8"}
    outcomes: dict[str, Bucket] = {"tests/test_a.py::a": FAILED, "tests/test_a.py::b": FAILED}
    traced, _ = trace(marks, outcomes, in_first_phase=True)
    (finding,) = traced.findings
    assert (finding.slug, finding.tier, finding.id) == ("criterion-unknown", "advisory", "tests/test_a.py::a")
    assert finding.detail == "is marked with AC-9, which is not in criteria.md"
    assert traced.metrics["criteria_open"] == 0


@pytest.mark.parametrize(
    ("count", "outcomes", "alike", "open_now", "detail"),
    named(
        {
            "as-many-tests": (2, {"a": FAILED, "b": FAILED}, "", 0, ""),
            "too-few-is-the-conditions-business": (3, {"a": FAILED, "b": FAILED}, "", 0, ""),
            "a-copy": (
                3,
                {"a": FAILED, "b": FAILED, "c": FAILED},
                "b c",
                1,
                "3 criteria, and 2 different tests: a copy",
            ),
        }
    ),
)
def test_a_bare_number(count: int, outcomes: Mapping[str, Bucket], alike: str, open_now: int, detail: str) -> None:
    number = Criteria(count=count)
    traced, rows = trace({}, outcomes, criteria=number, alike=alike, in_first_phase=True)
    assert traced.metrics == {"criteria_count": count, "criteria_open": open_now}
    assert rows == ()
    assert [finding.detail.startswith(detail) for finding in traced.findings] == [True] * bool(open_now)
    later, _ = trace({}, outcomes, criteria=number, alike=alike, in_first_phase=False)
    assert (later.metrics["criteria_open"], later.findings) == (0, ())


WAIVED_AT = "2026-01-01T00:00:00.000Z"


def waive(traced: Measured, *, guard: str = GUARD, expires: str = "") -> Waiver:
    keys = tuple(finding.key for finding in cap_findings(traced.findings))
    return Waiver(guard=guard, findings=keys, reason="by hand", by="me", at=WAIVED_AT, expires=expires)


def test_a_waived_criterion_waits_for_no_test() -> None:
    outcomes: dict[str, Bucket] = {"a": FAILED}
    document = session({"a": "AC-1"}, outcomes, {})
    before, rows_before = trace_criteria(BOTH, document, judgement(outcomes), in_first_phase=True)
    assert before.metrics["criteria_count"] == 2

    def after(waiver: Waiver) -> Traced:
        return trace_criteria(
            BOTH, document, judgement(outcomes), in_first_phase=True, waivers=[waiver], at="2026-01-02"
        )

    traced, rows = after(waive(before))
    assert [row.standing for row in rows] == ["failing", "waived"]
    assert (traced.metrics["criteria_count"], traced.metrics["criteria_open"]) == (1, 1)
    assert traced.findings == before.findings  # so that every verdict shows what is waived
    for other in (waive(before, guard="tests-kept"), waive(before, expires="2026-01-01"), waive(Measured())):
        assert after(other) == (before, rows_before)


def test_the_table_as_json() -> None:
    criteria = replace(BOTH, left_out=(Criterion(line=9, text="UTF-8 is used"),))
    _, rows = trace({"a": "AC-1"}, {"a": FAILED}, criteria=criteria, in_first_phase=True)
    table = table_to_json(criteria, rows, phase="RED")
    assert (table["file"], table["phase"]) == ("criteria.md", "RED")
    assert table["left_out"] == [{"line": 9, "text": "UTF-8 is used"}]
    place = {"file": "criteria.md", "text": "It adds up", "line": 3}
    assert table["criteria"][0] == {**place, "id": "AC-1", "standing": "failing", "why": "", "tests": {"a": "failed"}}
    assert table["criteria"][1]["why"] == "no test is marked with it"
