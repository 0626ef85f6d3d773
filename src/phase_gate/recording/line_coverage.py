"""Line coverage of this run, measured by coverage.py through `pytest --cov` or `coverage run`.

This module does not import coverage.py: if coverage.py measures, it is loaded already. It is queried only if a rule
uses a metric of new code, and it is neither stopped nor made to save data.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from phase_gate.evidence.context import FileLines, UnmeasuredError

_HOW = "use pytest --cov (pip install 'pytest-phase-gate[coverage]')"


class LineCoverage:
    """Returns the coverage of single files after the tests have run."""

    def __init__(self, config: pytest.Config, root: Path, imported: Collection[str]) -> None:
        """Store the arguments without querying coverage.py.

        :param imported: the files of the project that this run has imported, from the root.
        """
        self._config, self._root, self._imported = config, root, imported

    def lines(self, path: str) -> FileLines:
        file = os.path.realpath(self._root / path)
        # A file that was not imported has not run, whatever the settings of coverage.py.
        if file not in self._measured and path in self._imported:
            raise UnmeasuredError(f"coverage.py does not measure {path}: see its settings `source`, `include`, `omit`")
        _, statements, excluded, missing, _ = self._coverage.analysis2(file)
        return FileLines(frozenset(statements), frozenset(excluded), frozenset(missing))

    @cached_property
    def _measured(self) -> set[str]:
        # With `relative_files`, paths are relative to the folder that pytest was started in.
        start = str(self._config.invocation_params.dir)
        return {os.path.realpath(os.path.join(start, name)) for name in self._coverage.get_data().measured_files()}

    @cached_property
    def _coverage(self) -> Any:
        """The object of coverage.py with the data of this run only."""
        # pytest-cov saves its data, and combines that of workers, at the end of pytest_runtestloop: before this call.
        controller = getattr(self._config.pluginmanager.getplugin("_cov"), "cov_controller", None)
        if controller is not None:
            if self._config.getoption("cov_append"):
                raise UnmeasuredError("--cov-append mixes in earlier runs: leave it out")
            return controller.cov
        around = getattr(sys.modules.get("coverage"), "Coverage", None)
        measuring = None if around is None else around.current()
        if measuring is None:
            raise UnmeasuredError(f"coverage.py did not measure this run; {_HOW}")
        if self._config.pluginmanager.hasplugin("dsession"):
            raise UnmeasuredError(f"`coverage run` does not measure the workers of pytest-xdist; {_HOW}")
        if not {"-a", "--append"}.isdisjoint(sys.orig_argv):
            raise UnmeasuredError("`coverage run --append` mixes in earlier runs: leave --append out")
        return measuring
