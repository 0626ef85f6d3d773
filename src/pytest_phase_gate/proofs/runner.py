"""Try rows against this installation: each cheat must be refused and named, each twin must open without a warning."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pytest_phase_gate.proofs.rows import CONFIGURATION, TESTS, Attempt, Row
from pytest_phase_gate.proofs.table import TABLE

_TEST_FILE = "tests/test_price.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How one row came out."""

    name: str
    twin_name: str
    is_refused: bool
    is_named: bool
    twin_opens: bool
    output: str = ""

    @property
    def holds(self) -> bool:
        return self.is_refused and self.is_named and self.twin_opens


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of an attempt: does Gate 1 hold afterwards, and what was said?"""

    holds: bool
    output: str


def prove_all(rows: Sequence[Row] = TABLE, *, show: Callable[[str], None] | None = None) -> list[Proof]:
    """Try every row; `show` gets a line for each."""
    proofs = []
    with tempfile.TemporaryDirectory(prefix="phase-gate-proofs-") as folder:
        bench = Workbench(Path(folder))
        for row in rows:
            proofs.append(bench.prove(row))
            if show is not None:
                show(_line(proofs[-1]))
    return proofs


def _line(proof: Proof) -> str:
    cheat = "refused" if proof.is_refused and proof.is_named else "NOT REFUSED" if not proof.is_refused else "NOT NAMED"
    twin = "opens" if proof.twin_opens else "DOES NOT OPEN"
    return f"{'+' if proof.holds else '-'} {proof.name}: {cheat}\n    twin, {proof.twin_name}: {twin}"


class Workbench:
    """A project with an honest RED, copied for each attempt."""

    #: Files that the project has beside its tests and settings.
    more_files: ClassVar[dict[str, str]] = {}
    #: How often each attempt is run: as often as the rules ask for green runs.
    runs: ClassVar[int] = 2

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self.origin = folder / "origin"
        (self.origin / "tests").mkdir(parents=True)
        (self.origin / "pytest.ini").write_text(CONFIGURATION, encoding="utf-8")
        (self.origin / _TEST_FILE).write_text(TESTS, encoding="utf-8")
        for name, text in self.more_files.items():
            (self.origin / name).write_text(text, encoding="utf-8")
        red = self.pytest(self.origin, "--phase=red")
        signal = self.gate(self.origin, "signal", "--reason", "five failing tests")
        assert (red.returncode, signal.returncode) == (0, 0), red.stdout + signal.stdout + signal.stderr

    def prove(self, row: Row, *more: str) -> Proof:
        cheated, honest = self.attempt(row.cheat, *more), self.attempt(row.twin, *more)
        return Proof(
            name=row.name,
            twin_name=row.twin_name,
            is_refused=not cheated.holds,
            is_named=row.told_by in cheated.output,
            twin_opens=honest.holds and "Warning" not in honest.output,
            output=cheated.output if cheated.holds or row.told_by not in cheated.output else honest.output,
        )

    def attempt(self, attempt: Attempt, *more: str) -> Tried:
        """Do it in a fresh copy, run twice, and ask whether Gate 1 holds."""
        self._count += 1
        root = self._folder / f"attempt-{self._count}"
        shutil.copytree(self.origin, root)
        (root / "price.py").write_text(attempt.code, encoding="utf-8")
        for name, text in attempt.writes:
            (root / name).write_text(text, encoding="utf-8")
        for name in attempt.removes:
            (root / name).unlink()
        text = (root / _TEST_FILE).read_text(encoding="utf-8") if (root / _TEST_FILE).exists() else ""
        for old, new in attempt.edits:
            assert old in text, f"nothing to edit: {old!r}"
            text = text.replace(old, new)
        if attempt.edits:
            (root / _TEST_FILE).write_text(text, encoding="utf-8")
        output = ""
        for _ in range(self.runs):
            done = self.pytest(
                root,
                "--phase=green",
                *attempt.arguments,
                *more,
                python=attempt.python,
                environment=dict(attempt.environment),
            )
            output += done.stdout + done.stderr
        check = self.gate(root, "check", "--gate1")
        # One line: a panel wraps its sentences wherever the names in them end.
        return Tried(check.returncode == 0, " ".join((output + check.stdout + check.stderr).split()))

    def pytest(
        self,
        root: Path,
        *arguments: str,
        python: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        ours = ("-p", "pytest_phase_gate.plugin", "-p", "no:cacheprovider")
        return self._run(root, [*python, "-m", "pytest", *ours, *arguments], environment or {})

    def gate(self, root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run(root, ["-m", "pytest_phase_gate.cli", *arguments], {})

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        """Return what a run gets: nothing of this machine's own settings, and a user's state directory of its own."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PHASE_GATE_", "PYTEST_"))}
        return {
            **kept,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_STATE_HOME": str(self._folder / "user-state"),
            **more,
        }

    def _run(self, root: Path, words: list[str], more: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=root,
            env=self.environment(more),
            capture_output=True,
            text=True,
            check=False,
        )
