"""Real processes that start fast: each is forked from one that has pytest and the plugin imported.

The table needs some thousand runs of pytest; most of a small run's time is the interpreter's start and the imports. A
forked child is a process of its own in every other respect: it may crash, patch, leave early or be killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, NoReturn, cast

from pytest_phase_gate.core.values import replace

#: Names a guard that a run has to do without.
WITHOUT = "TESTS_WITHOUT_GUARD"


class Forks:
    """A warm process that forks one child a command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # A file of its own, not `-m tests...`: nothing of this project may be importable in the children.
        self._server = subprocess.Popen(
            [sys.executable, "-P", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, root: Path, words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run `python -m MODULE …` in a forked child."""
        assert words[0] == "-m", words
        out, err = self._folder / "out.txt", self._folder / "err.txt"
        order = {"root": str(root), "words": words[1:], "environment": environment, "out": str(out), "err": str(err)}
        requests, answers = cast(IO[str], self._server.stdin), cast(IO[str], self._server.stdout)
        print(json.dumps(order), file=requests, flush=True)
        code = int(answers.readline())
        return subprocess.CompletedProcess(
            words, code, out.read_text(encoding="utf-8", errors="replace"), err.read_text(encoding="utf-8")
        )

    def close(self) -> None:
        cast(IO[str], self._server.stdin).close()
        cast(IO[str], self._server.stdout).close()
        self._server.wait()


def _serve() -> None:
    import gc
    import importlib
    import pkgutil

    import pytest  # noqa: F401

    import pytest_phase_gate

    for module in pkgutil.walk_packages(pytest_phase_gate.__path__, "pytest_phase_gate."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    # What is there now stays: a child that collects garbage need not look through it, and does not copy its pages.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(order)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _take_out(guard: str) -> None:
    """Let a shipped guard hold whatever happens. Only in this process, and nowhere in the product."""
    from pytest_phase_gate.core.conditions import parse_condition
    from pytest_phase_gate.rules import compiled, workflow_files

    guards = workflow_files.load_shipped_guards()
    always = replace(guards[guard], condition=parse_condition("suite_total >= 0"))
    compiled.load_compiled = lambda name: None
    workflow_files.load_shipped_guards = lambda: {**guards, guard: always}


def _become(order: dict[str, object]) -> NoReturn:
    """Be `python -m MODULE …` from here on, up to the interpreter's own end."""
    os.chdir(cast(str, order["root"]))
    os.environ.clear()
    os.environ.update(cast(dict[str, str], order["environment"]))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for name, number in (("out", 1), ("err", 2)):
        file = os.open(cast(str, order[name]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    if WITHOUT in os.environ:
        _take_out(os.environ[WITHOUT])
    module, *arguments = cast(list[str], order["words"])
    sys.argv = [module, *arguments]
    sys.path.insert(0, os.getcwd())
    if module == "pytest":
        import pytest

        sys.exit(pytest.main())
    from pytest_phase_gate.cli import main

    sys.exit(main())


if __name__ == "__main__":
    _serve()
