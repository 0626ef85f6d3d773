"""A copy of the bench's project, for attempts that are made of commands and files rather than of one run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from phase_gate.values import Value
from tests.integrity.bench import Workbench
from tests.integrity.rows import GOOD

CLOSED, UNTRUSTED, NOT_ALLOWED = 10, 11, 13


class Door(Value, kw_only=False):
    """One project with an honest RED behind it."""

    bench: Workbench
    root: Path

    @classmethod
    def open(cls, bench: Workbench, root: Path, *, code: str = GOOD, green_runs: int = 0) -> Door:
        """Copy the project, write its code, and run it so often."""
        shutil.copytree(bench.origin(), root)
        door = cls(bench, root)
        door.write("price.py", code)
        for _ in range(green_runs):
            door.pytest("--phase=green")
        return door

    @property
    def folder(self) -> Path:
        return self.root / ".phase-gate"

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, encoding="utf-8")

    def pytest(self, *arguments: str, **environment: str) -> tuple[int, str]:
        return _said(self.bench.pytest(self.root, *arguments, environment=environment))

    def plain_pytest(self, *arguments: str) -> tuple[int, str]:
        """Run pytest without the plugin."""
        return _said(self.bench.run_module(self.root, "pytest", *arguments))

    def gate(self, *arguments: str) -> tuple[int, str]:
        return _said(self.bench.gate(self.root, *arguments))

    def check(self, *arguments: str) -> tuple[int, str]:
        """Ask whether Gate 1 is open."""
        return self.gate("check", "--gate1", *arguments)


def _said(done: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    return done.returncode, " ".join((done.stdout + done.stderr).split())
