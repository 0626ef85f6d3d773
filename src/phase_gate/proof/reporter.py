"""Loaded by pytest in a sandbox: tells the process that made it how each test ended, and where modules came from.

Only that: no state, no judgement. It speaks through a socket that was opened for it, with a word that only both know.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any

import pytest
from _pytest.config import ConftestImportFailure

from phase_gate.gate.inventory import bare_id
from phase_gate.proof import nothing
from phase_gate.proof.line import Line
from phase_gate.recording.modules import missing_module
from phase_gate.storage.ownership import is_in_environment
from phase_gate.storage.root import relative_id

#: The number of the socket.
VARIABLE = "PHASE_GATE_SANDBOX"


#: Options that have no place in a sandbox, and what they are there.
_IN_A_SANDBOX: dict[str, object] = {
    # A few tests in one process: starting workers would take longer than running them.
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    # All targets run, whatever failed before.
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "stepwise_skip": False,
    "stepwise_reset": False,
    "usepdb": False,
    "trace": False,
    # A report may lie outside of the project, where it would be written over: JUnit's, and those of common plugins.
    "xmlpath": None,
    "htmlpath": None,
    "report_log": None,
    "json_report_file": None,
    "pastebin": None,
    # It is no run of any task.
    "phase": None,
}
#: Where targets are asked for, they run whatever else was chosen.
_FOR_TARGETS: dict[str, object] = {"keyword": "", "markexpr": "", "deselect": None}


def _set_options(config: pytest.Config, options: dict[str, object]) -> None:
    for name, value in options.items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    if VARIABLE in os.environ:
        _set_options(config, _IN_A_SANDBOX)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    try:
        return (yield)
    except ConftestImportFailure as failure:
        # pytest ends here, before anything is configured.
        if line := Line.take(VARIABLE):
            SandboxReporter(early_config, line).tell_broken(failure.path, failure.cause)
        raise


def pytest_configure(config: pytest.Config) -> None:
    if line := Line.take(VARIABLE):
        config.pluginmanager.register(SandboxReporter(config, line), "phase_gate_sandbox")


class SandboxReporter:
    def __init__(self, config: pytest.Config, line: Line) -> None:
        order = line.order
        self._send = line.send
        self._root = Path(order["root"])
        self._config = config
        self._places: dict[str, str] = {}
        self._wanted = frozenset(order["wanted"])
        if self._wanted:
            _set_options(config, _FOR_TARGETS)
        self._is_traced = bool(order["traced"])
        #: Test -> what stands in for a name that it calls.
        self._stand_ins: dict[str, dict[str, str]] = order["stand_ins"]
        self._changed = frozenset(order["changed"])
        self._watch = _Watch(order["watched"], str(self._root)) if order["watched"] else None

    def tell_broken(self, conftest: Path, error: BaseException) -> None:
        self._send("broken", file=relative_id(conftest, self._root), missing=missing_module(error))

    def _test_id(self, node: str) -> str:
        part, _, name = node.partition("::")
        if part not in self._places:
            self._places[part] = relative_id(self._config.rootpath / part, self._root)
        return f"{self._places[part]}::{name}" if name else self._places[part]

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self._places[item.nodeid.partition("::")[0]] = relative_id(item.path, self._root)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        # By file on the command line, and by name here: a test that a source makes may be missing, and pytest would
        # refuse to run at all if it was asked for.
        left = [item for item in items if self._bare_id(item) not in self._wanted]
        if self._wanted and left:
            items[:] = [item for item in items if self._bare_id(item) in self._wanted]
            config.hook.pytest_deselected(items=left)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._send("collected", items=[self._describe(item) for item in session.items])

    def _describe(self, item: pytest.Item) -> dict[str, object]:
        """Return what a test is called, where its function begins, and of each parameter its row and its value."""
        code, row = _code_of(item), getattr(item, "callspec", None)
        place = {} if code is None else {"file": relative_id(Path(code.co_filename), self._root)}
        values = {name: _spell_plain(value) for name, value in getattr(row, "params", {}).items()}
        return {
            "id": self._test_id(item.nodeid),
            "line": code.co_firstlineno if code else 0,
            "rows": getattr(row, "indices", {}),
            # A copied sandbox lies elsewhere.
            "values": {name: text.replace(str(self._root), "<root>") for name, text in values.items() if text},
            **place,
        }

    def _bare_id(self, item: pytest.Item) -> str:
        return bare_id(self._test_id(item.nodeid))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        with self._watch or contextlib.nullcontext():
            report = yield
        if self._watch is not None and (names := self._watch.taken()):
            self._send("imported", names=sorted(names))
        call = getattr(report, "call", None)
        if report.failed:
            error = None if call is None or call.excinfo is None else call.excinfo.value
            lines = str(report.longrepr).strip().splitlines()
            message = lines[-1][:300] if lines else ""
            self._send(
                "uncollectable",
                id=self._test_id(report.nodeid),
                message=message,
                missing=missing_module(error),
                broken=self._broken(error),
            )
        return report

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._send("started", id=self._test_id(nodeid))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if self._watch is None:
            return (yield)
        with self._watch:
            result = yield
        self._send("reached", id=self._test_id(item.nodeid), names=sorted(self._watch.taken()))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        with self._traced(item), contextlib.ExitStack() as stack:
            wanted = self._stand_ins.get(self._bare_id(item))
            if wanted is not None and not self._stand_in(stack, wanted, getattr(item, "module", None)):
                self._send("left alone", id=self._test_id(item.nodeid))
            return (yield)

    @contextlib.contextmanager
    def _traced(self, item: pytest.Item) -> Iterator[None]:
        code = _code_of(item)
        if not self._is_traced or code is None:
            yield
            return
        try:
            with _trace_lines(code.co_filename) as lines:
                yield
        finally:
            self._send("lines", id=self._test_id(item.nodeid), lines=sorted(lines))

    def _stand_in(self, stack: contextlib.ExitStack, wanted: dict[str, str], test: ModuleType | None) -> bool:
        """Put something into the place of what a test calls, as long as it runs; False where it is left alone."""
        try:
            module = importlib.import_module(wanted["module"], getattr(test, "__package__", None))
            value = getattr(module, wanted["name"])
        except (ImportError, AttributeError, TypeError):
            return False
        homes = (module, sys.modules.get(str(getattr(value, "__module__", ""))))
        files = {relative_id(Path(file), self._root) for each in homes if (file := getattr(each, "__file__", None))}
        if not files & self._changed or not nothing.can_stand_in_for(value):
            return False
        stands = nothing.TRUE if wanted["stub"] == "true" else nothing.FALSE
        for place in (module, test):
            name = wanted["name"] if place is module else wanted["alias"]
            if name and getattr(place, name, None) is value:
                stack.callback(setattr, place, name, value)
                setattr(place, name, stands)
        return True

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.excinfo is not None:
            place = self._place_of(item, call.excinfo)
            report.phase_gate_place = place  # type: ignore[attr-defined]
            report.phase_gate_missing = missing_module(call.excinfo.value)  # type: ignore[attr-defined]
            report.phase_gate_check = _is_check(call.excinfo.value)  # type: ignore[attr-defined]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self._send(
                "report",
                id=self._test_id(report.nodeid),
                stage=report.when,
                outcome=report.outcome,
                expected=hasattr(report, "wasxfail"),
                place=getattr(report, "phase_gate_place", ""),
                missing=getattr(report, "phase_gate_missing", ""),
                check=getattr(report, "phase_gate_check", False),
                message=_last_line(report),
            )

    def _broken(self, error: BaseException | None) -> str:
        """Return the file of the project that an import ended in."""
        error = error and (error.__cause__ or error)
        if isinstance(error, SyntaxError) and error.filename:
            return relative_id(Path(error.filename), self._root)
        return "" if error is None else self._place(error.__traceback__)

    def _place_of(self, item: pytest.Item, raised: pytest.ExceptionInfo[BaseException]) -> str:
        if type(item).__module__ == "_pytest.doctest":
            return relative_id(item.path, self._root)  # an example is the check, whatever came out of it
        return self._place(raised.tb)

    def _place(self, traceback: TracebackType | None) -> str:
        """Return the file of the project's innermost frame; empty if there is none."""
        found, top = "", str(self._root)
        while traceback is not None:
            file = os.path.realpath(traceback.tb_frame.f_code.co_filename)
            if file.startswith(top + os.sep) and not is_in_environment(file, top):
                found = relative_id(Path(file), self._root)
            traceback = traceback.tb_next
        return found

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        files = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
        # Behind links, and as long as the sandbox is there.
        self._send("ended", status=int(exitstatus), modules=sorted(map(os.path.realpath, files - {""})))


