"""`phase-gate status --watch`: on a real terminal, with a real run beside it."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.conftest import COMMAND, Begin

_CONTROL = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")


def _listen() -> None:
    """Hear Ctrl-C, also where whoever started the suite had told it not to."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Screen:
    """A terminal of 24 lines with the command on it."""

    def __init__(self, root: Path, *arguments: str) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.controller, person = pty.openpty()
        fcntl.ioctl(person, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        command = [sys.executable, *COMMAND, *arguments]
        self.process = subprocess.Popen(
            command, cwd=root, stdin=person, stdout=person, stderr=person, preexec_fn=_listen
        )
        os.close(person)
        self.text = ""

    def wait_for(self, *texts: str, seconds: float = 60) -> str:
        """Read until all of these were drawn after the last wait."""
        drawn, end = "", time.monotonic() + seconds
        while not all(text in drawn for text in texts):
            assert time.monotonic() < end, f"{texts} not in {drawn!r}"
            if select.select([self.controller], [], [], 0.2)[0]:
                try:
                    read = os.read(self.controller, 65_536).decode("utf-8", "replace")
                except OSError:  # how a terminal says that nobody is there any more
                    read = ""
                    assert self.process.poll() is None or texts == (), f"{texts} not in {drawn!r}"
                self.text += read
                drawn += _CONTROL.sub("", read)
        return drawn

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(60)
        while select.select([self.controller], [], [], 0.2)[0]:
            try:
                self.text += os.read(self.controller, 65_536).decode("utf-8", "replace")
            except OSError:
                break
        os.close(self.controller)
        return code


def test_it_redraws_while_a_session_runs(begin: Begin) -> None:
    gated = begin("green-once")
    screen = Screen(gated.root, "status", "--watch")
    screen.wait_for("phase    GREEN, iteration 1", "one more green run", "watching; Ctrl-C ends it")
    with gated.open_run():
        screen.wait_for("a run is in progress")
    screen.wait_for("began and never ended")
    assert gated.project.run("--phase=green").code in (0, 10)
    screen.wait_for("iteration 2")
    assert screen.end() == 10


def test_no_json(begin: Begin) -> None:
    gated = begin("green")
    assert gated.error("status", "--watch")[:2] == (2, "bad-usage")
