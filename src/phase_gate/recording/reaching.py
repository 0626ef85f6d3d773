"""Watch which lines of some files run, and in which test. Runs where tests run, on a worker too.

From Python 3.12 on by `sys.monitoring`, which costs next to nothing outside the watched files, and leaves debuggers and
coverage tools alone. Before it by a trace function, as long as nothing else traces.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from phase_gate.gate.reach import MOST_TESTS, Reach

#: Events in one test after which a place says no more: a loop that runs a million times tells nothing new.
_PLENTY = 20_000

_NAME = "phase-gate"


class ReachWitness:
    """Keeps what was reached until the session ends."""

    def __init__(self, root: Path, files: Iterable[str], name_test: Callable[[str], str]) -> None:
        """Begin to watch.

        :param files: paths from the root.
        :param name_test: returns a test's id for pytest's name of it.
        """
        self._name_test = name_test
        self._paths = {os.path.realpath(root / path): path for path in files}
        self._lines: dict[tuple[str, int], set[str]] = {}
        self._jumps: set[tuple[str, int, int]] = set()
        self._watch: _Monitor | _Tracer = _Monitor(self) if hasattr(sys, "monitoring") else _Tracer(self)
        self._test = ""
        self.events = 0
        self._watch.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._test, self.events = self._name_test(item.nodeid), 0
        try:
            return (yield)
        finally:
            self._test, self.events = "", 0

    def pytest_unconfigure(self) -> None:
        self._watch.stop()  # where the session did not come to its end

    def take(self) -> Reach:
        """Stop watching; return what was reached."""
        problem = self._watch.stop()
        lines: dict[str, dict[int, tuple[str, ...]]] = {}
        for (path, line), tests in self._lines.items():
            lines.setdefault(path, {})[line] = tuple(sorted(tests))
        jumps: dict[str, list[tuple[int, int]]] = {}
        for path, one, other in sorted(self._jumps):
            jumps.setdefault(path, []).append((one, other))
        return Reach(lines=lines, jumps={path: tuple(pairs) for path, pairs in jumps.items()}, problem=problem)

    # --- what the watch tells ------------------------------------------------------------------------------------

    def path_of(self, code: CodeType) -> str | None:
        """Return which of the watched files some code is from; None for other code."""
        name = code.co_filename
        return self._paths.get(name) or (self._paths.get(os.path.realpath(name)) if name[:1] != "<" else None)

    def see_line(self, path: str, line: int) -> None:
        self.events += 1
        tests = self._lines.setdefault((path, line), set())
        if len(tests) < MOST_TESTS:
            tests.add(self._test)

    def see_jump(self, path: str, one: int, other: int) -> None:
        self._jumps.add((path, one, other))


class _Monitor:
    """Asks the interpreter for the events of watched code, and of no other."""

    def __init__(self, witness: ReachWitness) -> None:
        self._witness = witness
        # Kept here: when the interpreter ends, code still runs, and names of modules are gone.
        self._monitoring = sys.monitoring  # type: ignore[attr-defined]
        self._tool: int | None = None
        self._problem = ""
        self._paths: dict[CodeType, str] = {}
        self._lines: dict[CodeType, dict[int, int]] = {}

    def start(self) -> None:
        monitoring = self._monitoring
        # 0 to 2 and 5 are those of debuggers, coverage, profilers and optimisers.
        self._tool = next((number for number in (4, 3) if monitoring.get_tool(number) is None), None)
        if self._tool is None:
            self._problem = "all places for tools that watch the interpreter are taken"
            return
        monitoring.use_tool_id(self._tool, _NAME)
        events = monitoring.events
        monitoring.register_callback(self._tool, events.PY_START, self._on_start)
        monitoring.register_callback(self._tool, events.LINE, self._on_line)
        for event in self._branches():
            monitoring.register_callback(self._tool, event, self._on_branch)
        monitoring.set_events(self._tool, events.PY_START)

    def _branches(self) -> tuple[int, ...]:
        events = self._monitoring.events
        # From 3.14 on the two ways of a branch are events of their own.
        newer = tuple(getattr(events, name) for name in ("BRANCH_LEFT", "BRANCH_RIGHT") if hasattr(events, name))
        return newer or (events.BRANCH,)

    def stop(self) -> str:
        if self._tool is None:
            return self._problem
        monitoring, tool, self._tool = self._monitoring, self._tool, None
        found = monitoring.get_tool(tool)
        self._problem = "" if found == _NAME else "a test took away what watches the lines"
        if found is None:
            monitoring.use_tool_id(tool, _NAME)  # the test that freed it left our functions there
        if found in (None, _NAME):
            monitoring.set_events(tool, 0)
            for event in (monitoring.events.PY_START, monitoring.events.LINE, *self._branches()):
                monitoring.register_callback(tool, event, None)
            monitoring.free_tool_id(tool)
        return self._problem

    def _on_start(self, code: CodeType, offset: int) -> object:
        monitoring = self._monitoring
        path = self._witness.path_of(code)
        if path is not None and code not in self._paths:
            self._paths[code] = path
            events = monitoring.events.LINE
            for event in self._branches():
                events |= event
            monitoring.set_local_events(self._tool, code, events)
        return monitoring.DISABLE

    def _on_line(self, code: CodeType, line: int) -> object:
        witness = self._witness
        path = self._paths.get(code)
        if path is not None:
            witness.see_line(path, line)
        if witness.events < _PLENTY:
            return None
        return self._monitoring.DISABLE

    def _on_branch(self, code: CodeType, offset: int, destination: int) -> object:
        path = self._paths.get(code)
        if path is not None:
            lines = self._lines.get(code) or self._line_table(code)
            self._witness.see_jump(path, lines.get(offset, 0), lines.get(destination, 0))
        if self._witness.events < _PLENTY:
            return None
        return self._monitoring.DISABLE

    def _line_table(self, code: CodeType) -> dict[int, int]:
        table = {
            offset: line for start, end, line in code.co_lines() if line is not None for offset in range(start, end, 2)
        }
        self._lines[code] = table
        return table


class _Tracer:
    """Asks for the events of every call, and goes on only in watched code."""

    def __init__(self, witness: ReachWitness) -> None:
        self._witness = witness
        self._problem = ""
        self._known: dict[CodeType, str | None] = {}

    def start(self) -> None:
        if sys.gettrace() is not None:
            self._problem = "another tool traces this run, and before Python 3.12 there can only be one"
            return
        threading.settrace(self._on_call)
        sys.settrace(self._on_call)

    def stop(self) -> str:
        if self._problem:
            return self._problem
        is_ours = sys.gettrace() == self._on_call
        if is_ours:
            sys.settrace(None)
            threading.settrace(None)
        return "" if is_ours else "a test took away what watches the lines"

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        try:
            path = self._known[code]
        except KeyError:
            path = self._known[code] = self._witness.path_of(code)
        if path is None or self._witness.events > _PLENTY:
            return None
        before = frame.f_lineno
        witness = self._witness

        def on_event(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal before
            if event == "line":
                witness.see_line(path, frame.f_lineno)
                witness.see_jump(path, before, frame.f_lineno)
                before = frame.f_lineno
            return on_event

        return on_event
