"""Observe tests while they run: which functions they call, and whether the reports about them are true."""

from __future__ import annotations

import contextlib
import dis
import os
import resource
import sys
import threading
from collections.abc import Generator, Iterator
from types import CodeType, FrameType

import _pytest
import pytest


class Profile:
    """A profile function that records calls of watched functions and the frame of the current test.

    Without functions to watch, it is removed as soon as the test has begun, so that it does not slow down the test.
    """

    def __init__(self, watched: dict[str, dict[str, str]], root: str) -> None:
        #: File -> first line, as text -> name.
        self._watched = {os.path.join(root, path): names for path, names in watched.items()}
        #: By file, line and name, because the same code in two files is equal.
        self._known: dict[tuple[str, int, str], str] = {}
        self._found: set[str] = set()
        self._code: CodeType | None = None
        self._frame: FrameType | None = None

    def begin(self) -> None:
        self._found = set()
        if self._watched:
            self._start()

    def end(self) -> set[str]:
        """Stop, and return the functions that were called since `begin`."""
        self._stop()
        return self._found

    def seek(self, code: CodeType) -> bool:
        """Watch for the frame of this code. Return whether that is possible: another profiler may be active."""
        self._code, self._frame = code, None
        return sys.getprofile() == self._see or self._start()

    def take(self) -> FrameType | None:
        """Return the frame, if it was found."""
        frame, self._code, self._frame = self._frame, None, None
        if not self._watched:
            self._stop()
        return frame

    def _start(self) -> bool:
        if sys.getprofile() is not None:
            return False
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        return True

    def _stop(self) -> None:
        if sys.getprofile() == self._see:
            sys.setprofile(None)
        threading.setprofile(None)

    def _see(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code is self._code and self._frame is None:
            self._frame = frame
            if not self._watched:
                self._stop()
        if not self._watched:
            return
        key = (code.co_filename, code.co_firstlineno, code.co_name)
        name = self._known.get(key)
        if name is None:
            names = self._watched.get(code.co_filename, {})
            # The code of a module begins in line 1, and so may a function in that line.
            is_module = code.co_name == "<module>"
            name = self._known[key] = "" if is_module else names.get(str(code.co_firstlineno), "")
        if name:
            self._found.add(name)


# --- whether a report matches what the test did

#: How far an exception got on its way from a test to its report -> the hook in which a plugin may have caught it. In
#: between, there is only pytest's own code.
LEFT_TEST, LEFT_FUNCTION, LEFT_INNER_CALL, LEFT_CALL = range(4)
_TAKEN_BY = {LEFT_TEST: "pytest_pyfunc_call", LEFT_INNER_CALL: "pytest_runtest_call"}
_RETURNS = frozenset(dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in dis.opmap)
_HERE = os.path.realpath(os.path.dirname(__file__)) + os.sep
_PYTEST = os.path.dirname(os.path.realpath(_pytest.__file__)) + os.sep
_INSTALLED = f"{os.sep}site-packages{os.sep}"


class Results:
    """Compares what a test's own code did with its report."""

    def __init__(self, config: pytest.Config, root: str, profile: Profile) -> None:
        self._config, self._root, self._profile = config, root, profile
        #: Test -> the code that its module or class defines under its name.
        self._codes: dict[str, CodeType] = {}
        self.begin()

    def expect(self, items: list[pytest.Item]) -> None:
        for item in items:
            owner = getattr(item, "cls", None) or getattr(item, "module", None)
            function = getattr(owner, getattr(item, "originalname", None) or item.name, None)
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if isinstance(code, CodeType):
                self._codes[item.nodeid] = code

    def begin(self) -> None:
        """Forget the previous test: a custom protocol of the project may never call the next one."""
        #: For the current test: whether its code ran, whether that can't be observed, and how far an exception got.
        self._has_begun = self._is_blind = False
        self._depth: int | None = None
        self._error, self._children = "an exception", _children()

    @contextlib.contextmanager
    def watched(self, item: pytest.Item) -> Iterator[None]:
        """Observe a test's own code."""
        code = self._codes.get(item.nodeid)
        self.begin()
        self._is_blind = code is not None and not self._profile.seek(code)
        try:
            yield
        finally:
            if (frame := self._profile.take()) is not None:
                self._has_begun = True
                if self._depth is None and _was_left(frame):
                    self._depth = LEFT_TEST

    def pass_by(self, depth: int) -> Generator[None, object, object]:
        """Run the wrapped hook, and record an exception that passes through."""
        try:
            return (yield)
        except BaseException as error:
            self._depth, self._error = depth, type(error).__name__
            raise

    def judge(self, report: pytest.TestReport) -> dict[str, str]:
        """Return an objection to a report: that it is false, or that the test's code could not be observed."""
        is_plain = report.when == "call" and not hasattr(report, "wasxfail")
        # A report with a context is about a subtest, and its test is still running.
        if not is_plain or report.outcome != "passed" or hasattr(report, "context"):
            return {}
        if self._depth is not None:
            hook = _TAKEN_BY.get(self._depth)
            is_taken = hook is not None and self._is_taken_by(hook)
            return {} if is_taken else {"lie": f"it raised {self._error}, and is reported as passed"}
        if self._has_begun or report.nodeid not in self._codes:
            return {}
        if self._is_blind:
            return {"doubt": "a profiler of its own is at work"}
        if _children() > self._children:
            return {"doubt": "its code ran in a child process, if at all"}
        return {"lie": "its code never ran, and it is reported as passed"}

    def _is_taken_by(self, hook: str) -> bool:
        """Return whether installed plugins or conftest files implement a hook, and no source does."""
        functions = (each.function for each in getattr(self._config.hook, hook).get_hookimpls())
        codes = (getattr(getattr(each, "__func__", each), "__code__", None) for each in functions)
        files = {os.path.realpath(code.co_filename) for code in codes if code is not None}
        others = [file for file in files if not file.startswith((_HERE, _PYTEST))]
        return bool(others) and not any(map(self._is_source, others))

    def _is_source(self, file: str) -> bool:
        is_inside = file.startswith(self._root + os.sep) and _INSTALLED not in file
        return is_inside and os.path.basename(file) != "conftest.py"


def _was_left(frame: FrameType) -> bool:
    """Return whether a frame was left by an exception: it did not reach a return instruction."""
    return frame.f_code.co_code[frame.f_lasti] not in _RETURNS


def _children() -> int:
    """Return a number that increases with every child process that has ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt


class InsideCall:
    """A plugin that sees exceptions of a test before other plugins do."""

    def __init__(self, results: Results) -> None:
        self._results = results

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        return (yield from self._results.pass_by(LEFT_INNER_CALL))
