"""Let each failing report say how it failed. Registered where tests run, in a phase that wants failing tests."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from phase_gate.gate.failures import failure_to_json
from phase_gate.gate.inventory import bare_name
from phase_gate.recording.buckets import FAILURE
from phase_gate.recording.early import own_work
from phase_gate.recording.reasons import FailureReader


class ReasonHooks:
    """Adds an attribute to reports; changes nothing else."""

    def __init__(self, root: Path) -> None:
        self._reader = FailureReader(root)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        # A doctest stands in the code under test: that does not make it a test's own code.
        with own_work(session.config):
            self._reader.see_test_files({item.path for item in session.items if isinstance(item, pytest.Function)})

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.excinfo is not None and report.outcome == "failed":
            name = bare_name(item.nodeid.partition("::")[2])
            # What the test's fixtures have patched is still so, and is not meant for us.
            with own_work(item.config):
                failure = self._reader.read(call.excinfo.value, stage=call.when, test_file=item.path, test_name=name)
            setattr(report, FAILURE, failure_to_json(failure))
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        call = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            with own_work(collector.config):
                if isinstance(collector, pytest.Module) and type(collector).__module__ != "_pytest.doctest":
                    self._reader.see_test_files({collector.path})
                # Which test it is about is not known yet: whoever counts the module's tests looks at each.
                failure = self._reader.read(call.excinfo.value, stage="collect", test_file=collector.path, test_name="")
            setattr(report, FAILURE, failure_to_json(failure))
        return report
