"""`phase-gate status --watch`: the same answer again and again, redrawn when something changes.

On a terminal it has a screen of its own, and leaves the last answer behind; elsewhere each change is printed once.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from phase_gate.cli._answer import Done
from phase_gate.cli._streams import draw
from phase_gate.errors import PhaseGateError
from phase_gate.values import Value
from phase_gate.visible import show_text

#: Seconds between two looks: users do not notice a shorter wait, and it costs next to nothing.
PAUSE = 0.25
#: Seconds after which it looks at everything again, where no file of ours changed: sources do, and circuits cool down.
LOOK_AGAIN = 2.0

_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


class Clock(Value):
    """What passes the time; a test has its own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep


def watch(
    look: Callable[[], Done], files: Sequence[Path], *, out: TextIO | None = None, clock: Clock | None = None
) -> Done:
    """Show the answer until the user stops it (Ctrl-C); return the last one."""
    out, clock = out or sys.stdout, clock or Clock()
    if out is None:
        return look()  # no terminal to watch on
    is_terminal = out.isatty()
    answer = _ask(look)
    shown: str | None = None
    seen, looked = _stamps(files), clock.now()
    try:
        if is_terminal:
            draw(_ENTER, out)
        while True:
            text = show_text(str(answer.text))
            if text != shown and not _draw(text, out, is_terminal=is_terminal):
                return answer  # the terminal or the reader is gone
            shown = text
            clock.sleep(PAUSE)
            stamps = _stamps(files)
            if stamps != seen or clock.now() - looked >= LOOK_AGAIN:
                answer = _ask(look)
                seen, looked = stamps, clock.now()
    except KeyboardInterrupt:
        pass
    finally:
        if is_terminal:
            draw(_LEAVE, out)
    # On a terminal the screen is gone: the last answer stays. Elsewhere it is there already.
    return answer if is_terminal else Done(text="", code=answer.code)


def _ask(look: Callable[[], Done]) -> Done:
    try:
        return look()
    except PhaseGateError as error:
        # A user may be in the middle of writing, or of mending it: say so, and look again.
        return Done(text=f"phase-gate: {error}", code=error.exit_code)


def _draw(text: str, out: TextIO, *, is_terminal: bool) -> bool:
    if not is_terminal:
        return draw(f"{text}\n\n", out)
    rows = [*text.splitlines(), "", "watching; Ctrl-C ends it"]
    try:
        height = os.get_terminal_size(out.fileno()).lines
    except (OSError, ValueError):
        height = len(rows)
    # Over the old one, line by line: a screen that is wiped first flickers.
    return draw(_HOME + "\n".join(f"{row}{_CLEAR_LINE}" for row in rows[:height]) + _CLEAR_BELOW, out)


def _stamps(files: Sequence[Path]) -> list[tuple[int, int] | None]:
    found: list[tuple[int, int] | None] = []
    for path in files:
        try:
            stat = path.stat()
        except OSError:
            found.append(None)
        else:
            found.append((stat.st_mtime_ns, stat.st_size))
    return found
