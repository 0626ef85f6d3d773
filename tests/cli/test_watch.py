"""`phase-gate status --watch`: on a real terminal, with a real run beside it."""

from __future__ import annotations

import io
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from phase_gate.cli._answer import Done
from phase_gate.cli._watch import LOOK_AGAIN, Clock, watch
from phase_gate.errors import TamperedError
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
    desk = begin("green-once")
    screen = Screen(desk.root, "status", "--watch")
    screen.wait_for("phase    GREEN, iteration 1", "one more green run", "watching; Ctrl-C ends it")
    with desk.open_run():
        screen.wait_for("a run is going on")
    screen.wait_for("began and never ended")
    assert desk.project.run("--phase=green").code in (0, 10)
    screen.wait_for("iteration 2")
    assert screen.end() == 10
    # Its own screen, left again, with the last answer on the one before.
    assert screen.text.count("\x1b[?1049h") == screen.text.count("\x1b[?1049l") == 1
    left = screen.text.partition("\x1b[?1049l")[2]
    assert "phase    GREEN, iteration 2" in left
    assert "watching" not in left


def test_no_json(begin: Begin) -> None:
    desk = begin("green")
    assert desk.error("status", "--watch")[:2] == (2, "bad-usage")


class Watched:
    """A watch without a terminal and without time: each step happens while it sleeps."""

    def __init__(self, *steps: Callable[[], None]) -> None:
        self.out, self.steps, self.time, self.looks = io.StringIO(), list(steps), 0.0, 0

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        if not self.steps:
            raise KeyboardInterrupt
        self.steps.pop(0)()

    def run(self, look: Callable[[], Done], *files: Path) -> Done:
        def counted() -> Done:
            self.looks += 1
            return look()

        return watch(counted, files, out=self.out, clock=Clock(now=lambda: self.time, sleep=self.sleep))


def nothing() -> None:
    pass


def test_elsewhere_each_change_is_printed_once(tmp_path: Path) -> None:
    file, said = tmp_path / "state.json", ["one"]

    def change() -> None:
        said[0] = "two"
        file.write_text("two", encoding="utf-8")

    watched = Watched(nothing, change, nothing)
    answer = watched.run(lambda: Done(text=said[0], code=10), file)
    assert watched.out.getvalue() == "one\n\ntwo\n\n"
    assert (answer.text, answer.code) == ("", 10)
    # It looks where a file changed, and not each time that it wakes up.
    assert watched.looks == 2


def test_it_looks_again_after_a_while(tmp_path: Path) -> None:
    watched = Watched(*[nothing] * int(LOOK_AGAIN / 0.25 + 1))
    watched.run(lambda: Done(text="same"), tmp_path / "state.json")
    assert watched.looks == 2
    assert watched.out.getvalue() == "same\n\n"


def test_trouble_is_shown_and_it_goes_on(tmp_path: Path) -> None:
    file, calls = tmp_path / "state.json", [0]

    def look() -> Done:
        calls[0] += 1
        if calls[0] == 1:
            raise TamperedError("it is damaged", remedy="mend it")
        return Done(text="mended")

    def touch() -> None:
        file.write_text("x", encoding="utf-8")

    watched = Watched(touch)
    watched.run(look, file)
    assert "it is damaged" in watched.out.getvalue()
    assert watched.out.getvalue().endswith("mended\n\n")
