"""Commands that want a person: a terminal, and somebody who types."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import CommandProject
from tests.support import Result


@contextmanager
def terminal(typed: str = "") -> Iterator[int]:
    """A terminal, as far as a process can tell, with something typed on it."""
    import pty

    controller, person = pty.openpty()
    os.write(controller, typed.encode())
    try:
        yield person
    finally:
        os.close(controller)
        os.close(person)


def at_terminal(gated: CommandProject, *arguments: str, typed: str = "") -> Result:
    """Call the command in this process, with a terminal as its input."""
    with terminal(typed) as person, open(person, closefd=False) as stdin, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        return gated.gate(*arguments)


def _hear_interrupts() -> None:
    """Take Ctrl-C, also where the suite was started without it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A command at a terminal, and the person who reads and types there."""

    def __init__(self, root: Path, *words: str, **environment: str) -> None:
        import pty

        self._controller, person = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "phase_gate.cli", *words],
            cwd=root,
            stdin=person,
            stdout=person,
            stderr=person,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "78", **environment},
            start_new_session=True,
            preexec_fn=_hear_interrupts,
        )
        os.close(person)
        self.shown = ""

    def read_until(self, text: str | None) -> str:
        """Read on until this stands there, or to the end; return what came."""
        seen, deadline = "", time.monotonic() + 120
        while time.monotonic() < deadline:
            if not select.select([self._controller], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(self._controller, 1 << 16).decode("utf-8", "replace")
            except OSError:
                data = ""
            seen += data
            self.shown += data
            if not data or (text is not None and text in seen):
                assert text is None or text in seen, self.shown
                return seen
        raise AssertionError(f"{text!r} did not come: {self.shown}")

    def answers(self, typed: str, *, to: str) -> str:
        """Wait for the question, and type; return what was shown before it."""
        before = self.read_until(to)
        os.write(self._controller, f"{typed}\n".encode())
        return before

    def end(self) -> int:
        self.read_until(None)
        return self.process.wait()
