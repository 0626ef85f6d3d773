"""The costly witness: what each test raised, and whether its code ran to its end, against what is reported.

Only where code of the project could change a result. A test reported as passed has to have started and returned: then
it does not matter by which of many ways other code came between.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from phase_gate.recording.tamper.definitions import TestCode
from phase_gate.recording.tamper.execution import watch_code


class ResultWatch:
    """Registered for the rest of the session."""

    def __init__(self, codes: dict[str, TestCode]) -> None:
        #: Test, slug and detail.
        self.found: list[tuple[str, str, str]] = []
        self._raised: dict[tuple[str, str], str] = {}
        self._codes = codes
        every = {code for each in codes.values() for code in (each.outer, each.inner) if code is not None}
        self._ran = watch_code(every)
        self._is_blind = False

    def pytest_unconfigure(self) -> None:
        if self._ran is not None:
            self._ran.stop()

    # Innermost, as far as that can be had: before other code swallows what was raised.

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self._hear(item, "setup"))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        if self._ran is not None:
            self._ran.renew()
        try:
            return (yield from self._hear(item, "call"))
        finally:
            # A test that profiles itself leaves us without an answer, and that is no sign of anything.
            self._is_blind = self._ran is None or not self._ran.is_watching()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        return (yield from self._hear(pyfuncitem, "call"))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self._hear(item, "teardown"))

    def _hear(self, item: pytest.Item, stage: str) -> Generator[None, object, object]:
        try:
            return (yield)
        except BaseException as error:
            self._raised[item.nodeid, stage] = type(error).__name__
            raise

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        before = str(report.outcome)
        self._judge(report)
        result = yield
        # Others may make it worse, as pytest does for failing subtests.
        if before == "failed" and report.outcome != "failed":
            self._find(report, "outcome-rewritten", f"was failed, reported as {report.outcome}")
        return result

    def _judge(self, report: pytest.TestReport) -> None:
        node, outcome, stage = report.nodeid, str(report.outcome), str(report.when)
        if hasattr(report, "context"):
            return
        raised = self._raised.pop((node, stage), None)
        if raised is not None and not hasattr(report, "wasxfail") and not _fits(raised, outcome):
            self._find(report, "outcome-rewritten", f"raised {raised}, reported as {outcome}")
        if stage != "call":
            return
        codes = self._codes.get(node)
        if codes is None or self._ran is None:
            return
        if outcome == "passed" and not hasattr(report, "wasxfail") and not self._is_blind:
            if codes.inner is not None and codes.inner not in self._ran.started:
                self._find(report, "code-never-ran", "reported as passed, its code never ran")
            elif raised is None and codes.outer is not None and codes.outer not in self._ran.returned:
                self._find(report, "outcome-rewritten", "left by an exception, reported as passed")
        self._ran.forget(codes.inner, codes.outer)

    def _find(self, report: pytest.TestReport, slug: str, detail: str) -> None:
        self.found.append((report.nodeid, slug, detail))


def _fits(raised: str, outcome: str) -> bool:
    if outcome in ("failed", "rerun"):
        return True
    return outcome == "skipped" and raised in ("Skipped", "SkipTest")