def _spell_plain(value: object) -> str:
    """Return a value of Python's own types, as text; empty for what holds anything else."""
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return repr(value)
    if not isinstance(value, (dict, list, tuple, set, frozenset)):
        return ""
    parts = list(value.items()) if isinstance(value, dict) else list(value)
    texts = list(map(_spell_plain, parts))
    order = sorted if isinstance(value, (set, frozenset)) else list
    return f"{type(value).__name__}({', '.join(order(texts))})" if all(texts) else ""


def _is_check(error: BaseException) -> bool:
    """Tell whether a check failed, and not code that went wrong: an assertion, `raises`, `fail`, an example."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_check, error.exceptions))
    is_example = type(error).__name__ in ("DocTestFailure", "MultipleDoctestFailures")
    return is_example or isinstance(error, (AssertionError, pytest.fail.Exception))


def _last_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(getattr(crash, "message", "") or "").strip().partition("\n")[0][:300]


def _code_of(item: pytest.Item) -> CodeType | None:
    """Return the code of a test's own function, behind its decorators."""
    function = getattr(item, "function", None)
    for _ in range(20):
        inner = getattr(getattr(function, "hypothesis", None), "inner_test", None)
        inner = inner or getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    return getattr(function, "__code__", None)


@contextlib.contextmanager
def _trace_lines(file: str) -> Iterator[set[int]]:
    """Note which lines of a file are run, also in threads."""
    lines: set[int] = set()

    def see_line(frame: FrameType, event: str, argument: object) -> Any:
        lines.add(frame.f_lineno)
        return see_line

    def see_call(frame: FrameType, event: str, argument: object) -> Any:
        return see_line if frame.f_code.co_filename == file else None

    before = sys.gettrace()
    threading.settrace(see_call)
    sys.settrace(see_call)
    try:
        yield lines
    finally:
        sys.settrace(before)
        threading.settrace(None)


class _Watch:
    """Which of the watched functions are called, by a profile function."""

    def __init__(self, watched: dict[str, dict[str, str]], root: str) -> None:
        #: File -> first line, as text -> name.
        self._watched = {os.path.join(root, path): names for path, names in watched.items()}
        #: By file and line: the same code in two files is equal.
        self._known: dict[tuple[str, int], str] = {}
        self._found: set[str] = set()
        self._root = root

    def __enter__(self) -> None:
        self._found = set()
        threading.setprofile(self._see)
        sys.setprofile(self._see)

    def __exit__(self, *details: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def taken(self) -> set[str]:
        return self._found

    def _see(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        key = (code.co_filename, code.co_firstlineno)
        name = self._known.get(key)
        if name is None:
            names = self._watched.get(code.co_filename) or self._watched.get(os.path.realpath(code.co_filename))
            name = "" if names is None else names.get(str(code.co_firstlineno), "")
            self._known[key] = name
        if name:
            self._found.add(name)
