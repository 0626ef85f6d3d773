"""Witnesses that an outcome is the test's own. Registered where tests run, on workers too.

Cheap looks always; the costly ones (what each test raised, whether its code ran) only where code of the project itself
implements a hook that could change a result. A hook that only adds an attribute, as pytest's own docs show, is fine.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from types import CodeType

import pytest

from pytest_phase_gate.core.findings import Finding
from pytest_phase_gate.core.inventory import bare_name
from pytest_phase_gate.recording.execution import watch_code
from pytest_phase_gate.storage.owners import is_in_environment

#: Hooks through which a result can be changed; with a foreign implementation of one we look at every test.
RESULT_HOOKS = (
    "pytest_runtest_makereport",
    "pytest_runtest_logreport",
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_pyfunc_call",
    "pytest_runtestloop",
    "pytest_collection_modifyitems",
    "pytest_collection_finish",
    "pytest_itemcollected",
    "pytest_pycollect_makeitem",
    "pytest_handlecrashitem",
)
#: What a cheat would replace to have its way with every report; module and dotted name.
INTERNALS = (
    ("_pytest.reports", "TestReport.__init__"),
    ("_pytest.reports", "TestReport.from_item_and_call"),
    ("_pytest.runner", "CallInfo.__init__"),
    ("_pytest.runner", "CallInfo.from_call"),
    ("_pytest.runner", "call_and_report"),
    ("_pytest.runner", "runtestprotocol"),
    ("_pytest.runner", "pytest_runtest_protocol"),
    ("_pytest.runner", "pytest_runtest_makereport"),
    ("_pytest.runner", "pytest_runtest_call"),
    ("_pytest.main", "pytest_runtestloop"),
    ("_pytest.python", "Function.runtest"),
    ("_pytest.python", "pytest_pyfunc_call"),
    ("_pytest.skipping", "pytest_runtest_makereport"),
    ("_pytest.unittest", "TestCaseFunction.addFailure"),
    ("_pytest.unittest", "TestCaseFunction.addError"),
    ("pytest_phase_gate.recording.buckets", "Buckets.fold"),
    ("pytest_phase_gate.core.finishing", "finish_run"),
    ("pytest_phase_gate.core.evaluation", "evaluate_gate_1"),
)

_GUARD = "outcomes-genuine"


class OutcomeWitness:
    """Collects what makes the session's outcomes doubtful."""

    def __init__(self, config: pytest.Config, root: Path) -> None:
        self._config, self._root = config, os.path.realpath(root)
        self._doubts: dict[str, Finding] = {}
        self._deselected: set[str] = set()
        self._watch: _ResultWatch | None = None
        #: Foreign implementations of result-changing hooks, as `file: hook`.
        self.foreign_hooks: tuple[str, ...] = ()
        if sys.flags.optimize:
            self._doubt("asserts-off", "python -O leaves assert statements out", "PYTHONOPTIMIZE")

    def doubts(self) -> tuple[Finding, ...]:
        """Return what was found, after a last look."""
        self._look_at_internals()
        if self._watch is not None:
            for test, slug, detail in self._watch.found:
                self._doubt(slug, detail, test)
        return tuple(self._doubts.values())

    def _doubt(self, slug: str, detail: str, name: str) -> None:
        file = name.partition("::")[0] if "::" in name else ""
        self._doubts.setdefault(
            f"{slug} {name}", Finding(slug=slug, guard=_GUARD, tier="hard", id=name, file=file, detail=detail)
        )

    # --- collection ----------------------------------------------------------------------------------------------

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected |= {item.nodeid for item in items}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        before = [item.nodeid for item in items]
        result = yield
        if any(self._foreign("pytest_collection_modifyitems")):
            kept = {item.nodeid for item in items} | self._deselected
            for node in before:
                # xdist puts a group behind the id; the test is still there.
                if node not in kept and not any(other.startswith(f"{node}@") for other in kept):
                    self._doubt("test-dropped", "taken out of the session without a deselect event", node)
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._look_at_internals()
        self.foreign_hooks = tuple(
            f"{name}: {hook}" for hook in RESULT_HOOKS for name in sorted(set(self._foreign(hook)))
        )
        if self.foreign_hooks:
            self._look_at_objects(session.items)
            self._watch = _ResultWatch(session.items)
            self._config.pluginmanager.register(self._watch, "phase_gate_result_watch")

    def _foreign(self, hook: str) -> Iterator[str]:
        """Yield the files of the project's own implementations of a hook."""
        caller = getattr(self._config.hook, hook, None)  # xdist's hooks are there only with xdist
        for implementation in () if caller is None else caller.get_hookimpls():
            file = implementation.function.__code__.co_filename
            if self._is_projects(file):
                yield os.path.relpath(file, self._root)

    def _is_projects(self, file: str) -> bool:
        path = os.path.realpath(file)
        if path.startswith(_OURS) or not path.startswith(self._root + os.sep):
            return False
        return not is_in_environment(path, self._root)

    def _look_at_internals(self) -> None:
        for module, name in INTERNALS:
            loaded = sys.modules.get(module)
            if loaded is None:
                continue
            if self._is_patched(_code_of(loaded, name), loaded.__file__ or ""):
                self._doubt("pytest-patched", f"{module}.{name} is not its own any more", f"{module}.{name}")

    def _is_patched(self, code: CodeType | None, home: str) -> bool:
        if code is None:
            return True
        if os.path.basename(code.co_filename) == os.path.basename(home):
            return False
        # What an installed distribution puts in its place is that distribution's business.
        return self._is_projects(code.co_filename) or not os.path.exists(code.co_filename)

    def _look_at_objects(self, items: list[pytest.Item]) -> None:
        """Does each test run what its module defines under its name?"""
        for item in items:
            if not isinstance(item, pytest.Function):
                continue
            defined = _defined_code(item)
            running = _unwrapped_code(item.obj)
            if defined is not None and running is not None and defined is not running:
                self._doubt("test-replaced", "runs other code than its module defines", item.nodeid)
            elif running is not None and _is_plain(item) and not _is_from(running, item.path):
                self._doubt("test-replaced", f"runs code from {os.path.basename(running.co_filename)}", item.nodeid)


