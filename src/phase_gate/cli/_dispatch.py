"""Read the command line, call one command, print its answer."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from phase_gate._version import __version__
from phase_gate.cli import COMMANDS, FEATURES
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import close_streams, open_streams, say, say_document, say_orders
from phase_gate.cli._texts import check_texts
from phase_gate.errors import PhaseGateError, UsageError, as_fault
from phase_gate.visible import show_line

#: Options of the command as a whole.
_OF_ALL = ("-h", "--help", "--version")


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
        return super().format_help() + render_end(" ".join(called), _width())


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
    given = _with_command(given)
    parser = _parser(_called(given))
    arguments = parser.parse_args(given)
    for word in given:
        if word.startswith("--") and word.endswith("=--"):
            # Up to Python 3.12 argparse takes the value away here, and leaves an empty list.
            setattr(arguments, word[2:-3].replace("-", "_"), "--")
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


def _with_command(given: list[str]) -> list[str]:
    """Return the command line with `status` in front where it names no command."""
    if given and (not given[0].startswith("-") or given[0] in _OF_ALL or _first_name(given)):
        return given
    return ["status", *given]


def _first_name(given: list[str]) -> str:
    return next((word for word in given if word in COMMANDS or word in FEATURES), "")


def _called(given: list[str]) -> list[str]:
    """Return the command that is called; all commands of a feature where only that is named; none for `--help`."""
    for name in (given[0], " ".join(given[:2])):
        if name in COMMANDS:
            return [name]
    if given[0] in FEATURES:
        return [name for name in COMMANDS if name.startswith(f"{given[0]} ")]
    if given[0] in _OF_ALL:
        return []
    if given[0].startswith("-"):
        name = _first_name(given)
        raise UsageError(f"{given[0]} has to stand behind {name}", remedy=f"phase-gate {name} --help")
    from phase_gate.cli._help import similar_command

    words = ("phase-gate", *similar_command(build_full_parser(), given[0]), "--help")
    raise UsageError(f"there is no command {given[0][:40]!r}", remedy=" ".join(words))


def _parser(names: Iterable[str]) -> _Parser:
    """Return the parser of these commands: `check` must not pay for `demo`."""
    parser = _Parser(
        prog="phase-gate",
        description="Decide from evidence whether a test-driven step is really done.",
        allow_abbrev=False,
        formatter_class=_formatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"pytest-phase-gate {__version__}", help="print the version"
    )
    top = parser.add_subparsers(title="commands", metavar="COMMAND", prog="phase-gate", required=True)
    below: dict[str, argparse._SubParsersAction[Any]] = {}
    for name in names:
        feature, _, last = name.rpartition(" ")
        if feature and feature not in below:
            group = _add_parser(top, feature, FEATURES[feature])
            below[feature] = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
        command = _add_parser(below.get(feature, top), last, COMMANDS[name], add_help=False)
        command.set_defaults(command=name)
        _module(name).add_arguments(command)
        common = command.add_argument_group("options of every command")
        common.add_argument("-h", "--help", action="help", help="show this text")
        common.add_argument("--json", action="store_true", help="answer as JSON")
        common.add_argument("--task", metavar="NAME", help="which task (also PHASE_GATE_TASK)")
        common.add_argument("--dir", metavar="DIR", help="other state folder (also PHASE_GATE_DIR)")
    return parser


def _add_parser(
    commands: argparse._SubParsersAction[Any], name: str, summary: str, *, add_help: bool = True
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary}.",
        allow_abbrev=False,
        formatter_class=_formatter,
        add_help=add_help,
    )
    return made


def build_full_parser() -> argparse.ArgumentParser:
    """Return the parser of every command, for the reference, the man page and completion."""
    return _parser(COMMANDS)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"phase_gate.cli.{name.replace(' ', '_')}")


def _is_interactive() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
