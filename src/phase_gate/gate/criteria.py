"""The acceptance criteria of a task, and the tests that show them.

Pure. In the first phase, a new failing test shows a criterion; later, passing tests do.
A task without criteria does not load this module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

from phase_gate.gate.inventory import bare_id
from phase_gate.gate.measured import Finding, Measured, Waiver, cap_findings, covered_by, name_tests
from phase_gate.gate.outcomes import SKIPPED, Judgement, Outcomes
from phase_gate.gate.record import Criteria, Criterion, Document
from phase_gate.values import as_dict, replace
from phase_gate.visible import count
from phase_gate.workflow.metrics import MetricValue

GUARD = "criteria-covered"

#: The status of a criterion: shown by older tests already; shown by failing tests; shown by passing tests; not shown;
#: not shown, but waived.
CriterionStatus = Literal["met before", "failing", "passing", "open", "waived"]

#: For a test that is no evidence for its criterion, and for one that passes.
_SILENT, _HOLDS = SKIPPED, frozenset({"passed", "flaky", "xpassed"})


class CriterionRow(Criterion):
    """One line of the traceability table."""

    standing: CriterionStatus
    #: Why it does not meet the requirement of the phase; empty if it does.
    why: str
    #: Tests with their outcomes.
    tests: Mapping[str, str]


def table_to_json(criteria: Criteria, rows: Iterable[CriterionRow], *, phase: str) -> dict[str, Any]:
    """Return the table as `phase-gate status --criteria` shows it."""
    return {
        "file": criteria.file,
        "phase": phase,
        "criteria": [{**as_dict(row), "tests": dict(row.tests)} for row in rows],
        "left_out": [{"line": each.line, "text": each.text} for each in criteria.left_out],
    }


def trace_criteria(
    criteria: Criteria,
    session: Document,
    judged: Judgement,
    *,
    in_first_phase: bool,
    waivers: Iterable[Waiver] = (),
    at: str = "",
) -> tuple[Measured, tuple[CriterionRow, ...]]:
    """Return what is measured of the criteria after a run, and the status of each."""
    if not criteria.listed:
        return _trace_number(criteria, session, judged, in_first_phase=in_first_phase), ()
    outcomes = session.outcomes
    by_criterion: dict[str, list[str]] = {each: [] for each in criteria.ids}
    for test_id, named in session.marked.items():
        for name in named:
            if name in by_criterion and test_id in outcomes:
                by_criterion[name].append(test_id)
    copies = _find_copies(judged.failing & judged.targets, session) if in_first_phase else {}
    rows, holding = [], set[str]()
    for each in criteria.listed:
        tests = {test_id: outcomes[test_id] for test_id in sorted(by_criterion[each.id])}
        wrong = _what_is_wrong(tests, judged)
        if not wrong:
            holding.add(each.id)
        if in_first_phase:
            standing, why = _in_first_phase(each, tests, wrong, judged, session, copies)
        else:
            standing, why = _in_later_phase(tests, wrong, judged)
        rows.append(CriterionRow(**as_dict(each), standing=standing, why=why, tests=tests))
    findings = [
        Finding(slug=GUARD, tier="hard", id=row.id, file=row.file, line=row.line, detail=row.why)
        for row in rows
        if row.standing == "open"
    ]
    if findings and covered_by(waivers, GUARD, cap_findings(findings), at=at):
        # Their tests are no longer required. The findings stay, so that the waiver is visible.
        rows = [replace(row, standing="waived") if row.standing == "open" else row for row in rows]
    left = [row for row in rows if row.standing not in ("met before", "waived")]
    metrics: dict[str, MetricValue] = {
        "criteria_count": len(left),
        "criteria_covered": sum(bool(row.tests) for row in left),
        "criteria_failing": sum(not judged.failing.isdisjoint(row.tests) for row in left),
        "criteria_passing": sum(row.id in holding for row in left),
        "criteria_open": len(findings),
    }
    return Measured(metrics=metrics, findings=(*findings, *_unknown(criteria, session))), tuple(rows)


def _trace_number(criteria: Criteria, session: Document, judged: Judgement, *, in_first_phase: bool) -> Measured:
    """Without a list, only the number is known: that many different tests have to fail."""
    failing = judged.failing & judged.targets
    different = len({_likeness(test_id, session) for test_id in failing})
    missing = max(0, criteria.count - different) if in_first_phase else 0
    metrics: dict[str, MetricValue] = {"criteria_count": criteria.count, "criteria_open": 0}
    if not missing or different == len(failing):
        return Measured(metrics=metrics)  # too few tests are checked by the phase's condition
    detail = f"{criteria.count} criteria, and {count(different, 'different test')}: a copy of a test shows nothing more"
    finding = Finding(slug=GUARD, tier="hard", detail=detail)
    return Measured(metrics={**metrics, "criteria_open": missing}, findings=(finding,))


def _in_first_phase(
    criterion: Criterion, tests: Outcomes, wrong: str, judged: Judgement, session: Document, copies: Mapping[str, str]
) -> tuple[CriterionStatus, str]:
    if not tests:
        return "open", wrong
    if judged.targets.isdisjoint(tests) and not wrong:
        return "met before", ""
    red = [test_id for test_id in tests if test_id in copies]
    # A copy shows the same as its original: only the criteria that the original is marked with, too.
    if any(criterion.id in session.marked.get(copies[each], ()) for each in red):
        return "failing", ""
    if red:
        return "open", f"its test {red[0]} is a copy of {copies[red[0]]}, which is marked with another"
    too_early = {each: bucket for each, bucket in tests.items() if each in judged.passing & judged.targets}
    if too_early:
        # Not open: there is a test, and the condition of the phase checks whether it passes.
        return "passing", _name(too_early)
    return "open", f"none of its tests is new and fails: {_name(tests)}"


def _in_later_phase(tests: Outcomes, wrong: str, judged: Judgement) -> tuple[CriterionStatus, str]:
    failing = {test_id: bucket for test_id, bucket in tests.items() if test_id in judged.failing}
    if failing:
        # Not open: there is a test, and the condition of the phase checks its outcome.
        return "failing", _name(failing)
    return ("open", wrong) if wrong else ("passing", "")


def _what_is_wrong(tests: Outcomes, judged: Judgement) -> str:
    """Return why these tests do not show that a criterion is met; empty if they do."""
    if not tests:
        return "no test is marked with it"
    # A test that is skipped here, as before, does not count: the others decide.
    silent = {each: bucket for each, bucket in tests.items() if bucket in _SILENT and each in judged.exempt}
    if len(silent) == len(tests):
        return f"none of its tests ran: {_name(tests)}"
    wrong = {each: bucket for each, bucket in tests.items() if each not in silent and bucket not in _HOLDS}
    return f"not all of its tests pass: {_name(wrong)}" if wrong else ""


def _name(tests: Outcomes) -> str:
    """Return the first of the tests with its outcome, and the number of the others."""
    first = next(iter(tests))
    more = f", and {len(tests) - 1} more" if len(tests) > 1 else ""
    return f"{first} ({tests[first]}){more}"


def _likeness(test_id: str, session: Document) -> str:
    """Return a key for the checks of a test, with its parameters: another parameter is another test."""
    parameters = test_id[len(bare_id(test_id)) :]
    return session.likeness.get(test_id, test_id) + parameters


def _find_copies(failing: Collection[str], session: Document) -> dict[str, str]:
    """Return each test with its original: the first by name of all copies, which is its own original."""
    originals: dict[str, str] = {}
    return {test_id: originals.setdefault(_likeness(test_id, session), test_id) for test_id in sorted(failing)}


def _unknown(criteria: Criteria, session: Document) -> Iterator[Finding]:
    known = frozenset(criteria.ids)
    for test_id, named in sorted(session.marked.items()):
        for name in named:
            if test_id in session.outcomes and name not in known:
                detail = f"is marked with {name}, which is not in {criteria.file}"
                yield from name_tests("criterion-unknown", "advisory", [test_id], detail)
