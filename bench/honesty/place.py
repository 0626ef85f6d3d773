"""A folder in which a story is played: its files, its processes, and what they took."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Of this machine's own settings, what no run may see.
_DROPPED = ("PHASE_GATE_", "PYTEST_", "PYTHON", "PYENV_", "GITHUB_", "CI", "COV_", "COVERAGE_", "VIRTUAL_ENV", "TOX_")


class OutOfTimeError(Exception):
    """The story took longer than it may."""


class Place:
    """One project on its way. Every process is started in its root, in a session of its own."""

    #: Of what each process said, the last characters.
    tail = 3000

    def __init__(self, folder: Path, python: str, *, seconds: float, environment: Mapping[str, str]) -> None:
        self.root = folder / "project"
        self.outside = folder / "outside"
        self.root.mkdir(parents=True)
        self.outside.mkdir()
        self.python = python
        self._deadline = time.monotonic() + seconds
        self._output = folder / "output"
        #: Processor seconds of all processes.
        self.spent = 0.0
        #: Exit codes of the runs of pytest.
        self.codes: list[int] = []
        #: What was said, process by process.
        self.said: list[str] = []
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
        author = {f"GIT_{who}_{what}": "dev" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        # Without a state directory of its own, one story would know of the others.
        state = {"XDG_STATE_HOME": str(folder / "user-state"), "COLUMNS": "100"}
        path = f"{Path(python).parent}{os.pathsep}{kept.get('PATH', '')}"
        self._environment = {**kept, **author, **state, "PATH": path, **environment}

    def fill(self, text: str) -> str:
        return text.replace("{outside}", str(self.outside)).replace("{python}", self.python)

    def write(self, files: Mapping[str, str | None], *, beside: bool = False) -> None:
        """Write files; None deletes one."""
        for name, text in files.items():
            path = (self.outside if beside else self.root) / name
            if text is None:
                self.delete(path)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.fill(text), encoding="utf-8")

    def delete(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        return {**self._environment, **{name: self.fill(text) for name, text in more.items()}}

    def run(self, words: Sequence[str], environment: Mapping[str, str]) -> int:
        """Run a program and return its exit code, negative for a signal."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise OutOfTimeError
        given = self.environment(environment)
        with self._output.open("wb") as output:
            process = subprocess.Popen(
                [self.fill(word) for word in words],
                cwd=self.root,
                env=given,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            is_late = threading.Event()

            def stop() -> None:
                is_late.set()
                _kill(process.pid)

            timer = threading.Timer(left, stop)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
        process.returncode = code = os.waitstatus_to_exitcode(status)
        _kill(process.pid)  # children that were left behind
        self.spent += usage.ru_utime + usage.ru_stime
        said = self._output.read_text(encoding="utf-8", errors="replace")[-self.tail :]
        self.said.append(f"$ {' '.join(words)[:300]}\n{said}\n[{code}]")
        if is_late.is_set():
            raise OutOfTimeError
        return code


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
