"""Fold the reports of a session: every test ends in exactly one bucket, its worst stage."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import pytest

from phase_gate.codec import spell_out
from phase_gate.gate.outcomes import FAILING, Bucket, Failure

#: Worst first; the fold keeps the first of two.
_WORST_FIRST = (
    "error",
    "failed",
    "xfailed",
    "xpassed",
    "skipped",
    "skipped-if",
    "passed",
)
_RANK = {bucket: rank for rank, bucket in enumerate(_WORST_FIRST)}
#: The report of a crashed worker has a different one.
_STAGES = ("setup", "call", "teardown")

#: The attribute of a report that describes its failure; workers send it with the report.
FAILURE = "phase_gate_failure"
CRASHED = spell_out(Failure(reason="crash", detail="the worker died"))

#: Maximum length of a stored failure: enough to distinguish it from others.
_MESSAGE_LENGTH = 500


class Buckets:
    """Fast in the usual case: a passed call appends to one list."""

    def __init__(self) -> None:
        #: One entry for each report of a passed call.
        self._passed: list[str] = []
        self._odd: dict[str, Bucket] = {}
        self._rerun: set[str] = set()
        self._failed_subtests: set[str] = set()
        #: The first failure of each failing test, if it was described; and its message.
        self.failures: dict[str, object] = {}
        self.messages: dict[str, str] = {}
        #: Adds one report.
        self.fold = self._make_fold()

    def _make_fold(self) -> Callable[[pytest.TestReport], None]:
        """Return the function that pytest calls three times per test: a closure that handles the usual case itself."""
        passed, plain, fold_odd, kind = self._passed.append, pytest.TestReport, self._fold_odd, type

        def fold(report: pytest.TestReport) -> None:
            if report.outcome != "passed":
                fold_odd(report)
            elif report.when == "call":
                if kind(report) is plain and "wasxfail" not in report.__dict__:
                    passed(report.nodeid)
                else:
                    fold_odd(report)

        return fold

    def _fold_odd(self, report: pytest.TestReport) -> None:
        node = report.nodeid
        if str(report.outcome) == "rerun":
            self._rerun.add(node)
            # Its subtests run again with it.
            if node in self._failed_subtests and self._odd[node] == "failed":
                del self._odd[node]
            self._failed_subtests.discard(node)
            return
        bucket = _bucket_of(report)
        if bucket in FAILING:
            self.failures.setdefault(node, getattr(report, FAILURE, None if report.when in _STAGES else CRASHED))
            self.messages.setdefault(node, message_of(report.longrepr))
        if hasattr(report, "context"):
            if bucket != "failed":
                return  # only a failing subtest counts for the test itself
            self._failed_subtests.add(node)
        if bucket == "passed":
            self._passed.append(node)
        elif bucket is not None and _RANK[bucket] < _RANK[self._odd.get(node, "passed")]:
            self._odd[node] = bucket

    def close(self, collected: Iterable[str]) -> dict[str, Bucket]:
        """Return every collected test with its bucket. Each test is one key, so the counts always add up."""
        if not self._odd and not self._rerun and self._passed == collected:
            return dict.fromkeys(collected, "passed")  # each test ran, in order, and passed
        outcomes: dict[str, Bucket] = dict.fromkeys(collected, "not-run")
        # In this order: a failed or skipped teardown is worse than a passed call.
        found: dict[str, Bucket] = dict.fromkeys(self._passed, "passed")
        found |= dict.fromkeys(self._rerun & found.keys(), "flaky")
        found |= self._odd
        outcomes |= {node: bucket for node, bucket in found.items() if node in outcomes}
        return outcomes

    def reported(self) -> Collection[str]:
        """Return every test that has a report."""
        return {*self._passed, *self._odd, *self._rerun}


def _bucket_of(report: pytest.TestReport) -> Bucket | None:
    outcome, is_call = str(report.outcome), report.when == "call"
    if hasattr(report, "wasxfail") and outcome != "failed":
        # A strict xpass is reported as an ordinary failure, without the attribute.
        return "xfailed" if outcome == "skipped" else "xpassed" if is_call else None
    if outcome == "failed":
        return "failed" if is_call else "error"
    if outcome == "skipped":
        return "skipped-if" if "skipif" in report.keywords else "skipped"
    return "passed" if outcome == "passed" and is_call else None


def message_of(longrepr: object) -> str:
    """Return the message of a failure in a line or two, for any plugin's report."""
    crash = getattr(longrepr, "reprcrash", None)
    text = str(getattr(crash, "message", "") or getattr(longrepr, "longrepr", "") or longrepr or "")
    if crash is None:
        # Text as pytest shows it: the error is in the last line.
        lines = [line for line in text.splitlines() if line.strip()]
        text = lines[-1].removeprefix("E").strip() if lines else ""
    return text[:_MESSAGE_LENGTH]
