"""The bench of `doctor --self-test`, for rows that tests try: an honest RED, made once and copied for each of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from phase_gate.selftest.rows import Attempt, Row
from phase_gate.selftest.runner import Workbench
from tests.integrity.forks import Forks


class FastWorkbench(Workbench):
    """`doctor`'s bench, with forked processes where the interpreter itself is not asked for options."""

    def __init__(self, folder: Path) -> None:
        self._forks = Forks(folder)
        super().__init__(folder)

    def _run(self, root: Path, words: list[str], more: dict[str, str]) -> subprocess.CompletedProcess[str]:
        if words[0] != "-m" or any(name.startswith("PYTHON") for name in more):
            return super()._run(root, words, more)
        return self._forks.run(root, words, self.environment(more))

    def run_module(self, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return self._run(root, ["-m", *words], {})

    def close(self) -> None:
        self._forks.close()

    def check_cheat(self, row: Row, *more: str) -> None:
        """The gate stays closed, and what was said names the reason."""
        tried = self.attempt(row.cheat, *more)
        assert not tried.is_open, tried.output
        assert row.told_by in tried.output, tried.output

    def check_twin(self, twin: Attempt, *more: str) -> None:
        """The gate opens, and nothing was said against it."""
        tried = self.attempt(twin, *more)
        assert tried.is_open, tried.output
        assert "Warning" not in tried.output, tried.output
