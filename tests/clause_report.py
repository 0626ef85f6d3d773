"""Which clause is shown by which test, and how it ended: `python -m tests.clause_report`.

As a pytest plugin it lets every report carry the criteria of its test, so that workers may run them too. As a program
it runs the tests with such a mark and prints a table. A clause without a test is open; a mark that names no clause is
an error.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
CRITERIA = Path(__file__).parent / "criteria.yaml"

#: Key of the report's property.
PROPERTY = "criterion"

#: Worst first: what several stages, or several parameter sets, come to.
OUTCOMES = ("failed", "skipped", "passed")
OPEN = "open"

#: Clauses with their tests (without parameters), and the outcomes of each.
Results = Mapping[str, Mapping[str, Sequence[str]]]


def load_criteria(path: Path = CRITERIA) -> dict[str, str]:
    """Return the clauses, ids with their texts, in the order of the file."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {str(clause): str(text) for clause, text in found.items()}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers(PROPERTY):
            item.user_properties += [(PROPERTY, clause) for clause in mark.args]


class ClauseRecorder:
    """Keeps the outcome of every test that names a clause."""

    def __init__(self) -> None:
        #: Outcome by test and clause; the worst of its stages.
        self._outcomes: dict[tuple[str, str], str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, clause in report.user_properties:
            if name == PROPERTY:
                key = (str(clause), report.nodeid)
                worst = min(report.outcome, self._outcomes.get(key, OUTCOMES[-1]), key=OUTCOMES.index)
                self._outcomes[key] = worst

    def results(self) -> Results:
        found: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for (clause, node), outcome in sorted(self._outcomes.items()):
            found[clause][node.partition("[")[0]].append(outcome)
        return found


def find_unknown(criteria: Mapping[str, str], results: Results) -> list[str]:
    return sorted(set(results) - set(criteria))


def render_table(criteria: Mapping[str, str], results: Results) -> str:
    """Return the table in Markdown: one row for each test of a clause, one for each clause that has none."""
    rows = ["| clause | what it demands | test | outcome |", "| --- | --- | --- | --- |"]
    for clause, text in criteria.items():
        tests = results.get(clause, {})
        for index, (test, outcomes) in enumerate(tests.items()):
            shown = text if index == 0 else ""
            rows.append(f"| {clause} | {_escape(shown)} | `{test}` | {_describe(outcomes)} |")
        if not tests:
            rows.append(f"| {clause} | {_escape(text)} | | {OPEN} |")
    shown_clauses = sum(clause in results for clause in criteria)
    failing = [
        clause
        for clause in criteria
        if {outcome for row in results.get(clause, {}).values() for outcome in row} - {"passed"}
    ]
    said = f"Clauses with a test: {shown_clauses} of {len(criteria)}; open: {len(criteria) - shown_clauses}."
    if failing:
        said += f" Not passing: {', '.join(failing)}."
    return "\n".join([*rows, "", said]) + "\n"


def _describe(outcomes: Sequence[str]) -> str:
    counted = [(outcome, outcomes.count(outcome)) for outcome in OUTCOMES if outcome in outcomes]
    if len(counted) == 1 and counted[0][1] == 1:
        return counted[0][0]
    return ", ".join(f"{number} {outcome}" for outcome, number in counted)


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: Iterable[str] | None = None) -> int:
    """Run the tests, write the table, and return 0 if all passed, 1 if not, 2 if a mark names no clause."""
    parser = argparse.ArgumentParser(prog="python -m tests.clause_report", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the table to FILE instead of printing it")
    parser.add_argument("--criteria", metavar="FILE", type=Path, default=CRITERIA, help="other list of clauses")
    parser.add_argument(
        "pytest_arguments", nargs="*", metavar="ARGUMENT", help="for pytest, after --; default: tests -m criterion"
    )
    given = parser.parse_args(None if arguments is None else list(arguments))
    criteria = load_criteria(given.criteria)
    recorder = ClauseRecorder()
    chosen = given.pytest_arguments or [str(ROOT / "tests"), "-m", PROPERTY]
    # The table alone goes to the output; pytest's own words to where errors go.
    with contextlib.redirect_stdout(sys.stderr):
        status = int(pytest.main(["-q", "-p", "tests.clause_report", *chosen], plugins=[recorder]))
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        print(f"the tests did not run to their end: pytest's status is {status}", file=sys.stderr)
        return status
    results = recorder.results()
    unknown = find_unknown(criteria, results)
    if unknown:
        marked = ", ".join(sorted(test for clause in unknown for test in results[clause]))
        print(f"no such clause in {given.criteria.name}: {', '.join(unknown)} (marked at {marked})", file=sys.stderr)
        return 2
    table = render_table(criteria, results)
    if given.output is None:
        print(table, end="")
    else:
        given.output.write_text(table, encoding="utf-8")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
