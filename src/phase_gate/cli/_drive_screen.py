"""Displays a drive: live in a terminal, plain lines elsewhere, JSON lines with `--json`. Also asks the user there."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from phase_gate.cli._answer import Call, Done
from phase_gate.cli._streams import draw, render_json, say, screen_width
from phase_gate.drive.view import Happening, render_lines
from phase_gate.errors import PhaseGateError
from phase_gate.evidence.process.tree import ending_signals
from phase_gate.storage.store import now

#: Seconds between two redraws: users do not notice a shorter wait.
_PAUSE = 0.2
#: Return to the beginning of the line and erase it.
_CLEAR = "\r\x1b[K"


def with_error_lines(call: Call, run: Callable[[Call], Done]) -> Done:
    """Return the result of a drive. With `--json`, print its errors as JSON lines too."""
    try:
        return run(call)
    except PhaseGateError as error:
        if not call.arguments.json:
            raise
        told = {"slug": error.slug, "problem": error.problem, "remedy": error.remedy}
        say(render_json({"event": "error", "at": now(), "error": told, "exit_code": error.exit_code}), flush=True)
        return Done(text="", code=error.exit_code, is_printed=True)


def print_json_line(happening: Happening) -> None:
    """Print one JSON object per line."""
    say(render_json(happening.document), flush=True)


def print_lines(happening: Happening) -> None:
    """Print plain lines, as for a log."""
    if lines := render_lines(happening):
        say(lines, flush=True)


class LiveView:
    """Permanent lines, and below them a status line, redrawn several times a second. Also asks the user."""

    def __init__(self) -> None:
        self._drawn_at = 0.0

    def tell(self, happening: Happening) -> None:
        self._clear()
        print_lines(happening)

    def progress(self, status: str) -> None:
        if time.monotonic() - self._drawn_at >= _PAUSE:
            width = screen_width() - 1
            draw(_CLEAR + (status if len(status) <= width else f"{status[: width - 1]}…"), sys.stdout)
            self._drawn_at = time.monotonic()

    def ask(self, text: str, prompt: str) -> str:
        """Ask the user. Only the answer typed here counts."""
        self._clear()
        return ask(text, prompt)

    def _clear(self) -> None:
        if self._drawn_at:
            draw(_CLEAR, sys.stdout)
        self._drawn_at = 0.0


def ask(text: str, prompt: str) -> str:
    say(text)
    return _ask_line(prompt)


# --- reading a line from the terminal


class _InterruptedError(Exception):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _interrupt(number: int, frame: object) -> NoReturn:
    raise _InterruptedError(number)


def _ask_line(question: str) -> str:
    """Return the typed line with single spaces; empty if there is no answer, or a signal interrupts the question.

    A drive only notes signals, so a question has to enable them, and passes them on.
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
    """Wait until a line is typed or a signal arrives.

    With a plain `input`, a signal that arrives just before it would be noticed only after the next line. So signals are
    read from a pipe while waiting for the keyboard.
    """
    if os.name == "nt":  # Windows can't wait for a console and a pipe together
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
