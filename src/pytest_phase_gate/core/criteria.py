"""The acceptance criteria of a task, and which tests show them.

Pure. In the first phase a criterion is shown by a failing test of its own; later by tests that pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from pytest_phase_gate.core.findings import Finding
from pytest_phase_gate.core.inventory import bare_id
from pytest_phase_gate.core.metrics import MetricValue
from pytest_phase_gate.core.outcomes import Judgement, Outcomes
from pytest_phase_gate.core.values import Value, as_dict, field

GUARD = "criteria-covered"

#: How a criterion stands: shown before this cycle, by a failing test (as a first phase wants it), by passing ones, not.
Standing = Literal["met before", "failing", "passing", "open"]


class Criterion(Value):
    id: str
    text: str = ""
    file: str = ""
    line: int | None = None


class Criteria(Value):
    """A bare number, or a list with ids."""

    count: int = 1
    listed: tuple[Criterion, ...] = ()
    #: The file that they stand in, relative to the root.
    file: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(each.id for each in self.listed)


class Links(Value):
    """What the session shows about tests and criteria."""

    #: Ids of criteria by test.
    criteria: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: What a test checks, as a hash: tests that share it are copies of each other.
    likeness: Mapping[str, str] = field(default_factory=dict)


class CriterionRow(Value):
    """One line of the traceability table."""

    id: str
    text: str
    file: str
    line: int | None
    standing: Standing
    #: Why it is open.
    why: str
    #: Tests with how they ended.
    tests: Mapping[str, str]


class Traced(Value):
    metrics: Mapping[str, MetricValue]
    rows: tuple[CriterionRow, ...] = ()
    findings: tuple[Finding, ...] = ()


def rows_to_json(rows: Iterable[CriterionRow]) -> list[dict[str, Any]]:
    return [{**as_dict(row), "tests": dict(row.tests)} for row in rows]


def trace_criteria(
    criteria: Criteria, links: Links, judged: Judgement, outcomes: Outcomes, *, in_first_phase: bool
) -> Traced:
    """Return how each criterion stands after a run."""
    failing = judged.failing & judged.targets
    if not criteria.listed:
        # Of a bare number it is only known that as many different tests have to fail.
        different = len({_likeness(test_id, links) for test_id in failing})
        missing = max(0, criteria.count - different) if in_first_phase else 0
        findings = () if not missing or different == len(failing) else (_copies(criteria, different),)
        open_now = missing if findings else 0  # too few tests are what the phase's condition speaks of
        return Traced(metrics={"criteria_count": criteria.count, "criteria_open": open_now}, findings=findings)
    by_criterion: dict[str, list[str]] = {each: [] for each in criteria.ids}
    for test_id, named in links.criteria.items():
        for name in named:
            if name in by_criterion and test_id in outcomes:
                by_criterion[name].append(test_id)
    copies = _find_copies(failing, links) if in_first_phase else {}
    rows = []
    for each in criteria.listed:
        tests = sorted(by_criterion[each.id])
        if in_first_phase:
            standing, why = _in_first_phase(each, tests, failing, judged, links, copies)
        else:
            standing, why = _in_later_phase(tests, judged, outcomes)
        shown = {test_id: str(outcomes[test_id]) for test_id in tests}
        rows.append(
            CriterionRow(
                id=each.id, text=each.text, file=each.file, line=each.line, standing=standing, why=why, tests=shown
            )
        )
    left = [row for row in rows if row.standing != "met before"]
    metrics: dict[str, MetricValue] = {
        "criteria_count": len(left),
        "criteria_covered": sum(bool(row.tests) for row in left),
        "criteria_failing": sum(any(test_id in judged.failing for test_id in row.tests) for row in left),
        "criteria_passing": sum(bool(row.tests) and judged.passing.issuperset(row.tests) for row in left),
        "criteria_open": sum(row.standing == "open" for row in left),
    }
    return Traced(metrics=metrics, rows=tuple(rows), findings=(*_open(rows), *_unknown(criteria, links, outcomes)))


def _in_first_phase(
    criterion: Criterion,
    tests: list[str],
    failing: Collection[str],
    judged: Judgement,
    links: Links,
    copies: Mapping[str, str],
) -> tuple[Standing, str]:
    if not tests:
        return "open", "no test is marked with it"
    if judged.targets.isdisjoint(tests) and judged.passing.issuperset(tests):
        return "met before", ""
    red = [test_id for test_id in tests if test_id in failing]
    if not red:
        return "open", "none of its tests is new and fails"
    # A copy shows what its original shows: only the criteria that the original is marked with, too.
    own = [each for each in red if criterion.id in links.criteria.get(copies.get(each, each), ())]
    if own:
        return "failing", ""
    return "open", f"its test is a copy of {copies[red[0]]}, which is there for another criterion"


def _in_later_phase(tests: list[str], judged: Judgement, outcomes: Outcomes) -> tuple[Standing, str]:
    if not tests:
        return "open", "no test is marked with it"
    wrong = [test_id for test_id in tests if test_id not in judged.passing]
    if not wrong:
        return "passing", ""
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return "open", f"does not pass: {wrong[0]} ({outcomes[wrong[0]]}){more}"


def _likeness(test_id: str, links: Links) -> str:
    """Return what the test checks, with its parameters: another parameter is another test."""
    parameters = test_id[len(bare_id(test_id)) :]
    return links.likeness.get(test_id, test_id) + parameters


def _find_copies(failing: Collection[str], links: Links) -> dict[str, str]:
    """Return copy -> original; the first by name is the original."""
    originals: dict[str, str] = {}
    return {test_id: originals.setdefault(_likeness(test_id, links), test_id) for test_id in sorted(failing)}


def _copies(criteria: Criteria, different: int) -> Finding:
    detail = f"{criteria.count} criteria, and {different} different test(s): copies of a test show nothing more"
    return Finding(slug=GUARD, tier="hard", detail=detail)


def _open(rows: Iterable[CriterionRow]) -> list[Finding]:
    return [
        Finding(slug=GUARD, tier="hard", id=row.id, file=row.file, line=row.line, detail=row.why)
        for row in rows
        if row.standing == "open"
    ]


def _unknown(criteria: Criteria, links: Links, outcomes: Outcomes) -> list[Finding]:
    known = frozenset(criteria.ids)
    return [
        Finding(
            slug="criterion-unknown",
            tier="advisory",
            id=test_id,
            file=test_id.partition("::")[0],
            detail=f"is marked with {name}, which is not in {criteria.file}",
        )
        for test_id, named in sorted(links.criteria.items())
        if test_id in outcomes
        for name in named
        if name not in known
    ]
