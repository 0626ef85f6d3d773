"""Which clause is shown by which test, and how it ended: `python -m tests.clause_report [ARGUMENTS OF PYTEST]`.

Runs the tests that have a `criterion` mark and prints a table. A clause without a test is open; a mark that names no
clause is an error.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml

CRITERIA = Path(__file__).parent / "criteria.yaml"

#: Key of the report's property.
PROPERTY = "criterion"
#: Worst first: what the stages of a test come to.
OUTCOMES = ("failed", "skipped", "passed")

#: Clauses with their tests (without parameters), and how many rows of each had which outcome.
Results = Mapping[str, Mapping[str, Counter[str]]]


def load_criteria() -> dict[str, str]:
    """Return the clauses, ids with their texts, in the order of the file."""
    found = yaml.safe_load(CRITERIA.read_text(encoding="utf-8"))
    return {str(clause): str(text) for clause, text in found.items()}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let reports carry the clauses. This module is a plugin, because workers load plugins by their names only."""
    for item in items:
        for mark in item.iter_markers(PROPERTY):
            item.user_properties += [(PROPERTY, clause) for clause in mark.args]


class ClauseRecorder:
    """Keeps the outcome of every test that names a clause."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[str, str], str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for clause in (str(value) for name, value in report.user_properties if name == PROPERTY):
            before = self._outcomes.get((clause, report.nodeid), OUTCOMES[-1])
            self._outcomes[clause, report.nodeid] = min(report.outcome, before, key=OUTCOMES.index)

    def results(self) -> Results:
        found: defaultdict[str, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for (clause, node), outcome in sorted(self._outcomes.items()):
            found[clause][node.partition("[")[0]][outcome] += 1
        return found


def render_table(criteria: Mapping[str, str], results: Results) -> str:
    """Return the table in Markdown: one row for each test of a clause, one for each clause that has none."""
    rows = ["| clause | what it demands | test | outcome |", "| --- | --- | --- | --- |"]
    failing = []
    for clause, text in criteria.items():
        tests = results.get(clause, {})
        texts = [text.replace("|", "\\|"), *[""] * len(tests)]
        for shown, (test, outcomes) in zip(texts, tests.items(), strict=False):
            counted = ", ".join(f"{outcomes[each]} {each}" for each in OUTCOMES if outcomes[each])
            rows.append(f"| {clause} | {shown} | `{test}` | {counted} |")
        if not tests:
            rows.append(f"| {clause} | {texts[0]} | | open |")
        if any(outcomes.keys() - {"passed"} for outcomes in tests.values()):
            failing.append(clause)
    summary = f"Clauses with a test: {len(results.keys() & criteria.keys())} of {len(criteria)}."
    return "\n".join([*rows, "", summary + (f" Not passing: {', '.join(failing)}." if failing else "")])


def main(arguments: Sequence[str]) -> int:
    """Print the table; return 0 if all passed, 1 if not, 2 if a mark names no clause."""
    criteria, recorder = load_criteria(), ClauseRecorder()
    # The table alone goes to the output; pytest's own words to where errors go.
    with contextlib.redirect_stdout(sys.stderr):
        words = ["-q", "-p", "tests.clause_report", "-m", PROPERTY, *arguments]
        status = int(pytest.main(words, plugins=[recorder]))
    results = recorder.results()
    if unknown := sorted(results.keys() - criteria.keys()):
        print(f"no such clause: {', '.join(unknown)}", file=sys.stderr)
        return 2
    print(render_table(criteria, results))
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
