"""The costly witness: what each test raised, and whether its code ran to its end, against what is reported.

Only where code of the project could change a result. A test reported as passed has to have started and returned: then
it does not matter by which of many ways other code came between.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Generator, Iterable
from types import CodeType, FunctionType, ModuleType

import pytest

from phase_gate.gate.inventory import bare_name
from phase_gate.recording.tamper.execution import watch_code
from phase_gate.storage.ownership import is_installed


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


class TestCode:
    """The code that a test's module defines under its name: as it is called, and below its decorators."""

    __slots__ = ("inner", "outer")
    __test__ = False

    def __init__(self, function: object) -> None:
        self.outer = code_of(function)
        inner = unwrapped_code(function)
        # A decorator of the project's own may run the test elsewhere, in another process for one.
        is_decorated = self.outer is not None and inner is not self.outer
        self.inner = None if is_decorated and not is_installed(self.outer.co_filename) else inner  # type: ignore[union-attr]


def test_codes(items: Iterable[pytest.Item]) -> dict[str, TestCode]:
    """Return what has to run for each test: what its module defines, whatever object is in the list."""
    found, defined_function = {}, Definitions().find
    for item in items:
        function = defined_function(item)
        if function is not None:
            found[item.nodeid] = TestCode(function)
    return found


test_codes.__test__ = False  # type: ignore[attr-defined]


class Definitions:
    """What modules have under the names of tests, for one look at all of them."""

    def __init__(self) -> None:
        self._parent: object = self
        self._owner: object = None

    def find(self, item: pytest.Item) -> object:
        """Return what the test's module has under its name; None where it has nothing."""
        if not isinstance(item, pytest.Function):
            return _find_by_name(item)
        if item.parent is not self._parent:  # tests of a class or a module come one after the other
            self._parent = item.parent
            self._owner = item.cls if item.cls is not None else item.module
        return getattr(self._owner, item.originalname, None)


def _find_by_name(item: pytest.Item) -> object:
    if item.path.suffix != ".py" or "::" not in item.nodeid or type(item).__module__.startswith("_pytest."):
        return None
    # An object of the project's own that bears the name of a function in that file.
    found: object = _module_at(os.path.realpath(item.path))
    for part in bare_name(item.nodeid.partition("::")[2]).split("::"):
        found = getattr(found, part, None)
    return found


def _module_at(path: str) -> ModuleType | None:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and os.path.realpath(file) == path:
            return module
    return None


def code_of(function: object) -> CodeType | None:
    if type(function) is FunctionType:
        return function.__code__
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code if isinstance(code, CodeType) else None


def unwrapped_code(function: object) -> CodeType | None:
    if type(function) is FunctionType and "__wrapped__" not in function.__dict__:
        return function.__code__
    try:
        return code_of(inspect.unwrap(function))  # type: ignore[arg-type]
    except ValueError:
        return None
