"""What coverage.py measures of this run, because of `pytest --cov`, or because `coverage run` started pytest.

Nothing of coverage.py is imported here: where it measures, it is loaded. It is asked only where a rule speaks of new
code, and is neither stopped nor told to save anything.
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
    """Answers for single files, once the tests are over."""

    def __init__(self, config: pytest.Config, root: Path, imported: Collection[str]) -> None:
        """Ask nothing yet.

        :param imported: the files of the project that this run has imported, from the root.
        """
        self._config, self._root, self._imported = config, root, imported

    def lines(self, path: str) -> FileLines:
        file = os.path.realpath(self._root / path)
        # One that was not imported has not run, whatever coverage.py was told.
        if file not in self._measured and path in self._imported:
            raise UnmeasuredError(f"coverage.py does not measure {path}: see its settings `source`, `include`, `omit`")
        _, statements, excluded, missing, _ = self._coverage.analysis2(file)
        return FileLines(frozenset(statements), frozenset(excluded), frozenset(missing))

    @cached_property
    def _measured(self) -> set[str]:
        # With `relative_files` they are named from the folder that pytest was started in.
        start = str(self._config.invocation_params.dir)
        return {os.path.realpath(os.path.join(start, name)) for name in self._coverage.get_data().measured_files()}

    @cached_property
    def _coverage(self) -> Any:
        """The object of coverage.py that has the data of this run, and of no other."""
        # pytest-cov saves, and combines what workers have measured, at the end of pytest_runtestloop: before we look.
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
