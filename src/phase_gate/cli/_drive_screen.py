"""Shows a drive: live at a terminal, in plain lines elsewhere, as JSON lines on request; and asks a person there."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import NoReturn

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import draw, render_json, say, screen_width
from phase_gate.drive.happenings import Happening, Progress
from phase_gate.drive.session import Question
from phase_gate.drive.view import Board, render_line, render_screen
from phase_gate.errors import PhaseGateError
from phase_gate.evidence.process.tree import ending_signals
from phase_gate.gate.signals import Signal
from phase_gate.storage.store import now

#: Seconds between two drawings: users do not notice a shorter wait.
_PAUSE = 0.2
#: Of a terminal that does not tell.
_ROWS = 24
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_UP, _CLEAR_BELOW = "\x1b[{}A\r", "\x1b[J"


def with_error_lines(call: Call, run: Callable[[Call], Answer]) -> Answer:
    """Return what a drive answers; with `--json` its errors are lines, too."""
    try:
        return run(call)
    except PhaseGateError as error:
        if not call.arguments.json:
            raise
        told = {"slug": error.slug, "problem": error.problem, "remedy": error.remedy}
        say(render_json({"event": "error", "at": now(), "error": told, "exit_code": error.exit_code}), flush=True)
        return Answer(text="", exit_code=error.exit_code, is_printed=True)


class JsonLines:
    """One JSON object a line."""

    def tell(self, happening: Happening) -> None:
        say(render_json(happening.document), flush=True)

    def progress(self, progress: Progress) -> None:
        """Only what happened is printed."""


class PlainLines:
    """One line a happening: for a log."""

    def tell(self, happening: Happening) -> None:
        if line := render_line(happening):
            say(line, flush=True)

    def progress(self, progress: Progress) -> None:
        """Only what happened is printed."""


class Screen:
    """Lines that stay, and below them what goes on right now, drawn again several times a second."""

    def __init__(self) -> None:
        self._rows = 0
        self._drawn_at = 0.0

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._drawn_at >= _PAUSE

    def show(self, rows: Sequence[str]) -> None:
        self.clear()
        draw("\n".join((f"{_BOLD}{rows[0]}{_PLAIN}", *rows[1:])) + "\n", sys.stdout)
        self._rows, self._drawn_at = len(rows), time.monotonic()

    def clear(self) -> None:
        if self._rows:
            draw(_UP.format(self._rows) + _CLEAR_BELOW, sys.stdout)
        self._rows = 0


class LiveView(Screen):
    """The live view of a drive; and who asks a person there."""

    def __init__(self) -> None:
        super().__init__()
        self._board = Board()

    def tell(self, happening: Happening) -> None:
        self.clear()
        self._board = self._board.after(happening)
        if line := render_line(happening):
            say(line, flush=True)

    def progress(self, progress: Progress) -> None:
        if self.is_due:
            self.show(render_screen(self._board, progress, width=screen_width() - 1, rows=screen_rows()))

    def ask(self, question: Question) -> Signal | None:
        """Ask for the signal of Gate 2: only what is typed here is one."""
        self.clear()
        say(f"{question.reason}.")
        say("  Type why it is done; `no` and what is missing; or nothing, to end the drive here.")
        typed = ask_line("done, because: ")
        if not typed:
            return None
        word, _, rest = typed.partition(" ")
        if word.rstrip(",.:").lower() == "no":
            return Signal(answer="not-done", reason=rest or "a person says so")
        return Signal(answer="done", reason=typed)

    def guide(self, question: Question) -> str | None:
        """Ask what has to be done differently where a pipeline is stuck."""
        self.clear()
        say(f"{question.reason}.")
        say("  Type what has to be done differently; or nothing, to end the drive here.")
        return ask_line("go on, and: ") or None


# --- a line that a person types


class _InterruptedError(Exception):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _interrupt(number: int, frame: object) -> NoReturn:
    raise _InterruptedError(number)


def ask_line(question: str) -> str:
    """Return what a person types, in one line with single spaces; empty where none answers, or a signal ends it.

    A drive only takes note of signals, so a question has to let them in, and hands them on.
    """
    number = 0
    before = {each: signal.signal(each, _interrupt) for each in ending_signals()}
    try:
        draw(question, sys.stdout)
        _wait_for_line()
        return " ".join(input().split())
    except EOFError:
        say("")
    except _InterruptedError as error:
        say("")
        number = error.number
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if number:
        signal.raise_signal(number)
    return ""


def _wait_for_line() -> None:
    """Wait until a line was typed, or a signal came.

    A signal between the question and a plain `input` would be taken note of only with the next line: it is read from a
    pipe, beside the keyboard.
    """
    if os.name == "nt":  # no console can be waited for beside a pipe there
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told)
    try:
        select.select([sys.stdin, heard], [], [])
    finally:
        signal.set_wakeup_fd(before)
        os.close(heard)
        os.close(told)


def screen_rows() -> int:
    try:
        lines = os.get_terminal_size(sys.stdout.fileno()).lines or _ROWS
    except (OSError, ValueError):
        lines = _ROWS
    return max(5, min(13, lines - 2))
