"""A small project that tests drive with real runs of the plugin and the command."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import phase_gate
from phase_gate.evidence import gathering
from phase_gate.values import Value
from tests.typable import find_untypable
from tests.warm import WarmServer

#: A session in this process forgets whatever it imported first: have it all here, or each of them imports it anew,
#: with asserts rewritten, which takes ten times as long as the session itself.
#: So with what a run imports of Python: it would find a module gone that it kept, each time that it looks.
LOADED = tuple(
    importlib.import_module(name)
    for name in (
        *(module.name for module in pkgutil.walk_packages(phase_gate.__path__, "phase_gate.")),
        *("email.feedparser", "email.parser", "tomllib", "xml.etree.ElementTree"),
    )
    if not name.endswith("__main__")
)


def is_plain(environment: Mapping[str, str]) -> bool:
    """Tell whether Python starts there as it does for most tests: without options of its own."""
    names = {name for name in environment if name.startswith("PYTHON")}
    return names <= {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}


#: Inner sessions get our plugin and nothing else that happens to be installed, unless a test asks for it.
OURS = ("-p", "phase_gate.plugin", "-p", "no:cacheprovider")


#: What came of first runs, by their words, variables and files: folders that are copied.
_BEGUN: dict[tuple[object, ...], Path] = {}
_TELLING = ("CI", "GITHUB_", "GITLAB_", "PHASE_GATE_", "PYTEST_ADDOPTS", "PYTEST_PLUGINS")


class Ran(Value):
    """How a command ended."""

    code: int
    out: str
    err: str = ""

    @property
    def document(self) -> Any:
        document = json.loads(self.out)
        assert find_untypable(document) == []
        return document

    def has(self, *texts: str) -> bool:
        """Tell whether all of these stand in the output; shows the output if not."""
        missing = [text for text in texts if text not in self.out + self.err]
        assert not missing, f"{missing} not in:\n{self.out}\n{self.err}"
        return True


class Sample:
    """A project in a temporary folder.

    :param children: gives the warm server that runs pytest and the command in processes of their own.
    """

    def __init__(
        self, pytester: pytest.Pytester, environment: pytest.MonkeyPatch, children: Callable[[], WarmServer]
    ) -> None:
        self.pytester, self.environment = pytester, environment
        self.root: Path = pytester.path
        self._children = children

    def write(self, files: Mapping[str, str] | None = None, /, **modules: str) -> Sample:
        """Write files by path, or modules by name (`calc="..."` is calc.py)."""
        for name, text in {**(files or {}), **{f"{name}.py": text for name, text in modules.items()}}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return self

    def remove(self, *names: str) -> None:
        for name in names:
            (self.root / name).unlink()

    def pytest(self, *arguments: str, plugins: tuple[str, ...] = ()) -> Ran:
        """Run pytest in this process: fast, and the plugin is the one under test."""
        chosen = [word for name in plugins for word in ("-p", name)]
        result = self.pytester.runpytest_inprocess(*OURS, *chosen, *arguments)
        return Ran(code=int(result.ret), out=result.stdout.str(), err=result.stderr.str())

    def pytest_process(self, *arguments: str, plugins: tuple[str, ...] = (), **environment: str) -> Ran:
        """Run pytest in a process of its own: for workers, crashes, signals and exit codes."""
        chosen = [word for name in plugins for word in ("-p", name)]
        return self._module("pytest", *OURS, *chosen, *arguments, **environment)

    def gate(self, *arguments: str, **environment: str) -> Ran:
        """Run the command in a process of its own."""
        return self._module("phase_gate.cli", *arguments, **environment)

    def _module(self, *words: str, **environment: str) -> Ran:
        """Run `python -m ...`: forked from a warm process, if the interpreter itself need not start otherwise."""
        if any(name.startswith("PYTHON") for name in environment) or not is_plain(os.environ):
            return self.process(sys.executable, "-m", *words, **environment)
        code, out, err = self._children().run(self.root, words, {**os.environ, **environment})
        return Ran(code=code, out=out, err=err)

    def process(self, *command: str, **environment: str) -> Ran:
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)

    def git(self, *arguments: str) -> str:
        done = self.process("git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", *arguments)
        assert done.code == 0, done.err
        return done.out

    def commit_all(self) -> None:
        """Make the folder a repository, if it is none, with everything in it committed."""
        if not (self.root / ".git").exists():
            self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "state")

    def status(self) -> Any:
        return self.gate("status", "--json").document

    def runs(self) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = self.gate("history", "--json").document["runs"]
        return runs

    def report(self, name: str = "verdict.json") -> Any:
        return json.loads((self.root / name).read_text(encoding="utf-8"))

    # --- stories that many tests begin with ----------------------------------------------------------------------

    def red(self) -> Sample:
        """An honest RED, exited: two failing tests for a calculator."""
        self.write(test_calc=FAILING_TESTS)
        assert self.pytest("--phase=red").code == 0
        assert self.gate("signal", "--reason", "both fail").code == 0
        return self

    def begin_with(self, *words: str) -> Sample:
        """Run pytest for the first time in this project; copy what came of it where the same files have been run so.

        Nothing that is stored names the folder. What the user's state directory remembers does, so it begins after it.
        """
        state, kept = self.root / ".phase-gate", self.root.parent / f"begun-{len(_BEGUN)}"
        files = {path: path.read_bytes() for path in sorted(self.root.rglob("*")) if path.is_file()}
        told = tuple((name, os.environ[name]) for name in sorted(os.environ) if name.startswith(_TELLING))
        key = (words, told, gathering.PROVER, *((str(path.relative_to(self.root)), files[path]) for path in files))
        if key in _BEGUN:
            shutil.copytree(_BEGUN[key], state)
            return self
        assert not state.exists()
        assert self.pytest(*words).code == 0
        assert {path for path in self.root.rglob("*") if path.is_file() and state not in path.parents} == files.keys()
        shutil.copytree(state, kept)
        shutil.rmtree(os.environ["XDG_STATE_HOME"], ignore_errors=True)
        _BEGUN[key] = kept
        return self

    def green(self) -> Sample:
        """An honest GREEN with a streak of 2, not exited."""
        self.red().write(calc=CALC)
        assert self.pytest("--phase=green").code == 10
        assert self.pytest("--phase=green").code == 0
        return self


FAILING_TESTS = """\
def test_add():
    from calc import add

    assert add(1, 2) == 3


def test_sub():
    from calc import sub

    assert sub(3, 2) == 1
"""

CALC = """\
def add(a, b):
    return a + b


def sub(a, b):
    return a - b
"""
