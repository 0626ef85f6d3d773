"""Real processes that start fast: each is forked from one that has pytest and the plugin imported.

The tables need some thousand runs of pytest; most of a small run's time is the interpreter's start and the imports. A
forked child is a process of its own in every other respect: it may crash, patch, leave early or be killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, NoReturn, cast

#: Set in the environment of a child that is to make proofs; `copied`: in rooms that are copied folders.
WITH_PROOF = "TESTS_WITH_PROOF"


class WarmServer:
    """A warm process that forks one child an order: `words`, `root`, `environment`, and what `prepare` wants to know.

    :param script: a file with a function `prepare(order)`, which the child calls before it becomes its command.
    """

    def __init__(self, folder: Path, script: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._out, self._err = folder / "out.txt", folder / "err.txt"
        self._script = script
        self._server = self._start()

    def _start(self) -> subprocess.Popen[str]:
        # A file of its own, not `-m tests...`: nothing of this project may be importable in the children.
        return subprocess.Popen(
            # No bytecode, as in the environment that the children get.
            [sys.executable, "-P", "-B", __file__, self._script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, root: Path, words: tuple[str, ...], environment: dict[str, str], **more: object
    ) -> tuple[int, str, str]:
        """Run `pytest ...` or `phase-gate ...` in a forked child; return its exit code, output and errors."""
        code = self._order(root=str(root), words=words, environment=environment, **more)
        return code, _text_of(self._out), _text_of(self._err)

    def run_mixed(self, root: Path, words: tuple[str, ...], environment: dict[str, str]) -> tuple[int, str]:
        """Do the same with output and errors in one, as at a terminal."""
        code = self._order(root=str(root), words=words, environment=environment, err=str(self._out))
        return code, _text_of(self._out)

    def _order(self, **order: object) -> int:
        requests, answers = cast(IO[str], self._server.stdin), cast(IO[str], self._server.stdout)
        try:
            print(json.dumps({"out": str(self._out), "err": str(self._err), **order}), file=requests, flush=True)
            return int(answers.readline())
        except BaseException:  # a test that took too long: its answer would be taken for that of the next one
            self._server.kill()
            self.close()
            self._server = self._start()
            raise

    def close(self) -> None:
        cast(IO[str], self._server.stdin).close()
        cast(IO[str], self._server.stdout).close()
        self._server.wait()


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def load_file(path: Path) -> Any:
    """Import a file without its package."""
    from importlib.util import module_from_spec, spec_from_file_location

    found = spec_from_file_location(path.stem, path)
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _serve(script: str) -> None:
    import gc
    import importlib
    import pkgutil

    import filelock  # noqa: F401
    import pytest  # noqa: F401
    import yaml  # noqa: F401

    import phase_gate

    for module in pkgutil.walk_packages(phase_gate.__path__, "phase_gate."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    sys.modules["complexipy"] = None  # type: ignore[assignment]  # a plain installation, without extras
    os.fsync = lambda fd: None  # nobody pulls the plug here
    # What is there now stays: a child that collects garbage need not look through it, and does not copy its pages.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(order, script)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _give_proofs_time() -> None:
    """Let a proof take as long as it takes on a busy machine."""
    from phase_gate.workflow.settings import ProofSettings

    ProofSettings._defaults["seconds"] = 600.0


def _allow_no_mount() -> None:
    """Be a system that refuses to mount a room, as many containers are."""
    from phase_gate.proof import room

    room._refused.add("mounted")


def _make_no_proofs() -> None:
    """Do without what starts pytest three times and more wherever a phase ends."""
    from types import ModuleType

    from phase_gate.evidence import gathering

    unproven = sys.modules["unproven"] = ModuleType("unproven")
    unproven.prove = lambda *given, **named: None  # type: ignore[attr-defined]
    gathering.PROVER = "unproven"


def _become(order: dict[str, Any], script: str) -> NoReturn:
    """Be that command from here on, up to the interpreter's own end."""
    os.chdir(order["root"])
    os.environ.clear()
    os.environ.update(order["environment"])
    proofs = os.environ.pop(WITH_PROOF, "")
    if proofs:
        _give_proofs_time()
        if proofs == "copied":
            _allow_no_mount()
    else:
        _make_no_proofs()
    if order.get("at_terminal"):
        import pty

        given = pty.openpty()[1]
    else:
        given = os.open(os.devnull, os.O_RDONLY)
    os.dup2(given, 0)
    for name, number in (("out", 1), ("err", 2)):
        # Both may be one file: neither writes over what the other wrote.
        file = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    if script:
        load_file(Path(script)).prepare(order)
    program, *arguments = order["words"]
    sys.argv = [program, *arguments]
    sys.path.insert(0, os.getcwd())
    if program == "pytest":
        import pytest

        sys.exit(pytest.main())
    from phase_gate.cli import main

    sys.exit(main())


if __name__ == "__main__":
    _serve(sys.argv[1])
