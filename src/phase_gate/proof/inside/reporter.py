"""The plugin that pytest loads in a sandbox. It reports how each test ended, and where modules came from.

PYTEST_DONT_REWRITE: this file contains no assertions.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Generator
from types import CodeType, TracebackType

import pytest
from _pytest.config import ConftestImportFailure

from . import Line, sentinel, take_line
from .results import LEFT_CALL, LEFT_FUNCTION, InsideCall, Profile, Results

_line = take_line()

#: Options that do not fit a sandbox, and their values there.
_IN_A_SANDBOX: dict[str, object] = {
    # Run the few tests in one process: starting workers would take longer.
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    # Run all targets, whatever failed before. A failure or an import error does not end the run.
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "stepwise_skip": False,
    "stepwise_reset": False,
    "usepdb": False,
    "trace": False,
    "maxfail": 0,
    "continue_on_collection_errors": True,
    # Report files of pytest and common plugins may be outside of the project, where they would be overwritten.
    "xmlpath": None,
    "htmlpath": None,
    "report_log": None,
    "json_report_file": None,
    "pastebin": None,
    "log_file": os.devnull,  # without a value, the one of the settings counts
    # The sandbox has its own limits, which do not depend on the load.
    "session_timeout": None,
    # The run belongs to no task.
    "phase": None,
}
#: Errors of a sandbox that may have no space left, or share a port with another run.
_LACKS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EADDRINUSE})
#: Overrides that let all wanted targets run, whatever else was selected.
_FOR_TARGETS: dict[str, object] = {"keyword": "", "markexpr": "", "deselect": None}


def _forget_modules(line: Line) -> None:
    """Remove this package from `sys.modules`. pytest has it already, and emptied sources import another name."""
    package = __name__.partition(".")[0]
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        del sys.modules[name]
    if line.order["sentinel"]:
        sys.modules[line.order["sentinel"]] = sentinel


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    if _line is None:
        return (yield)
    _forget_modules(_line)
    # pytest-cov begins by removing the data of the user's run, which may be outside of the project.
    early_config.known_args_namespace.cov_source = None
    try:
        result = yield
    except ConftestImportFailure as failure:
        # pytest ends here, before `pytest_configure`.
        _Reporter(early_config, _line).report_broken(failure)
        raise
    _line.send("loaded")
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    if _line is not None:
        chosen = _FOR_TARGETS if _line.order["wanted"] else {}
        # Not among the user's temporary folders, because pytest keeps only the last three.
        for name, value in {**_IN_A_SANDBOX, **chosen, "basetemp": _line.order["temporary"]}.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if _line is not None:
        _line.send("configured")
        reporter = _Reporter(config, _line)
        config.pluginmanager.register(reporter)
        config.pluginmanager.register(InsideCall(reporter.results))


class _Reporter:
    def __init__(self, config: pytest.Config, line: Line) -> None:
        order = line.order
        self._send = line.send
        self._root: str = order["root"]
        self._config = config
        self._files: dict[str, str] = {}
        self._wanted = frozenset(order["wanted"])
        self._found: set[str] = set()
        self._profile = Profile(order["watched"], self._root)
        self.results = Results(config, self._root, self._profile)
        #: Test and stage -> facts about the exception.
        self._raised: dict[tuple[str, str], dict[str, object]] = {}

    def report_broken(self, failure: ConftestImportFailure) -> None:
        file = self._relative(str(failure.path))
        self._send("broken", file=file, message=_spell(failure.cause), missing=_missing_module(failure.cause))

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self._root).replace(os.sep, "/")

    # --- which tests

    def _test_id(self, node: str) -> str:
        part, _, name = node.partition("::")
        if part not in self._files:
            self._files[part] = self._relative(str(self._config.rootpath / part))
        return f"{self._files[part]}::{name}" if name else self._files[part]

    def _bare_id(self, item: pytest.Item) -> str:
        file, mark, name = self._test_id(item.nodeid).partition("::")
        return f"{file}{mark}{name.partition('[')[0]}"

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self._files[item.nodeid.partition("::")[0]] = self._relative(str(item.path))
        self._found.add(self._bare_id(item))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        # Tests are selected by file on the command line, and by name here: a test that a source generates may be
        # missing, and pytest would refuse to run if it was on the command line.
        left = [item for item in items if self._bare_id(item) not in self._wanted] if self._wanted else []
        if left:
            items[:] = [item for item in items if self._bare_id(item) in self._wanted]
            config.hook.pytest_deselected(items=left)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.results.expect(session.items)
        kept = set(map(self._bare_id, session.items))
        # A wanted test that was found, but will not run, has been dropped and will have no report.
        dropped = sorted((self._found & self._wanted) - kept)
        self._send("collected", items=[self._describe(item) for item in session.items], dropped=dropped)

    def _describe(self, item: pytest.Item) -> dict[str, object]:
        """Return the id of a test, where its function begins, and the row and the value of each parameter."""
        code, row = _inner_code(item), getattr(item, "callspec", None)
        place = {} if code is None else {"file": self._relative(code.co_filename)}
        values = {name: _spell_plain(value) for name, value in getattr(row, "params", {}).items()}
        return {
            "id": self._test_id(item.nodeid),
            "line": code.co_firstlineno if code else 0,
            "rows": getattr(row, "indices", {}),
            "values": {name: text for name, text in values.items() if text},
            "effort": _effort(item),
            **place,
        }

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        if report.failed:
            call = getattr(report, "call", None)
            error = None if call is None or call.excinfo is None else call.excinfo.value
            lines = str(report.longrepr).strip().splitlines()
            self._tell(
                report.nodeid, "failed", message=lines[-1][:300] if lines else "", missing=_missing_module(error)
            )
        return report

    # --- how they ended

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_timeout_set_timer(self) -> bool:
        return True  # set no timer: the project's limits are for an idle machine

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        test_id = self._test_id(item.nodeid)
        self._send("started", id=test_id)
        self._profile.begin()
        self.results.begin()
        try:
            return (yield)
        finally:
            self._send("ran", id=test_id, reached=sorted(self._profile.end()))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        with self.results.watched(item):
            return (yield from self.results.pass_by(LEFT_CALL))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self) -> Generator[None, object, object]:
        return (yield from self.results.pass_by(LEFT_FUNCTION))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.excinfo is not None:
            # In a doctest, the example is the check, whatever it raises.
            is_example = type(item).__module__ == "_pytest.doctest"
            self._raised[item.nodeid, call.when] = {
                "files": [os.path.realpath(item.path)] if is_example else _files_of(call.excinfo.tb),
                "missing": _missing_module(call.excinfo.value),
                "doubt": _spell(call.excinfo.value) if getattr(call.excinfo.value, "errno", 0) in _LACKS else "",
                "check": _is_check(call.excinfo.value),
            }
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        raised = self._raised.pop((report.nodeid, str(report.when)), {})
        if report.when == "call" or report.outcome != "passed":
            crash = getattr(report.longrepr, "reprcrash", None)
            self._tell(
                report.nodeid,
                report.outcome,
                expected=hasattr(report, "wasxfail"),
                message=str(getattr(crash, "message", "") or "").strip().partition("\n")[0][:300],
                **{**raised, **self.results.judge(report)},
            )

    def _tell(self, node: str, outcome: str, **more: object) -> None:
        """Report how a test ended, or that a file can't be collected."""
        usual = {"files": [], "missing": "", "check": False, "lie": "", "doubt": "", "expected": False}
        self._send("report", **{**usual, **more, "id": self._test_id(node), "outcome": outcome})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        files = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
        # Resolve links now, while the sandbox exists.
        self._send("ended", status=int(exitstatus), modules=sorted(map(os.path.realpath, files - {""})))


