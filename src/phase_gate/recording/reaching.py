"""Watch which lines of some files run, and in which test. Runs where tests run, on a worker too.

From Python 3.12 on by `sys.monitoring`, which costs next to nothing outside the watched files, and leaves debuggers and
coverage tools alone. Before it by a trace function, which hands on what it gets to the one that was there before.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

import pytest

from phase_gate.gate.reach import MOST_TESTS, Reach

#: Events in one test after which code says no more: a loop that runs a million times tells nothing new.
_PLENTY = 20_000
#: Times that a branch goes the same way until it is no longer asked: it will hardly go the other one.
_SETTLED = 100_000

_NAME = "phase-gate"
_Trace = Callable[[FrameType, str, Any], Any]
#: Of code objects of functions: what stands in them does not run when a module is imported.
_IS_FUNCTION = 0x1


class ReachWitness:
    """Keeps what was reached until the session ends."""

    def __init__(self, root: Path, files: Iterable[str], name_test: Callable[[str], str]) -> None:
        """Begin to watch.

        :param files: paths from the root.
        :param name_test: returns a test's id for pytest's name of it.
        """
        self._name_test = name_test
        self._paths = {os.path.realpath(root / path): path for path in files}
        self._names = {os.path.basename(path) for path in self._paths}
        self._lines: dict[tuple[str, int], set[str]] = {}
        self._jumps: set[tuple[str, int, int]] = set()
        self._watch: _Monitor | _Tracer = _Monitor(self) if hasattr(sys, "monitoring") else _Tracer(self)
        self._test = ""
        self._see_imported()
        self._watch.start()

    # Tests are imported, and the code under test with them.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        with self._watch:
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._test = self._name_test(item.nodeid)
        try:
            with self._watch:
                return (yield)
        finally:
            self._test = ""

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

    def _see_imported(self) -> None:
        """See what ran before: a conftest.py may have imported the code under test by now."""
        for module in list(sys.modules.values()):
            path = self.path_of(getattr(module, "__file__", None) or "")
            if path is not None:
                for line in _lines_of_import(str(module.__file__)):
                    self.see_line(path, line)
                    self.see_jump(path, line, 0)  # which way it went is not known

    # --- what the watch tells ------------------------------------------------------------------------------------

    def path_of(self, name: str) -> str | None:
        """Return which of the watched files a file is; None for other files."""
        if name in self._paths:
            return self._paths[name]
        # A folder may be reached by a link.
        return self._paths.get(os.path.realpath(name)) if os.path.basename(name) in self._names else None

    def see_line(self, path: str, line: int) -> None:
        tests = self._lines.setdefault((path, line), set())
        if len(tests) < MOST_TESTS:
            tests.add(self._test)

    def see_jump(self, path: str, one: int, other: int) -> None:
        self._jumps.add((path, one, other))


def _lines_of_import(name: str) -> Iterator[int]:
    """Yield the lines that run when a file is imported, whichever way it goes; none if it can't be read."""
    try:
        waiting = [compile(Path(name).read_bytes(), name, "exec", dont_inherit=True)]
    except (OSError, SyntaxError, ValueError):
        return
    while waiting:
        code = waiting.pop()
        yield from {line for _, _, line in code.co_lines() if line}
        waiting += [each for each in code.co_consts if isinstance(each, CodeType) and not each.co_flags & _IS_FUNCTION]


class _Monitor:
    """Asks the interpreter for the events of watched code, and of no other: a line says once in a test that it ran."""

    def __init__(self, witness: ReachWitness) -> None:
        self._witness = witness
        # Kept here: when the interpreter ends, code still runs, and names of modules are gone.
        self._monitoring = sys.monitoring  # type: ignore[attr-defined]
        self._tool: int | None = None
        self._problem = ""
        self._turning = 0
        # By their numbers: to hash code takes as long as to run it. They are kept, so that no other one gets a number.
        self._codes: dict[int, CodeType] = {}
        self._paths: dict[int, str] = {}
        self._lines: dict[int, dict[int, int]] = {}
        self._silent: set[int] = set()
        # By code and place: where it went to first, and how often.
        self._turns: dict[tuple[int, int], list[int]] = {}

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
            self._turning |= event
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

    def __enter__(self) -> None:
        """Let every line speak again."""
        monitoring, tool = self._monitoring, self._tool
        if tool is None or monitoring.get_tool(tool) != _NAME:
            return  # told in the end
        for number in self._silent:
            code = self._codes[number]
            monitoring.set_local_events(tool, code, self._turning)
            monitoring.set_local_events(tool, code, self._turning | monitoring.events.LINE)
        self._silent.clear()

    def __exit__(self, kind: object, error: object, traceback: TracebackType | None) -> None:
        pass

    def _on_start(self, code: CodeType, offset: int) -> object:
        path = self._witness.path_of(code.co_filename)
        if path is not None and id(code) not in self._codes:
            self._codes[id(code)], self._paths[id(code)] = code, path
            self._monitoring.set_local_events(self._tool, code, self._turning | self._monitoring.events.LINE)
        return self._monitoring.DISABLE

    def _on_line(self, code: CodeType, line: int) -> object:
        number = id(code)
        path = self._paths.get(number)
        if path is not None:
            self._silent.add(number)
            self._witness.see_line(path, line)
        return self._monitoring.DISABLE

    def _on_branch(self, code: CodeType, offset: int, destination: int) -> object:
        number = id(code)
        turn = self._turns.get((number, offset))
        if turn is not None and turn[0] == destination and turn[1]:
            turn[1] -= 1
            return None  # the other way may still be gone
        path = self._paths.get(number)
        if path is None:
            return self._monitoring.DISABLE
        lines = self._lines.get(number) or self._line_table(code)
        one, other = lines.get(offset, 0), lines.get(destination, 0)
        if one == other:
            # From 3.14 on the way out of the last `if` in a loop is a jump of its own, on the same line.
            other = lines.get(_end_of_jump(code, destination), other)
        self._witness.see_jump(path, one, other)
        if turn is None:
            self._turns[number, offset] = [destination, _SETTLED]
            return None
        return self._monitoring.DISABLE

    def _line_table(self, code: CodeType) -> dict[int, int]:
        table = {
            offset: line for start, end, line in code.co_lines() if line is not None for offset in range(start, end, 2)
        }
        self._lines[id(code)] = table
        return table


