"""Read the command line, call one command, print its answer."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, NoReturn, TextIO

from phase_gate import exit_codes
from phase_gate._version import __version__
from phase_gate.cli import COMMANDS
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._texts import check_texts
from phase_gate.errors import OutputError, PhaseGateError, StorageError, UsageError, as_fault
from phase_gate.visible import escape_orders, show_line, show_text


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line as we say everything else, as JSON too."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, remedy=f"{self.prog} --help")

    def _print_message(self, message: str, file: object = None) -> None:
        say(message, end="")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise SystemExit(close_streams(status))

    def format_help(self) -> str:
        from phase_gate.cli._help import render_end, render_overview

        called = self.prog.split()[1:]
        if not called:
            return render_overview(self, _width())
        return super().format_help() + (render_end(called[0], _width()) if len(called) == 1 else "")


def dispatch(given: list[str]) -> int:
    """Print the answer to a command line and return its exit code."""
    open_streams()
    # What follows `--` is pytest's.
    ours = given[: given.index("--")] if "--" in given else given
    answer = _answer(given)
    code = answer.exit_code
    try:
        _print(answer, as_json="--json" in ours)
    except Exception as error:
        # In the middle of a long answer. What is printed by now is no JSON document, so nobody takes it for one.
        refusal = _refuse(error)
        code = refusal.exit_code
        say(str(refusal.text), aside=True)
    return close_streams(code)


def _answer(given: list[str]) -> Answer:
    try:
        return _call(given)
    except Exception as error:
        return _refuse(error)


def _refuse(error: Exception) -> Answer:
    if not isinstance(error, PhaseGateError):
        # Its traceback would show texts of a ledger as they are, and end with a code that means something else.
        error = as_fault(error, remedy="please report this line; phase-gate audit tells whether the state is sound")
    return Answer(
        exit_code=error.exit_code,
        document={"error": {"slug": error.slug, "problem": error.problem, "remedy": error.remedy}},
        text=f"phase-gate: {error}",
        is_error=True,
    )


def _call(given: list[str]) -> Answer:
    return call_in(Path.cwd(), given, environment=dict(os.environ), interactive=_is_interactive())


def call_in(start: Path, given: list[str], *, environment: Mapping[str, str], interactive: bool) -> Answer:
    """Return the answer to a command line that was typed in that folder. Raises what the command raises."""
    name = next((word for word in given if not word.startswith("-")), None)
    parser = _parser(name, only=bool(given) and given[0] in COMMANDS)
    arguments = parser.parse_args(given)
    for word in given:
        if word.startswith("--") and word.endswith("=--"):
            # Up to Python 3.12 argparse takes the value away here, and leaves an empty list.
            setattr(arguments, word[2:-3].replace("-", "_"), "--")
    if not hasattr(arguments, "command"):
        return Answer(text=parser.format_help().rstrip())
    check_texts(parser, arguments, given)
    call = Call(arguments=arguments, start=start, environment=environment, interactive=interactive)
    answer: Answer = _module(arguments.command).run(call)
    return answer


def _print(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        say_document(answer.document)
    elif answer.text:
        for row in (answer.text,) if isinstance(answer.text, str) else map(show_line, answer.text):
            if not say(row, aside=answer.is_error):
                break
        say_orders(answer.orders)


def _formatter(prog: str) -> argparse.HelpFormatter:
    # With a width, argparse does not import shutil to find one out, which it does for every argument.
    return argparse.HelpFormatter(prog, width=_width())


def _width() -> int:
    try:
        width = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):
        width = 80
    return width - 2


def _parser(wanted: str | None, *, only: bool = False, full: bool = False) -> argparse.ArgumentParser:
    """Return the parser; with `only`, of the one command that is called: `check` must not pay for `demo`."""
    parser = _Parser(
        prog="phase-gate",
        description="Decide from evidence whether a test-driven step is really done.",
        allow_abbrev=False,
        formatter_class=_formatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"pytest-phase-gate {__version__}", help="print the version"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", prog="phase-gate")
    for name, summary in COMMANDS.items():
        if only and name != wanted:
            continue
        command = commands.add_parser(
            name,
            help=summary,
            description=f"{summary}.",
            allow_abbrev=False,
            formatter_class=_formatter,
            add_help=False,
        )
        command.set_defaults(command=name)
        if full or name == wanted:
            _module(name).add_arguments(command)
        common = command.add_argument_group("options of every command")
        common.add_argument("-h", "--help", action="help", help="show this text")
        common.add_argument("--json", action="store_true", help="answer as JSON")
        common.add_argument("--task", metavar="NAME", help="which task (also PHASE_GATE_TASK)")
        common.add_argument("--dir", metavar="DIR", help="other state folder (also PHASE_GATE_DIR)")
    return parser


def build_full_parser() -> argparse.ArgumentParser:
    """Return the parser with every command's own arguments, for the reference, the man page and completion."""
    return _parser(None, full=True)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"phase_gate.cli.{name.replace('-', '_')}")


