"""What a piece of a run does beside recording: it leaves out the tests of another piece, and sees what a room lacks.

On its workers, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any

import pytest

from phase_gate.gate.inventory import bare_id
from phase_gate.recording.modules import missing_module
from phase_gate.storage.ownership import is_in_environment

#: The attribute of a report that tells which module was not found.
_MISSING = "phase_gate_missing"


def piece_hooks(told: Mapping[str, Any], name_test: Callable[[str], str]) -> dict[str, object]:
    """Return the hooks of a piece, by the names to register them under.

    :param told: what the process that started it has said.
    :param name_test: gives our own id of a test by pytest's.
    """
    return {
        "phase_gate_left_out": LeaveOut(told["left_out"], told["uncollectable"], name_test),
        "phase_gate_missing": MissingHooks(),
    }


class LeaveOut:
    """Deselects the tests that another piece has."""

    def __init__(self, ids: Iterable[str], uncollectable: Iterable[str], name_test: Callable[[str], str]) -> None:
        #: The rows of a test that could not be imported are not known.
        self._ids, self._functions = frozenset(ids), frozenset(map(bare_id, uncollectable))
        self._name_test = name_test

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if not self._ids and not self._functions:
            return
        left = [item for item in items if self._is_left_out(self._name_test(item.nodeid))]
        if left:
            gone = set(map(id, left))
            items[:] = [item for item in items if id(item) not in gone]
            config.hook.pytest_deselected(items=left)

    def _is_left_out(self, test_id: str) -> bool:
        return test_id in self._ids or bare_id(test_id) in self._functions


class MissingHooks:
    """Puts the module that was not found into the report of a failure."""

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        call = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            setattr(report, _MISSING, missing_module(call.excinfo.value))
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed and call.excinfo is not None:
            setattr(report, _MISSING, missing_module(call.excinfo.value))
        return report


class MissingWitness:
    """Collects them where all reports arrive."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.names.add(getattr(report, _MISSING, ""))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.names.add(getattr(report, _MISSING, ""))


def find_strays(outer: str) -> list[str]:
    """Return the files of modules that come from the project itself, in a room that has another path; from there.

    :param outer: the project's root; empty where the room stands at the same path.
    """
    if not outer:
        return []
    files = {os.path.realpath(str(getattr(module, "__file__", None) or "")) for module in list(sys.modules.values())}
    inside = (file for file in files if file.startswith(outer + os.sep) and not is_in_environment(file, outer))
    return sorted(os.path.relpath(file, outer) for file in inside)
