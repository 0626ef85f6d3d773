"""Try rows against this installation: each cheat must be refused and named, each twin must open without a warning."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from phase_gate.selftest.rows import PRICE, SIGNAL, TABLE, TEST_FILE, Attempt, Base, Command, Row
from phase_gate.values import Value


class Outcome(Value):
    """How one row came out."""

    name: str
    twin_name: str
    is_refused: bool
    is_named: bool
    twin_opens: bool
    output: str = ""

    @property
    def passed(self) -> bool:
        return self.is_refused and self.is_named and self.twin_opens


class Tried(Value, kw_only=False):
    """What came of an attempt: is Gate 1 open afterwards, and what was said?"""

    is_open: bool
    output: str
    #: What the last run of pytest ended with.
    status: int = 0


def try_all(rows: Sequence[Row] = TABLE, *, show: Callable[[str], None] | None = None) -> list[Outcome]:
    """Try every row; `show` gets a line for each."""
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="phase-gate-self-test-") as folder:
        bench = Workbench(Path(folder))
        for row in rows:
            outcomes.append(bench.try_row(row))
            if show is not None:
                show(_line(outcomes[-1]))
    return outcomes


def _line(outcome: Outcome) -> str:
    cheat = (
        "refused"
        if outcome.is_refused and outcome.is_named
        else "NOT REFUSED"
        if not outcome.is_refused
        else "NOT NAMED"
    )
    twin = "opens" if outcome.twin_opens else "DOES NOT OPEN"
    return f"{'+' if outcome.passed else '-'} {outcome.name}: {cheat}\n    twin, {outcome.twin_name}: {twin}"


class Workbench:
    """Projects with an honest RED, copied for each attempt."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._origins: dict[Base, Path] = {}
        self.origin(PRICE)

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

    def try_row(self, row: Row, *more: str) -> Outcome:
        cheated, honest = self.attempt(row.cheat, *more), self.attempt(row.twin, *more)
        return Outcome(
            name=row.name,
            twin_name=row.twin_name,
            is_refused=not cheated.is_open,
            is_named=row.told_by in cheated.output,
            twin_opens=honest.is_open and "Warning" not in honest.output,
            output=cheated.output if cheated.is_open or row.told_by not in cheated.output else honest.output,
        )

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

    def _run(self, root: Path, words: list[str], more: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=root,
            env=self.environment(more),
            capture_output=True,
            text=True,
            check=False,
        )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# --- a plugin for `phase-gate doctor`: pytest starts, says where it has our plugin from, and ends before it collects


#: In front of the answer: what else stands on stdout is the project's.
MARK = "phase-gate probe: "


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int:
    # By module, not by name: it is another one with `-p` than by its entry point.
    found = [
        getattr(plugin, "__file__", "")
        for _, plugin in config.pluginmanager.list_name_plugin()
        if getattr(plugin, "__name__", "") == "phase_gate.plugin"
    ]
    print(f"\n{MARK}{json.dumps({'plugin': found[0] if found else None})}", flush=True)
    return 0