def _is_interactive() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


# --- the way in and out of a command: what it prints, what it writes into a file, what it reads from standard input


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


def say(text: str, *, aside: bool = False, end: str = "\n", colour: str = "", flush: bool = False) -> bool:
    """Print a text; return False once standard output takes no more.

    :param aside: on standard error, which never gets in the way of an answer.
    :param colour: a code of the terminal's, put around what is shown.
    """
    shown = show_text(text)
    return _write(f"\x1b[{colour}m{shown}\x1b[0m{end}" if colour else f"{shown}{end}", aside=aside, flush=flush)


def say_aside(text: str) -> None:
    """Print what is going on, for whoever waits; what was printed before stands above it."""
    _flush()
    say(text, aside=True)


def say_document(document: Mapping[str, Any]) -> None:
    """Print what `json.dumps(..., indent=2)` gives, item by item where there are iterators."""
    if not any(isinstance(value, Iterator) for value in document.values()):
        _write(f"{render_json(document, indent=2)}\n")
        return
    before = "{"
    for key, value in document.items():
        _write(f"{before}\n  {render_json(key)}: ")
        before = ","
        if not isinstance(value, Iterator):
            _write(_indented(value, 2))
            continue
        opened = "["
        for item in value:
            if not _write(f"{opened}\n    {_indented(item, 4)}"):
                return
            opened = ","
        _write("[]" if opened == "[" else "\n  ]")
    _write("\n}\n")


def say_orders(lines: Iterable[str]) -> None:
    """Print what a CI system is to obey. Whoever made the lines has escaped what is not ours in them."""
    for line in lines:
        _write(f"{line}\n")


def render_json(value: object, indent: int | None = None) -> str:
    """Return a document that may be printed: escapes stand for what a terminal or a CI system would obey."""
    return escape_orders(json.dumps(value, indent=indent))


def _indented(value: object, columns: int) -> str:
    # No line end is part of a JSON string: each is one of the indentation's.
    return render_json(value, indent=2).replace("\n", "\n" + " " * columns)


def draw(text: str, out: TextIO) -> bool:
    """Write orders of our own to a terminal, around what was made visible; return False if it is gone."""
    try:
        out.write(text)
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
        stream.write(text)
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
    """End a call; return its exit code. A code of 0 does not stand for an answer that nobody can read."""
    _flush()
    # Whoever closed the output, or stopped reading (`| head`), has got what they wanted.
    if not _lost or isinstance(_lost[0], ValueError) or getattr(_lost[0], "errno", None) == errno.EPIPE:
        return code
    why = getattr(_lost[0], "strerror", None) or str(_lost[0])
    lost = OutputError(f"the answer could not be written: {why}", remedy="make room, or send the output elsewhere")
    say(f"phase-gate: {lost}", aside=True)
    return lost.exit_code if code == exit_codes.HOLDS else code


# --- files and standard input -----------------------------------------------------------------------------------------


def write_output(path: Path, text: str) -> None:
    """Write an answer into a file. Raises StorageError if that can't be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"{path.name} could not be written: {error.strerror}", remedy="name a place that can be written"
        ) from error


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