class _ResultWatch:
    """What each test raised, and whether its code ran, against what is reported."""

    def __init__(self, items: list[pytest.Item]) -> None:
        self.found: list[tuple[str, str, str]] = []
        self._raised: dict[str, str] = {}
        self._codes = {
            item.nodeid: code
            for item in items
            if isinstance(item, pytest.Function) and (code := _unwrapped_code(item.obj)) is not None
        }
        self._ran = watch_code(set(self._codes.values()))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        # Innermost: before anybody can swallow what the test raises.
        try:
            return (yield)
        except BaseException as error:
            self._raised[pyfuncitem.nodeid] = type(error).__name__
            raise

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" or hasattr(report, "context"):
            return
        raised = self._raised.pop(report.nodeid, None)
        is_marked = hasattr(report, "wasxfail")
        if raised is not None and not is_marked and not _fits(raised, report.outcome):
            self.found.append((report.nodeid, "outcome-rewritten", f"raised {raised}, reported as {report.outcome}"))
        code = self._codes.get(report.nodeid)
        if report.outcome == "passed" and code is not None and self._ran is not None and code not in self._ran:
            self.found.append((report.nodeid, "code-never-ran", "reported as passed, its code never ran"))
        if self._ran is not None and code is not None:
            self._ran.discard(code)


def _fits(raised: str, outcome: str) -> bool:
    if outcome in ("failed", "rerun"):
        return True
    return outcome == "skipped" and raised in ("Skipped", "SkipTest")


def _code_of(module: object, dotted: str) -> CodeType | None:
    found = module
    for part in dotted.split("."):
        found = getattr(found, part, None)
    found = inspect.unwrap(found) if callable(found) else found
    code = getattr(getattr(found, "__func__", found), "__code__", None)
    return code if isinstance(code, CodeType) else None


def _unwrapped_code(function: object) -> CodeType | None:
    try:
        inner = inspect.unwrap(function)  # type: ignore[arg-type]
    except ValueError:
        return None
    code = getattr(getattr(inner, "__func__", inner), "__code__", None)
    return code if isinstance(code, CodeType) else None


def _defined_code(item: pytest.Function) -> CodeType | None:
    owner = item.cls if item.cls is not None else item.module
    return _unwrapped_code(getattr(owner, item.originalname, None))


def _is_plain(item: pytest.Function) -> bool:
    """Tell whether the source shows a function of that name without a decorator that might stand in for it."""
    from pytest_phase_gate.core.source_checks import find_function
    from pytest_phase_gate.recording.reasons import parse_file

    tree = parse_file(str(item.path))
    found = None if tree is None else find_function(tree, bare_name(item.nodeid.partition("::")[2]))
    return found is not None and all("mark" in _dotted(mark) for mark in found.decorator_list)


def _dotted(node: ast.expr) -> str:
    inner = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(inner)


def _is_from(code: CodeType, path: Path) -> bool:
    return os.path.realpath(code.co_filename) == os.path.realpath(path)


_OURS = os.path.realpath(os.path.dirname(importlib.import_module("pytest_phase_gate").__file__ or "")) + os.sep
