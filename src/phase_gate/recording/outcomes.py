"""How a session's tests ended, as the process sees it that all reports come to: the controller, never a worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest

from phase_gate.codec import spell_out
from phase_gate.gate.failures import Failure, Reason
from phase_gate.gate.measured import Finding
from phase_gate.gate.outcomes import FAILING, Bucket
from phase_gate.recording.witness import Seen, read_worker


class OutcomeHooks:
    """Folds reports, and takes in what workers saw."""

    def __init__(self, config: pytest.Config) -> None:
        self.buckets = Buckets(subtests_are_shown=_subtests_are_shown(config))
        #: Collected tests by pytest's node ids.
        self.nodes: list[str] = []
        #: Collectors that failed, by node id, and how, where it was described; and what they said.
        self.errors: dict[str, object] = {}
        self.error_messages: dict[str, str] = {}
        #: How many modules were skipped as a whole: the tests in them were not seen.
        self.skipped_modules = 0
        #: Why the session ended before its time; empty if it did not.
        self.interrupted = ""
        self.internal_error = False
        self.workers: list[Seen] = []
        self.silent_workers: list[Finding] = []
        self._usage_error_on_worker = False
        # Called three times a test, all stages, not only the call: a setup error or a crashed worker has no call.
        self.pytest_runtest_logreport = self.buckets.fold

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.buckets.fold_deselected(len(items))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.nodes = [item.nodeid for item in session.items]

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        # Every worker collects the same tests; what one has and another has not is kept.
        self.nodes = list(dict.fromkeys((*self.nodes, *ids))) if self.nodes else list(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # The controller itself only sees that nothing was collected.
        output = getattr(node, "workeroutput", {})
        self._usage_error_on_worker |= output.get("exitstatus") == pytest.ExitCode.USAGE_ERROR
        seen = read_worker(node)
        if seen is not None:
            self.workers.append(seen)
        else:
            # It crashed, left early, or had our part of it removed: what it would have told is unknown.
            name = str(getattr(getattr(node, "gateway", None), "id", "?"))
            detail = "ended without telling what it saw"
            self.silent_workers.append(
                Finding(slug="worker-silent", guard="outcomes-genuine", tier="hard", id=name, detail=detail)
            )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.errors[report.nodeid] = getattr(report, FAILURE, None)
            self.error_messages[report.nodeid] = message_of(report.longrepr)
            self.buckets.fold_collect_error()
        elif report.skipped:
            self.skipped_modules += 1
            self.buckets.fold_collect_skip()

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if isinstance(excinfo.value, pytest.Session.Interrupted):
            return  # pytest stopped by itself (-x, collection errors): what did not run tells whether that matters
        if isinstance(excinfo.value, pytest.exit.Exception):
            self.interrupted = f"pytest.exit: {excinfo.value.msg}"
        else:
            self.interrupted = "interrupted"

    def pytest_internalerror(self, excrepr: object) -> None:
        self.interrupted = f"internal error: {str(excrepr).strip().splitlines()[-1]}"
        self.internal_error = True

    @property
    def only_collection_failed(self) -> bool:
        """The session stopped because of modules that can't be imported, and for nothing else."""
        return bool(self.errors) and not self.interrupted

    def is_usage_error(self, exit_status: int) -> bool:
        """Tell whether the session ended over the words of the call; a test that exits with that status is none."""
        found = exit_status == pytest.ExitCode.USAGE_ERROR or self._usage_error_on_worker
        return found and not self.interrupted and not self.buckets.reported()


def _subtests_are_shown(config: pytest.Config) -> bool:
    name = getattr(pytest.Config, "VERBOSITY_SUBTESTS", None)  # since pytest 9.0
    return name is not None and config.get_verbosity(name) != 0


# --- fold the reports of a session: every test ends in exactly one bucket, the worst stage of all its reports


