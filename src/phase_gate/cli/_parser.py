"""Read a command line with argparse: every form of it, help, and what is wrong with it.

`plain` reads the common forms, so that the commands that agents ask all the time need not load this.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from phase_gate._version import __version__
from phase_gate.cli._answer import Call, Done
from phase_gate.cli._plain import find_command, first_name, read_argument
from phase_gate.cli._streams import close_streams, say, screen_width
from phase_gate.cli._table import COMMANDS, COMMON, FEATURES, OF_ALL
from phase_gate.errors import UsageError
from phase_gate.visible import strip_unseen


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line as we say everything else, as JSON too."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, remedy=f"{self.prog} --help")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        choices = [] if action.choices is None else list(map(str, action.choices))
        if action.choices is None or value in choices:
            return
        from phase_gate.cli._help import did_you_mean

        what = "command" if isinstance(action, argparse._SubParsersAction) else _name_of(action)
        given = str(value)[:40]
        meant = did_you_mean(given, choices) or f"; choose from {', '.join(choices)}"
        self.error(f"there is no {what} {given!r} in {self.prog}{meant}")

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


def parse(given: list[str]) -> argparse.Namespace:
    """Return what a command line says. Raises UsageError for what is wrong with it."""
    parser = _parser(_called(given))
    arguments, unknown = parser.parse_known_args(given)
    if unknown:
        raise _unknown(parser, unknown, find_command(given))
    for word in given:
        if word.startswith("--") and word.endswith("=--"):
            # Up to Python 3.12 argparse takes the value away here, and leaves an empty list.
            setattr(arguments, word[2:-3].replace("-", "_"), "--")
    check_texts(parser, arguments, given)
    return arguments


def _unknown(parser: argparse.ArgumentParser, words: list[str], command: str) -> UsageError:
    """Return the refusal of what no argument takes."""
    from phase_gate.cli._help import did_you_mean

    options = [name for action in list_actions(parser) for name in action.option_strings]
    meant = did_you_mean(words[0].partition("=")[0], options)
    return UsageError(
        f"unrecognized arguments: {' '.join(words)}{meant}", remedy=f"{f'phase-gate {command}'.strip()} --help"
    )


def _name_of(action: argparse.Action) -> str:
    return action.option_strings[-1] if action.option_strings else action.dest


def _formatter(prog: str) -> argparse.HelpFormatter:
    # With a width, argparse does not import shutil to find one out, which it does for every argument.
    return argparse.HelpFormatter(prog, width=_width())


def _width() -> int:
    return screen_width() - 2


def _called(given: list[str]) -> list[str]:
    """Return the command that is called; all commands of a feature where only that is named; none for `--help`."""
    name = find_command(given)
    if name:
        return [name]
    if given[0] in FEATURES:
        behind = next((name for word in given[1:] if (name := f"{given[0]} {word}") in COMMANDS), "")
        if behind:
            raise UsageError(f"{given[1]} has to stand behind {behind}", remedy=f"phase-gate {behind} --help")
        return [name for name in COMMANDS if name.startswith(f"{given[0]} ")]
    if given[0] in OF_ALL:
        return []
    if given[0].startswith("-"):
        name = first_name(given)
        raise UsageError(f"{given[0]} has to stand behind {name}", remedy=f"phase-gate {name} --help")
    from phase_gate.cli._help import similar_command

    meant = similar_command(given[0])
    problem = f"there is no command {given[0][:40]!r}" + (f": did you mean {meant}?" if meant else "")
    raise UsageError(problem, remedy=f"phase-gate {meant} --help" if meant else "phase-gate --help")


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
        command = _add_parser(below.get(feature, top), last, COMMANDS[name].summary, add_help=False)
        command.set_defaults(command=name)
        _add_arguments(command, COMMANDS[name].arguments)
        common = command.add_argument_group("options of every command")
        common.add_argument("-h", "--help", action="help", help="show this text")
        _add_arguments(common, COMMON)
    return parser


def _add_arguments(parser: argparse._ActionsContainer, lines: Iterable[str]) -> None:
    either: argparse._ActionsContainer | None = None
    for names, how in map(read_argument, lines):
        if how.pop("either", False):
            either = either or parser.add_mutually_exclusive_group()
            either.add_argument(*names, **how)
        else:
            parser.add_argument(*names, **how)


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
    """Return the parser of every command, for the reference and completion."""
    return _parser(COMMANDS)


# --- texts on the command line, by the parser's own table: an option that is not named here has the strictest rule


#: Names of files and words for other programs may be anything; the printer shows what is in them.
_ANYTHING = frozenset({"FILE", "DIR", "FOLDER", "COMMAND", "-- ARGS", "-- COMMAND"})
_SENTENCES = frozenset({"TEXT", "REASON"})
#: Sentences that stay in the lines that they were written in: a commit has a title and a body.
_SEVERAL_LINES = frozenset({"message"})


def check_texts(parser: argparse.ArgumentParser, arguments: argparse.Namespace, given: Sequence[str]) -> None:
    """Put sentences into one line. Raises UsageError for what a reader would not see."""
    if all(strip_unseen(word) == word for word in given):
        return  # nearly always: nothing else is loaded
    for action in list_actions(parser):
        value = getattr(arguments, action.dest, None)
        check = _check_of(action)
        name = action.option_strings[-1] if action.option_strings else str(action.metavar or action.dest)
        if check is None:
            continue
        if isinstance(value, str):
            setattr(arguments, action.dest, check(name, value))
        elif isinstance(value, list):
            setattr(arguments, action.dest, [check(name, each) for each in value])


def _check_of(action: argparse.Action) -> Callable[[str, str], str] | None:
    from phase_gate.names import check_lines, check_sentence, check_value

    if action.metavar in _ANYTHING or action.dest == "task":  # a task's name is a folder's, which has its own rule
        return None
    if action.dest in _SEVERAL_LINES:
        return check_lines
    return check_sentence if action.metavar in _SENTENCES else check_value


def list_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield all arguments, those of the commands below among them."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from list_actions(below)
        else:
            yield action


# --- `phase-gate completion`: what shtab makes of the parser, for a shell to read


def completion(call: Call) -> Done:
    shell = call.arguments.shell
    script = render_script(shell)
    return Done(text=script, document={"shell": shell, "script": script}, is_file=True)


def render_script(shell: str) -> str:
    """Return what completes our command lines in a shell. Raises UsageError where shtab is not installed."""
    try:
        import shtab
    except ImportError:
        raise UsageError(
            "completion needs the package shtab", remedy="pip install 'pytest-phase-gate[completion]'"
        ) from None
    parser = build_full_parser()
    paths = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY, "FOLDER": shtab.DIRECTORY}
    for action in list_actions(parser):
        if action.metavar in paths:
            action.complete = paths[str(action.metavar)]  # type: ignore[attr-defined]
    script: str = shtab.complete(parser, shell=shell)
    return script.rstrip()
