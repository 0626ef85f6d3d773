"""Hooks that look at a session and keep what they saw. They decide nothing and write nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phase_gate.codec import each_from_json, from_json
from phase_gate.gate.failures import Failure, Reason
from phase_gate.gate.findings import Finding
from phase_gate.gate.freeze import Parts
from phase_gate.gate.outcomes import FAILING, Bucket, Outcomes
from phase_gate.recording.buckets import FAILURE, Buckets, message_of
from phase_gate.recording.collection import Collection


class SessionWitness:
    """Registered on the controller only, never on a worker."""

    def __init__(self, config: pytest.Config, root: Path) -> None:
        self._config, self.collection = config, Collection(config, root)
        self.buckets = Buckets(subtests_are_shown=_subtests_are_shown(config))
        #: Why the session ended before its time; empty if it did not.
        self.interrupted = ""
        #: What workers found doubtful, and where they found modules.
        self._worker_doubts: list[Finding] = []
        self._failed_on_workers: set[str] = set()
        self.modules: dict[str, str] = {}
        #: Files of the project that workers have imported.
        self.imported: set[str] = set()
        #: Where workers saw the parts of tests that are not in their files.
        self.parts: list[Parts] = []
        #: Criteria by pytest's own node ids, as workers saw their marks.
        self.criteria_on_workers: dict[str, tuple[str, ...]] = {}
        #: Tests that are marked as passing already, as workers saw it, and why they are.
        self.guarding: dict[str, str] = {}
        self._collection_messages: dict[str, str] = {}
        self.internal_error = False
        #: How many were skipped as a whole: the tests in them were not seen.
        self.skipped_modules = 0
        self._usage_error_on_worker = False
        # Called three times a test, all stages, not only the call: a setup error or a crashed worker has no call.
        self.pytest_runtest_logreport = self.buckets.fold

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.collection.see_deselected(items)
        self.buckets.fold_deselected(len(items))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collection.see_items(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.collection.see_worker_ids(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {})
        # The controller itself only sees that nothing was collected.
        self._usage_error_on_worker |= output.get("exitstatus") == pytest.ExitCode.USAGE_ERROR
        from phase_gate.recording.worker import read_worker

        self._see_worker(node, read_worker(node))

    def _see_worker(self, node: Any, seen: dict[str, Any] | None) -> None:
        if seen is not None:
            self.collection.see_worker_output(seen)
            self._worker_doubts += each_from_json(Finding, seen["doubts"])
            self._failed_on_workers |= set(seen["failed"])
            self.modules |= seen["modules"]
            self.imported |= set(seen["imported"])
            if "parts" in seen:
                self.parts.append(from_json(Parts, seen["parts"]))
            self.guarding |= seen["guarding"]
            self.criteria_on_workers |= {node: tuple(ids) for node, ids in seen["criteria"].items()}
        else:
            # It crashed, left early, or had our part of it removed: what it would have told is unknown.
            name = str(getattr(getattr(node, "gateway", None), "id", "?"))
            self._worker_doubts.append(_doubt("worker-silent", "ended without telling what it saw", name))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.collection.errors[report.nodeid] = getattr(report, FAILURE, None)
            self._collection_messages[report.nodeid] = message_of(report.longrepr)
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

    def doubts(self) -> tuple[Finding, ...]:
        """Return what makes the outcomes doubtful as seen from workers."""
        if not self._failed_on_workers:
            return tuple(self._worker_doubts)
        ended = self.buckets.close(sorted(self._failed_on_workers))
        lost = (node for node, bucket in ended.items() if bucket not in FAILING)
        said = "failed on a worker, and arrived as something else"
        return (*self._worker_doubts, *(_doubt("outcome-rewritten", said, node) for node in lost))

    def failures(self) -> dict[str, Failure]:
        """Return how each failing test failed, by our ids."""
        collection = self.collection
        found = {collection.test_id(node): _as_failure(row) for node, row in self.buckets.failures.items()}
        for test_id, row in collection.uncollectable().items():
            found[test_id] = _as_failure(row)
        return found

    def messages(self) -> dict[str, str]:
        """Return what failing tests said, by our ids; those that could not be collected say what their module says."""
        collection = self.collection
        found = {collection.test_id(node): text for node, text in self.buckets.messages.items()}
        if self._collection_messages:
            said = {
                collection.test_id(node.partition("::")[0]): text for node, text in self._collection_messages.items()
            }
            found |= {test_id: said.get(test_id.partition("::")[0], "") for test_id in collection.uncollectable()}
        return found

    def is_usage_error(self, exit_status: int) -> bool:
        """Tell whether the session ended over the words of the call; a test that exits with that status is none."""
        found = exit_status == pytest.ExitCode.USAGE_ERROR or self._usage_error_on_worker
        return found and not self.interrupted and not self.buckets.reported()

    def outcomes(self) -> Outcomes:
        """Return every test of the session, by our ids, each in its one bucket."""
        collection = self.collection
        outcomes = collection.with_test_ids(self.buckets.close(collection.nodes))
        outcomes |= dict.fromkeys(collection.uncollectable(), Bucket.UNCOLLECTABLE)
        return outcomes


def _doubt(slug: str, detail: str, name: str) -> Finding:
    return Finding(slug=slug, guard="outcomes-genuine", tier="hard", id=name, detail=detail)


def _as_failure(row: object) -> Failure:
    return from_json(Failure, row) if isinstance(row, dict) else Failure(reason=Reason.UNEXPLAINED)


def _subtests_are_shown(config: pytest.Config) -> bool:
    name = getattr(pytest.Config, "VERBOSITY_SUBTESTS", None)  # since pytest 9.0
    return name is not None and config.get_verbosity(name) != 0
