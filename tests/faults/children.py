"""Real processes that start fast, each with a fault plan: forked from one that has everything imported.

A sweep needs some thousand runs of pytest, and most of a small run's time is the interpreter's start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, NoReturn, cast

from pytest_phase_gate.core.values import Value


class Plan(Value):
    """What happens to a child at which call; nothing at call 0."""

    at: int = 0
    kind: str = "EIO"
    for_good: bool = False


class Ended(Value):
    """How a child ended, and what its fault points saw."""

    code: int
    out: str
    err: str
    calls: tuple[str, ...] = ()
    #: The calls that something happened to, as `N name`.
    hits: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def flat(self) -> str:
        """All that it said, in one line: a panel breaks lines where it likes."""
        return " ".join(self.text.split())


class Children:
    """A warm process that forks one child a command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        # A file of its own, not `-m tests...`: this project's tests are not importable in the children.
        self._server = subprocess.Popen(
            [sys.executable, "-P", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self, root: Path, words: tuple[str, ...], environment: dict[str, str], *, plan: Plan, at_terminal: bool
    ) -> Ended:
        """Run `pytest ...` or `phase-gate ...` in a forked child."""
        out, err, log = (self._folder / name for name in ("out.txt", "err.txt", "log.txt"))
        log.unlink(missing_ok=True)
        order = {
            "root": str(root),
            "words": words,
            "environment": environment,
            "out": str(out),
            "err": str(err),
            "at_terminal": at_terminal,
            "plan": {"at": plan.at, "kind": plan.kind, "for_good": plan.for_good, "log": str(log)},
        }
        requests, answers = cast(IO[str], self._server.stdin), cast(IO[str], self._server.stdout)
        print(json.dumps(order), file=requests, flush=True)
        code = int(answers.readline())
        lines = log.read_text(encoding="ascii").splitlines()
        return Ended(
            code=code,
            out=out.read_text(encoding="utf-8", errors="replace"),
            err=err.read_text(encoding="utf-8", errors="replace"),
            calls=tuple(line.removeprefix("call ") for line in lines if line.startswith("call ")),
            hits=tuple(line.removeprefix("hit ") for line in lines if line.startswith("hit ")),
        )

    def close(self) -> None:
        cast(IO[str], self._server.stdin).close()
        cast(IO[str], self._server.stdout).close()
        self._server.wait()


def _serve() -> None:
    import importlib
    import pkgutil

    import filelock  # noqa: F401
    import pytest  # noqa: F401
    import yaml  # noqa: F401

    import pytest_phase_gate

    for module in pkgutil.walk_packages(pytest_phase_gate.__path__, "pytest_phase_gate."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(order)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(order: dict[str, Any]) -> NoReturn:
    """Be that command from here on, up to the interpreter's own end."""
    os.chdir(order["root"])
    os.environ.clear()
    os.environ.update(order["environment"])
    if order["at_terminal"]:
        import pty

        given = pty.openpty()[1]
    else:
        given = os.open(os.devnull, os.O_RDONLY)
    os.dup2(given, 0)
    for name, number in (("out", 1), ("err", 2)):
        file = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    _install(order["plan"])
    program, *arguments = order["words"]
    sys.argv = [program, *arguments]
    sys.path.insert(0, os.getcwd())
    if program == "pytest":
        import pytest

        sys.exit(pytest.main())
    from pytest_phase_gate.cli import main

    sys.exit(main())


def _install(plan: dict[str, Any]) -> None:
    from importlib.util import module_from_spec, spec_from_file_location

    found = spec_from_file_location("fault_points", Path(__file__).with_name("points.py"))
    assert found is not None
    assert found.loader is not None
    points = module_from_spec(found)
    found.loader.exec_module(points)
    points.install(plan)


if __name__ == "__main__":
    _serve()
