"""Standard streams: printing a command's output, and reading standard input."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterable
from json import dumps

from phase_gate import exit_codes
from phase_gate.errors import StateError, UsageError
from phase_gate.visible import escape_orders, fit_encoding, show_text, width_of, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO, TextIO

#: Bytes of a file that a command is given: far more than an agent prints in one turn.
_MOST = 64 * 1024 * 1024
#: How rows begin that users type or copy.
_TO_TYPE = ("next", "try: ", "$ ")
#: The terminal color of rows, by how they begin.
_COLORS = {_TO_TYPE: "1", ("phase-gate: ", "- "): "31", ("? ",): "33", ("+ ",): "32", ("==",): "1"}

#: Why writing to standard output failed in this call; empty if it did not.
_lost: list[Exception] = []


def open_streams() -> None:
    """Prepare the streams of a call: three open descriptors, and streams that accept every character."""
    _lost.clear()
    _fill_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal can't show, or an undecodable file name, must not make printing fail.
            with contextlib.suppress(OSError, ValueError):
                stream.reconfigure(errors="backslashreplace")


def _fill_descriptors() -> None:
    # Otherwise the next file we open would become the standard output of every process we start.
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


# --- printing ---------------------------------------------------------------------------------------------------------


def say(text: str, *, aside: bool = False, end: str = "\n", color: str = "", flush: bool = False) -> bool:
    """Print a text; return False once standard output can't be written.

    :param aside: print to standard error, separate from the result.
    :param color: a terminal color code for the text, where colors are wanted.
    """
    shown, color = show_text(text), color if color and wants_color(sys.stderr if aside else sys.stdout) else ""
    return _write(f"\x1b[{color}m{shown}\x1b[0m{end}" if color else f"{shown}{end}", aside=aside, flush=flush)


def print_rows(rows: Iterable[str], *, aside: bool = False, is_file: bool = False) -> None:
    """Print rows for people: in color if enabled, and wrapped to the width of the terminal.

    :param is_file: the rows are a file or a script to save, printed unchanged.
    """
    stream = sys.stderr if aside else sys.stdout
    width = 0 if is_file or stream is None or stream.closed or not stream.isatty() else screen_width()
    for row in rows:
        for part in _fold(row, width):
            if not say(part, aside=aside, color="" if is_file else _color_of(row)):
                return


def _fold(row: str, width: int) -> list[str]:
    """Wrap a row to the width. A row with a command to type is left to the terminal, so that it can be copied."""
    text = row.lstrip()
    if not width or width_of(row) <= width or text.startswith(_TO_TYPE):
        return [row]
    indent = row[: len(row) - len(text)]
    first, *others = wrap(text, width - len(indent) - 2)
    return [f"{indent}{first}", *(f"{indent}  {each}" for each in others)]


def _color_of(row: str) -> str:
    start = row.lstrip()
    return next((color for words, color in _COLORS.items() if start.startswith(words)), "")


def wants_color(stream: TextIO | None) -> bool:
    """Return whether output to a stream may be colored: uses pytest's variables, in pytest's order."""
    asked = os.environ.get("PY_COLORS", "")
    if asked in ("0", "1"):
        return asked == "1"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream is not None and not stream.closed and stream.isatty() and os.environ.get("TERM") != "dumb"


def print_aside(text: str) -> None:
    """Print progress to standard error for the waiting user, after flushing standard output."""
    _flush()
    say(text, aside=True)


def print_progress(text: str) -> None:
    """Print a progress line, only on a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        print_aside(text)


def print_plain(*lines: str) -> None:
    """Print documents and CI workflow commands. Foreign text in them is already escaped."""
    for line in lines:
        _write(f"{line}\n")


def render_json(value: object, indent: int | None = None) -> str:
    """Return a JSON document that is safe to print: characters a terminal or CI system would interpret are escaped."""
    return escape_orders(dumps(value, indent=indent))


def draw(text: str, out: TextIO) -> bool:
    """Write our own terminal control sequences and already escaped text; return False if the terminal is gone."""
    try:
        out.write(fit_encoding(text, getattr(out, "encoding", None)))
        out.flush()
    except (OSError, ValueError):
        return False
    return True


def raw_output(*, aside: bool = False) -> BinaryIO | None:
    """Return the binary stream for the unchanged output of a command that we run."""
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
    # Buffered data would fail again at interpreter exit, with a traceback and another exit code.
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
        stream.flush()


def close_streams(code: int) -> int:
    """End a call and return its exit code: never 0 if the output was lost."""
    _flush()
    # A reader that closed the pipe, or stopped reading (`| head`), has all it needs.
    if not _lost or isinstance(_lost[0], ValueError) or getattr(_lost[0], "errno", None) == errno.EPIPE:
        return code
    why = getattr(_lost[0], "strerror", None) or str(_lost[0])
    lost = StateError(
        f"the answer could not be written: {why}", remedy="make room, or send the output elsewhere", slug="output-lost"
    )
    say(f"phase-gate: {lost}", aside=True)
    return lost.exit_code if code == exit_codes.OPEN else code


# --- standard input ---------------------------------------------------------------------------------------------------


def read_given(start: Path, name: str, limit: int = _MOST) -> bytes:
    """Return the content of a file given to a command, or of standard input for `-`. Raises UsageError if it can't."""
    try:
        if name == "-":
            if sys.stdin is None:
                raise ValueError("it is closed")
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with open(start / name, "rb") as stream:
                data = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        shown = "standard input" if name == "-" else name
        raise UsageError(
            f"{shown} can't be read: {why}", remedy="name a file that can be read, or - for input"
        ) from None
    if len(data) > limit:
        raise UsageError(f"{name} is longer than {limit:,} bytes", remedy="shorten it, or hand over its end: tail -c")
    return data


def screen_width() -> int:
    """Return the terminal's width in columns; 80 without a terminal."""
    try:
        return int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80