def _end_of_jump(code: CodeType, offset: int) -> int:
    """Return where an instruction jumps to, whatever happens; if it does not, where it is."""
    import dis

    for each in dis.get_instructions(code):
        if each.offset == offset:
            return int(each.argval) if each.opname.startswith("JUMP_") else offset
    return offset


class _Tracer:
    """Asks for the events of every call while tests are collected and run, and looks at those of watched code.

    A coverage tool may have asked before: it gets every event as it would without us. In between it has its place back.
    """

    def __init__(self, witness: ReachWitness) -> None:
        self._witness = witness
        self._problem = ""
        # By their numbers, and kept, as in `_Monitor`.
        self.known: dict[int, str | None] = {}
        self._codes: list[CodeType] = []
        self._events = 0
        self._chain: _Chain | None = None
        self._threads: Any = None

    def start(self) -> None:
        """Nothing yet: on a worker, coverage tools start later than we."""

    def stop(self) -> str:
        if self._chain is not None:
            self.__exit__(None, None, None)
        return self._problem

    def __enter__(self) -> None:
        self._events = 0
        self._chain = _Chain(self, sys.gettrace())
        self._threads = threading.gettrace()
        threading.settrace(self._on_thread)
        sys.settrace(self._chain.on_call)

    def __exit__(self, kind: object, error: object, traceback: TracebackType | None) -> None:
        chain, self._chain = self._chain, None
        if chain is None:
            return
        if threading.gettrace() == self._on_thread:
            threading.settrace(self._threads)
        if sys.gettrace() is chain.on_call:
            sys.settrace(chain.other)
        else:
            self._problem = self._problem or "a test took away what watches the lines"

    def _on_thread(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Begin to watch a thread, after the other tool has."""
        other, found = self._threads, None
        sys.settrace(None)
        if other is not None:
            found = other(frame, event, argument)
        chain = _Chain(self, sys.gettrace())
        sys.settrace(chain.on_call)
        return found

    def path_of(self, code: CodeType) -> str | None:
        if self._events > _PLENTY:
            return None
        number = id(code)
        if number not in self.known:
            self._codes.append(code)
            self.known[number] = self._witness.path_of(code.co_filename)
        return self.known[number]

    def see(self, path: str, before: int, line: int) -> None:
        self._events += 1
        self._witness.see_line(path, line)
        self._witness.see_jump(path, before, line)


def _answer_fast(known: Mapping[int, str | None], on_call: _Trace) -> _Trace:
    """Return a trace function that asks another one only where code is new to us, or watched."""

    def answer(frame: FrameType, event: str, argument: Any) -> Any:
        return None if known.get(id(frame.f_code), "") is None else on_call(frame, event, argument)

    return answer


class _Chain:
    """A trace function of one thread in front of another one."""

    def __init__(self, tracer: _Tracer, other: Any) -> None:
        self._tracer, self.other = tracer, other
        # One object, so that it can be told from others. Most calls are of other code, and most runs have one tool.
        self.on_call = self._on_call if other is not None else _answer_fast(tracer.known, self._on_call)

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        found = None
        if self.other is not None:
            found = self.other(frame, event, argument)
            # Tools written in C put themselves in the first place again.
            if sys.gettrace() is not self.on_call:
                sys.settrace(self.on_call)
        path = self._tracer.path_of(frame.f_code)
        if path is None:
            return found
        frame.f_trace_lines = True  # where the other one wants none of them
        before, see, local = frame.f_lineno, self._tracer.see, found

        def on_event(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal before, local
            if event == "line":
                see(path, before, frame.f_lineno)
                before = frame.f_lineno
            if local is not None:
                local = local(frame, event, argument)
            return on_event

        return on_event
