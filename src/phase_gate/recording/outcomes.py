"""How a session's tests ended, as the process sees it that all reports come to: the controller, never a worker."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.gate.findings import Finding
from phase_gate.recording.buckets import FAILURE, Buckets, message_of
from phase_gate.recording.seen import Seen
from phase_gate.recording.witness import read_worker


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