def _effort(item: pytest.Item) -> dict[str, object]:
    """Return the settings of a hypothesis test that determine how thoroughly it checks. Empty for other tests."""
    chosen = getattr(getattr(item, "function", None), "_hypothesis_internal_use_settings", None)
    if chosen is None:
        return {}
    return {
        "max_examples": chosen.max_examples,
        "phases": [f"without phase {each.name}" for each in chosen.phases],
        "excuses": [
            *(f"without check {each.name}" for each in chosen.suppress_health_check),
            *(["derandomized"] if chosen.derandomize else []),
        ],
    }


def _spell_plain(value: object) -> str:
    """Return a value of built-in types as text. Empty if it contains any other type, or can't be written."""
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        with contextlib.suppress(ValueError):  # a number with too many digits
            return repr(value)
    if not isinstance(value, (dict, list, tuple)):
        return ""  # a set has another order in each run
    texts = [_spell_plain(part) for part in (value.items() if isinstance(value, dict) else value)]
    return f"{type(value).__name__}({', '.join(texts)})" if all(texts) else ""


def _is_check(error: BaseException) -> bool:
    """Return whether the error is a failed check: an assertion, `raises`, `fail` or a doctest example."""
    is_example = type(error).__name__ in ("DocTestFailure", "MultipleDoctestFailures")
    return is_example or isinstance(error, (AssertionError, pytest.fail.Exception))


def _spell(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:300]


def _missing_module(error: BaseException | None) -> str:
    """Return the missing module that the error or one of its causes names. Empty if there is none."""
    for _ in range(20):  # a chain may be circular
        if isinstance(error, ModuleNotFoundError) and error.name:
            return error.name
        error = error and (error.__cause__ or error.__context__)
    return ""


def _files_of(traceback: TracebackType | None) -> list[str]:
    """Return the files of the frames without duplicates, the innermost last."""
    found: dict[str, None] = {}
    while traceback is not None:
        file = os.path.realpath(traceback.tb_frame.f_code.co_filename)
        found.pop(file, None)
        found[file] = None
        traceback = traceback.tb_next
    return list(found)


def _inner_code(item: pytest.Item) -> CodeType | None:
    """Return the code of a test's own function, without its decorators."""
    function = getattr(item, "function", None)
    for _ in range(20):
        function = getattr(function, "__wrapped__", function)
    return getattr(function, "__code__", None)