#: Worst first; the fold keeps the first of two.
_WORST_FIRST = (
    Bucket.ERROR,
    Bucket.FAILED,
    Bucket.XFAILED,
    Bucket.XPASSED,
    Bucket.SKIPPED,
    Bucket.SKIPPED_IF,
    Bucket.PASSED,
)
_RANK = {bucket: rank for rank, bucket in enumerate(_WORST_FIRST)}

#: The attribute of a report that says how it failed; it travels from workers with the report.
FAILURE = "phase_gate_failure"
CRASHED = spell_out(Failure(reason=Reason.CRASH, detail="the worker died"))

#: Characters of a failure that are kept: enough to tell it from others.
_MESSAGE_LENGTH = 500

#: What the summary line calls the categories, in its order.
CATEGORIES = ("failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "errors", "rerun", "subtests passed")


class Buckets:
    """Fast where nothing is odd: a passed call touches one list."""

    def __init__(self, *, subtests_are_shown: bool = False) -> None:
        #: With `-v` pytest's summary counts subtests that did not fail, too.
        self._subtests_are_shown = subtests_are_shown
        #: One for each report of a passed call.
        self._passed: list[str] = []
        self._odd: dict[str, Bucket] = {}
        self._rerun: set[str] = set()
        self._failed_subtests: set[str] = set()
        #: What the second tally counted for the subtests of a test, until it is run again.
        self._subtests: dict[str, Counter[str]] = {}
        #: Calls that passed around a failing subtest, until pytest has said what it makes of them.
        self._undecided: list[pytest.TestReport] = []
        self._tally: Counter[str] = Counter()
        #: How each failing test failed first, where it was described.
        self.failures: dict[str, object] = {}
        #: What each failing test said first.
        self.messages: dict[str, str] = {}
        #: Takes one report in.
        self.fold = self._make_fold()

    def _make_fold(self) -> Callable[[pytest.TestReport], None]:
        """Return the function that pytest calls three times a test: everything it needs is at hand, the rest is odd."""
        passed, failed_subtests, plain = self._passed.append, self._failed_subtests, pytest.TestReport
        fold_odd, undecided = self._fold_odd, self._undecided.append
        kind = type

        def fold(report: pytest.TestReport) -> None:
            if report.outcome != "passed" or kind(report) is not plain or "wasxfail" in report.__dict__:
                fold_odd(report)
            elif report.when == "call":
                if failed_subtests and report.nodeid in failed_subtests:
                    # pytest fails the whole test in a status hook that runs after us; one of unittest it lets pass.
                    undecided(report)
                else:
                    passed(report.nodeid)

        return fold

    def _fold_odd(self, report: pytest.TestReport) -> None:
        node, outcome, when = report.nodeid, str(report.outcome), str(report.when)
        is_subtest = hasattr(report, "context")
        if outcome == "rerun":
            self._rerun.add(node)
            self._tally["rerun"] += 1
            self._forget_subtests(node)
            return
        bucket = self._bucket(report, outcome, when)
        if bucket in FAILING:
            self.failures.setdefault(node, getattr(report, FAILURE, None if when != "???" else CRASHED))
            self.messages.setdefault(node, message_of(report.longrepr))
        if is_subtest:
            self._fold_subtest(report, bucket)
            return
        if bucket is None:
            return
        if bucket is Bucket.PASSED:
            self._passed.append(node)
            return
        self._keep_worst(node, bucket)
        self._tally[_category(bucket, when)] += 1

    def _bucket(self, report: pytest.TestReport, outcome: str, when: str) -> Bucket | None:
        if hasattr(report, "wasxfail"):
            # A strict xpass is reported as plainly failed, without the attribute.
            if outcome == "skipped":
                return Bucket.XFAILED
            if outcome == "passed":
                return Bucket.XPASSED if when == "call" else None
        if outcome == "failed":
            return Bucket.FAILED if when == "call" else Bucket.ERROR
        if outcome == "skipped":
            return Bucket.SKIPPED_IF if "skipif" in report.keywords else Bucket.SKIPPED
        return Bucket.PASSED if outcome == "passed" and when == "call" else None

    def _fold_subtest(self, report: pytest.TestReport, bucket: Bucket | None) -> None:
        # Only a failing one counts for the test itself; pytest's summary counts it beside the test.
        counted = self._subtests.setdefault(report.nodeid, Counter())
        if bucket is Bucket.FAILED:
            self._failed_subtests.add(report.nodeid)
            self._keep_worst(report.nodeid, bucket)
            counted["failed"] += 1
        elif self._subtests_are_shown and bucket is Bucket.PASSED:
            counted["subtests passed"] += 1
        elif self._subtests_are_shown and bucket is not None:
            self._tally[_category(bucket, "call")] += 1

    def _forget_subtests(self, node: str) -> None:
        # They are run again with their test; pytest-rerunfailures takes these, and only these, out of the summary.
        self._subtests.pop(node, None)
        if node in self._failed_subtests:
            self._failed_subtests.discard(node)
            if self._odd[node] is Bucket.FAILED:
                del self._odd[node]

    def _keep_worst(self, node: str, bucket: Bucket) -> None:
        before = self._odd.get(node)
        if before is None or _RANK[bucket] < _RANK[before]:
            self._odd[node] = bucket

    def fold_collect_error(self) -> None:
        self._tally["errors"] += 1

    def fold_collect_skip(self) -> None:
        self._tally["skipped"] += 1

    def fold_deselected(self, number: int) -> None:
        self._tally["deselected"] += number

    def close(self, collected: Iterable[str]) -> dict[str, Bucket]:
        """Return every collected test with its bucket. The balance holds by construction: one key, one value."""
        if not self._odd and not self._rerun and self._called_well() == collected:
            return dict.fromkeys(collected, Bucket.PASSED)  # each ran, in order, and passed
        outcomes = dict.fromkeys(collected, Bucket.NOT_RUN)
        # In this order: even if its call passed, a teardown that failed or skipped is the worse half.
        passed = dict.fromkeys(self._called_well(), Bucket.PASSED)
        flaky = {node: Bucket.FLAKY for node in self._rerun if node in passed}
        for found in (passed, flaky, self._odd):
            outcomes.update(found if found.keys() <= outcomes.keys() else _only(outcomes, found))
        return outcomes

    def _called_well(self) -> list[str]:
        return [*self._passed, *(report.nodeid for report in self._undecided)] if self._undecided else self._passed

    def reported(self) -> Collection[str]:
        """Return every test that any report spoke of."""
        return {*self._called_well(), *self._odd, *self._rerun}

    def tally(self) -> dict[str, int]:
        """Return the second tally: pytest's categories, those that are zero left out."""
        counts = Counter(self._tally)
        counts["passed"] += len(self._passed)
        counts.update(str(report.outcome) for report in self._undecided)
        for subtests in self._subtests.values():
            counts.update(subtests)
        return {name: counts[name] for name in CATEGORIES if counts[name]}


def message_of(longrepr: object) -> str:
    """Return what a failure says in a line or two, for any plugin's report."""
    crash = getattr(longrepr, "reprcrash", None)
    text = str(getattr(crash, "message", "") or getattr(longrepr, "longrepr", "") or longrepr or "")
    if crash is None:
        # A text as pytest shows it: the error is in its last line.
        lines = [line for line in text.splitlines() if line.strip()]
        text = lines[-1].removeprefix("E").strip() if lines else ""
    return text[:_MESSAGE_LENGTH]


def _only(wanted: Collection[str], found: dict[str, Bucket]) -> dict[str, Bucket]:
    return {node: bucket for node, bucket in found.items() if node in wanted}


def _category(bucket: Bucket, when: str) -> str:
    if bucket is Bucket.ERROR:
        # pytest calls a crashed worker's report (stage "???") failed, not an error.
        return "errors" if when in ("setup", "teardown") else "failed"
    return {Bucket.SKIPPED_IF: "skipped"}.get(bucket, str(bucket))
