"""One small project that tests drive with real runs of the plugin and the command: `Project`, in pytester's words.

Starting states that many tests have in common (`red`, `green`) are made once, and copied from then on.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from phase_gate.evidence import gathering
from phase_gate.values import Value
from tests.typable import find_repeated, find_untypable
from tests.warm import CAN_FORK, WarmServer, load_package

#: A session in this process forgets whatever it imported first: have it all here, or each of them imports it anew,
#: with asserts rewritten, which takes ten times as long as the session itself.
#: So with what a run imports of Python: it would find a module gone that it kept, each time that it looks.
LOADED = (
    *load_package(),
    *map(importlib.import_module, ("email.feedparser", "email.parser", "tomllib", "xml.etree.ElementTree")),
)

needs_fork = pytest.mark.skipif(not CAN_FORK, reason="Windows has no fork")


def is_plain(environment: Mapping[str, str]) -> bool:
    """Tell whether Python starts there as it does for most tests: without options of its own."""
    names = {name for name in environment if name.startswith("PYTHON")}
    return names <= {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}


#: Inner sessions get our plugin and nothing else that happens to be installed, unless a test asks for it.
OURS = ("-p", "phase_gate.plugin", "-p", "no:cacheprovider")


#: Projects at a starting state, by what led there: folders that are copied.
_BEGUN: dict[tuple[object, ...], Path] = {}
_TELLING = ("CI", "GITHUB_", "GITLAB_", "PHASE_GATE_", "PYTEST_ADDOPTS", "PYTEST_PLUGINS")


class Result(Value):
    """How a run or a command ended."""

    code: int
    out: str
    err: str = ""

    @property
    def document(self) -> Any:
        document = json.loads(self.out)
        assert find_untypable(document) == []
        assert find_repeated(document) == []
        return document

    @property
    def text(self) -> str:
        """Output and errors in one line: a panel breaks lines where they are too long."""
        return " ".join((self.out + self.err).split())

    def has(self, *texts: str) -> bool:
        """Tell whether all of these stand in the output; shows the output if not."""
        missing = [text for text in texts if text not in self.out + self.err]
        assert not missing, f"{missing} not in:\n{self.out}\n{self.err}"
        return True


def call(root: Path, *arguments: str) -> Result:
    """Call the command in this process: without the time that a process takes."""
    from phase_gate.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(root), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return Result(code=code, out=out.getvalue(), err=err.getvalue())


class Project:
    """A project in a temporary folder.

    :param children: gives the warm server that runs pytest and the command in processes of their own.
    """

    def __init__(
        self, pytester: pytest.Pytester, environment: pytest.MonkeyPatch, children: Callable[[], WarmServer]
    ) -> None:
        self.pytester, self.environment = pytester, environment
        self.root: Path = pytester.path
        self._children = children

    def at(self, root: Path) -> Project:
        """Return the same in another folder, where only processes run."""
        other = copy.copy(self)
        other.root = root
        root.mkdir(parents=True, exist_ok=True)
        return other

    @property
    def state(self) -> Path:
        """The state folder."""
        return self.root / ".phase-gate"

    def write(self, files: Mapping[str, str] | None = None, /, **modules: str) -> Project:
        """Write files by path, or modules by name (`calc="..."` is calc.py)."""
        for name, text in {**(files or {}), **{f"{name}.py": text for name, text in modules.items()}}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return self

    def remove(self, *names: str) -> None:
        for name in names:
            (self.root / name).unlink()

    def run(self, *arguments: str, plugins: tuple[str, ...] = ()) -> Result:
        """Run pytest in this process: fast, and the plugin is the one under test."""
        chosen = [word for name in plugins for word in ("-p", name)]
        result = self.pytester.runpytest_inprocess(*OURS, *chosen, *arguments)
        return Result(code=int(result.ret), out=result.stdout.str(), err=result.stderr.str())

    def run_process(self, *arguments: str, plugins: tuple[str, ...] = (), **environment: str) -> Result:
        """Run pytest in a process of its own: for workers, crashes, signals and exit codes."""
        chosen = [word for name in plugins for word in ("-p", name)]
        return self._module("pytest", *OURS, *chosen, *arguments, **environment)

    def gate(self, *arguments: str, **environment: str) -> Result:
        """Run the command in a process of its own."""
        return self._module("phase_gate.cli", *arguments, **environment)

    def _module(self, *words: str, **environment: str) -> Result:
        """Run `python -m ...`: forked from a warm process, if the interpreter itself need not start otherwise."""
        if any(name.startswith("PYTHON") for name in environment) or not is_plain(os.environ):
            return self.process(sys.executable, "-m", *words, **environment)
        code, out, err = self._children().run(self.root, words, {**os.environ, **environment})
        return Result(code=code, out=out, err=err)

    def call(self, *arguments: str) -> Result:
        """Call the command in this process."""
        return call(self.root, *arguments)

    def process(self, *command: str, **environment: str) -> Result:
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Result(code=done.returncode, out=done.stdout, err=done.stderr)

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
        return self.call("status", "--json").document

    def report(self, name: str = "verdict.json") -> Any:
        return json.loads((self.root / name).read_text(encoding="utf-8"))

    # --- starting states

    def red(self) -> Project:
        """An honest RED, exited: two failing tests for a calculator."""
        self.write(test_calc=FAILING_TESTS)
        return self.begin_by(self._make_red, "red")

    def green(self) -> Project:
        """An honest GREEN with a streak of 2, not exited."""
        self.write(test_calc=FAILING_TESTS)
        return self.begin_by(self._make_green, "green")

    def begin_with(self, *words: str) -> Project:
        """Run pytest for the first time in this project."""

        def run() -> None:
            assert self.run(*words).code == 0

        return self.begin_by(run, *words)

    def _make_red(self) -> None:
        assert self.run("--phase=red").code == 0
        assert self.call("signal", "--reason", "both fail").code == 0

    def _make_green(self) -> None:
        self._make_red()
        self.write(calc=CALC)
        assert self.run("--phase=green").code == 10
        assert self.run("--phase=green").code == 0

    def begin_by(self, make: Callable[[], None], *name: str) -> Project:
        """Make a starting state, or copy it where the same files have led to it before.

        Nothing that is stored names the folder. What the user's state directory remembers does, so it begins after it.
        """
        files = {str(path.relative_to(self.root)): path.read_bytes() for path in self._files()}
        message = tuple((name, os.environ[name]) for name in sorted(os.environ) if name.startswith(_TELLING))
        key = (*name, message, gathering.PROVER, *files.items())
        if key in _BEGUN:
            shutil.copytree(_BEGUN[key], self.root, symlinks=True, dirs_exist_ok=True)
            return self
        make()
        kept = Path(tempfile.mkdtemp(prefix="begun-", dir=self.root.parent))
        _BEGUN[key] = Path(shutil.copytree(self.root, kept / "project", symlinks=True))
        shutil.rmtree(os.environ["XDG_STATE_HOME"], ignore_errors=True)
        return self

    def _files(self) -> list[Path]:
        return [path for path in sorted(self.root.rglob("*")) if path.is_file() and not path.is_symlink()]


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
