"""The way in and out of a command: what it prints, and what it reads from standard input."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterable
from json import dumps

from phase_gate import exit_codes
from phase_gate.errors import OutputError, UsageError
from phase_gate.visible import escape_orders, fit_encoding, show_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, TextIO

#: Rows that are typed or copied.
_TO_TYPE = ("next", "try: ", "$ ")
#: How rows begin that are shown in a color of the terminal's.
_COLORS = {_TO_TYPE: "1", ("phase-gate: ", "- "): "31", ("? ",): "33", ("+ ",): "32", ("==",): "1"}

#: Why standard output takes no more, if it does not; of this call.
_lost: list[Exception] = []


def open_streams() -> None:
    """Begin a call: three open descriptors, and streams that take every character."""
    _lost.clear()
    _fill_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that can't show a character, or a name that is no text, must not cost the answer.
            with contextlib.suppress(OSError, ValueError):
                stream.reconfigure(errors="backslashreplace")


def _fill_descriptors() -> None:
    # Else the next file that we open becomes the standard output of every process that we start.
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


# --- printing ---------------------------------------------------------------------------------------------------------


def say(text: str, *, aside: bool = False, end: str = "\n", color: str = "", flush: bool = False) -> bool:
    """Print a text; return False once standard output takes no more.

    :param aside: on standard error, which never gets in the way of an answer.
    :param color: a code of the terminal's, put around what is shown.
    """
    shown = show_text(text)
    return _write(f"\x1b[{color}m{shown}\x1b[0m{end}" if color else f"{shown}{end}", aside=aside, flush=flush)


def say_rows(rows: Iterable[str], *, aside: bool = False, is_file: bool = False) -> None:
    """Print rows for people: in color where that is wanted, and wrapped where a terminal is too narrow.

    :param is_file: the rows are a file or a script that is kept: printed as they are.
    """
    stream = sys.stderr if aside else sys.stdout
    is_colored = not is_file and wants_color(stream)
    width = 0 if is_file or stream is None or stream.closed or not stream.isatty() else screen_width()
    for row in rows:
        for part in _fold(row, width):
            if not say(part, aside=aside, color=_color_of(row) if is_colored else ""):
                return


def _fold(row: str, width: int) -> list[str]:
    """Return a row in lines that fit; a command that is to be typed stays in one."""
    if not width or len(row) <= width or row.lstrip().startswith(_TO_TYPE):
        return [row]
    from textwrap import wrap

    indent = " " * (len(row) - len(row.lstrip()) + 2)
    return wrap(row, width, subsequent_indent=indent, break_long_words=False, drop_whitespace=True)


def _color_of(row: str) -> str:
    start = row.lstrip()
    return next((color for words, color in _COLORS.items() if start.startswith(words)), "")


def wants_color(stream: TextIO | None) -> bool:
    """Tell whether what is printed there may have colors: by pytest's variables, in pytest's order."""
    asked = os.environ.get("PY_COLORS", "")
    if asked in ("0", "1"):
        return asked == "1"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream is not None and not stream.closed and stream.isatty() and os.environ.get("TERM") != "dumb"


def say_aside(text: str) -> None:
    """Print what is going on, for the user who waits; what was printed before stands above it."""
    _flush()
    say(text, aside=True)


def say_progress(text: str) -> None:
    """Print a line of progress: only at a terminal, where a user waits."""
    if sys.stderr is not None and sys.stderr.isatty():
        say_aside(text)


def say_plain(*lines: str) -> None:
    """Print documents, and what a CI system is to obey: what is not ours in them is escaped already."""
    for line in lines:
        _write(f"{line}\n")


def render_json(value: object, indent: int | None = None) -> str:
    """Return a document that may be printed: escapes stand for what a terminal or a CI system would obey."""
    return escape_orders(dumps(value, indent=indent))


def draw(text: str, out: TextIO) -> bool:
    """Write orders of our own to a terminal, around what was made visible; return False if it is gone."""
    try:
        out.write(fit_encoding(text, getattr(out, "encoding", None)))
        out.flush()
    except (OSError, ValueError):
        return False
    return True


def raw_output(*, aside: bool = False) -> BinaryIO | None:
    """Return what the output of a command that we run is shown on, as it is."""
    return getattr(sys.stderr if aside else sys.stdout, "buffer", None)


def _write(text: str, *, aside: bool = False, flush: bool = False) -> bool:
    stream = sys.stderr if aside else sys.stdout
    if stream is None or (_lost and not aside):
        return aside
    try:
        stream.write(fit_encoding(text, getattr(stream, "encoding", None)))
        if flush or aside:
            stream.flush()
    except (OSError, ValueError) as error:
        _give_up(stream, error, aside=aside)
    return aside or not _lost


def _flush() -> None:
    _write("", flush=True)


def _give_up(stream: TextIO, error: Exception, *, aside: bool) -> None:
    if not aside:
        _lost.append(error)
    # What waits in the buffer would fail once more when the interpreter ends, with a traceback and a code of its own.
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
        stream.flush()


def close_streams(code: int) -> int:
    """End a call; return its exit code. A code of 0 does not stand for an answer that is lost."""
    _flush()
    # A reader that closed the output, or stopped reading (`| head`), has got what it wanted.
    if not _lost or isinstance(_lost[0], ValueError) or getattr(_lost[0], "errno", None) == errno.EPIPE:
        return code
    why = getattr(_lost[0], "strerror", None) or str(_lost[0])
    lost = OutputError(f"the answer could not be written: {why}", remedy="make room, or send the output elsewhere")
    say(f"phase-gate: {lost}", aside=True)
    return lost.exit_code if code == exit_codes.OPEN else code


# --- standard input ---------------------------------------------------------------------------------------------------


def read_input(limit: int | None = None) -> bytes:
    """Return what stands on standard input, at most so many bytes. Raises UsageError where it is closed."""
    stream = getattr(sys.stdin, "buffer", sys.stdin)
    try:
        if stream is not None:
            data = stream.read(-1 if limit is None else limit)
            return data.encode() if isinstance(data, str) else data
        why = "it is closed"
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
    raise UsageError(f"standard input can't be read: {why}", remedy="name a file, or pipe the text in")


def screen_width() -> int:
    """Return how many columns the terminal has; 80 where there is none."""
    try:
        return int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80
