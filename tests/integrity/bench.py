"""The bench for rows: an honest RED, made once and copied for each of them.

Each cheat must be refused and named, each twin must open without a warning.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from phase_gate.values import Value
from tests.integrity.forks import Forks
from tests.integrity.rows import PRICE, SIGNAL, TEST_FILE, Attempt, Base, Command, Row
from tests.warm import WITH_PROOF


class Tried(Value, kw_only=False):
    """What came of an attempt: is Gate 1 open afterwards, and what was said?"""

    is_open: bool
    output: str
    #: What the last run of pytest ended with.
    status: int = 0


class Workbench:
    """Projects with an honest RED, copied for each attempt."""

    def __init__(self, folder: Path) -> None:
        self._forks = Forks(folder)
        self._folder = folder
        self._count = 0
        self._origins: dict[Base, Path] = {}
        self.origin(PRICE)

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

    def origin(self, base: Base = PRICE) -> Path:
        """Return the folder of a project as it is before anything is tried, made once."""
        if base in self._origins:
            return self._origins[base]
        root = self._folder / f"origin-{len(self._origins)}"
        for name, text in base.files:
            _write(root / name, text)
        environment = dict(base.environment)
        for command in base.commands:
            done = self._command(root, command, environment)
            assert done.returncode == 0, done.stdout + done.stderr
        if base.has_red:
            red = self.pytest(root, "--phase=red", environment=environment)
            signal = self._command(root, SIGNAL, environment)
            assert (red.returncode, signal.returncode) == (0, 0), red.stdout + signal.stdout + signal.stderr
        self._origins[base] = root
        return root

    def attempt(self, attempt: Attempt, *more: str) -> Tried:
        """Do it in a fresh copy, step by step, and ask whether Gate 1 is open."""
        self._count += 1
        root = self._folder / f"attempt-{self._count}"
        shutil.copytree(self.origin(attempt.base), root, symlinks=True)
        environment = dict(attempt.base.environment)
        output, status = "", 0
        step: Attempt | None = attempt
        while step is not None:
            said, status = self._take_step(root, step, more, {**environment, **dict(step.environment)})
            output += said
            step = step.then
        check = self._command(root, ("phase-gate", "check", "--gate1"), environment)
        # One line: a panel wraps its sentences wherever the names in them end.
        words = (output + check.stdout + check.stderr).split()
        return Tried(check.returncode == 0, " ".join(words), status)

    def _take_step(
        self, root: Path, step: Attempt, more: tuple[str, ...], environment: dict[str, str]
    ) -> tuple[str, int]:
        """Change the files, run the commands, and return what was said and the last run's status."""
        if step.code is not None:
            _write(root / "price.py", step.code)
        for name, text in step.writes:
            _write(root / name, text)
        for name in step.removes:
            if (root / name).is_dir():
                shutil.rmtree(root / name)
            else:
                (root / name).unlink()
        if step.edits:
            text = (root / TEST_FILE).read_text(encoding="utf-8")
            for old, new in step.edits:
                assert old in text, f"nothing to edit: {old!r}"
                text = text.replace(old, new)
            _write(root / TEST_FILE, text)
        done = [self._command(root, command, environment) for command in step.before]
        for words in step.runs:
            arguments = (f"--phase={step.phase}", *step.arguments, *more, *words)
            done.append(self.pytest(root, *arguments, python=step.python, environment=environment))
        status = done[-1].returncode if done else 0
        done += [self._command(root, command, environment) for command in step.after]
        return "".join(each.stdout + each.stderr for each in done), status

    def _command(self, root: Path, command: Command, more: dict[str, str]) -> subprocess.CompletedProcess[str]:
        program, *words = command
        if program == "phase-gate":
            return self._run(root, ["-m", "phase_gate.cli", *words], more)
        return subprocess.run(
            command, cwd=root, env=self.environment(more), capture_output=True, text=True, check=False
        )

    def pytest(
        self,
        root: Path,
        *arguments: str,
        python: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        ours = ("-p", "phase_gate.plugin", "-p", "no:cacheprovider")
        return self._run(root, [*python, "-m", "pytest", *ours, *arguments], environment or {})

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        """Return what a run gets: nothing of this machine's own settings, and a user's state directory of its own."""
        # Under CI a user's state directory is not used; what is proven here is what happens at a desk.
        dropped = ("PHASE_GATE_", "PYTEST_")
        kept = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith(dropped)}
        return {
            **kept,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_STATE_HOME": str(self._folder / "user-state"),
            **more,
        }

    def gate(self, root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run(root, ["-m", "phase_gate.cli", *arguments], {})

    def run_module(self, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return self._run(root, ["-m", *words], {})

    def _run(self, root: Path, words: list[str], more: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run Python in a forked process, unless the interpreter itself is asked for options."""
        if words[0] == "-m" and not any(name.startswith("PYTHON") for name in more):
            return self._forks.run(root, words, self.environment(more))
        return subprocess.run(
            [sys.executable, *words],
            cwd=root,
            env=self.environment(more),
            capture_output=True,
            text=True,
            check=False,
        )


class ProvingBench(Workbench):
    """A bench whose runs and commands make proofs."""

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        return {**super().environment(more), WITH_PROOF: "yes"}

    def signal(self, attempt: Attempt) -> tuple[int, dict[str, Any]]:
        """Say that the last attempt is done."""
        root, environment = self._folder / f"attempt-{self._count}", dict(attempt.base.environment)
        said = self._run(root, ["-m", "phase_gate.cli", "signal", "--reason", "done", "--json"], environment)
        return said.returncode, json.loads(said.stdout)

    def check_disproven(self, row: Row) -> None:
        """Gate 1 opens, and the experiment keeps the phase from ending."""
        tried = self.attempt(row.cheat)
        assert tried.is_open, tried.output
        code, verdict = self.signal(row.cheat)
        assert code == 10, verdict
        assert row.told_by in verdict["reason"]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
