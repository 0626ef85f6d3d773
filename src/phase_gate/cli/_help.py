"""The text of `--help`, suggestions for unknown commands, and completion scripts. Loaded only for these."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from phase_gate.cli._call import Call, Done
from phase_gate.cli._parser import Argument, arguments_of, read_argument
from phase_gate.cli._table import COMMANDS, COMMON, COMMON_CODES, FEATURES, GROUPS
from phase_gate.errors import UsageError
from phase_gate.exit_codes import MEANINGS
from phase_gate.visible import wrap

_PURPOSE = "Decide from evidence whether a test-driven step is really done."
_EVERYWHERE = (
    "Without a command it shows the status of the task. Every command has --help with an example,"
    " --json, --task NAME, --dir DIR, -q and -v."
)
#: The column of an argument's description.
_COLUMN = 24


def render_help(topic: str, width: int) -> str:
    """Return the help of a command, of a group, or of everything (empty)."""
    rows = _of_command(topic, width) if topic in COMMANDS else _of_feature(topic, width) if topic else _of_all(width)
    return "\n".join(rows)


def _of_all(width: int) -> Iterator[str]:
    column = max(len(name) for name in COMMANDS if " " not in name) + 4
    yield from ("usage: phase-gate [-h] [--version] COMMAND ...", "", *_fill(_PURPOSE, width), "")
    for group, commands in GROUPS.items():
        yield f"{group}:"
        for name, text in dict(map(_on_first_level, commands)).items():
            yield from _entry(name, text, column, width)
        yield ""
    yield from ("options:", *_entry("-h, --help", "show this text", column, width))
    yield from (*_entry("--version", "print the version", column, width), "", *_fill(_EVERYWHERE, width), "")
    yield from _codes({2: COMMON_CODES[2], **{code: meaning for code, _, meaning in MEANINGS}}, width)
    yield from ("", "begin with:", "  phase-gate demo", "  pytest --phase=red")


def _on_first_level(name: str) -> tuple[str, str]:
    """Return a command and its summary; for a command in a group, the group and the names of its commands."""
    feature, _, below = name.partition(" ")
    if not below:
        return name, COMMANDS[name].summary
    return feature, f"{FEATURES[feature]}: {', '.join(commands_below(feature))}"


def commands_below(feature: str) -> list[str]:
    """Return the commands of a group, without its name."""
    return [name.partition(" ")[2] for name in COMMANDS if name.startswith(f"{feature} ")]


def _of_feature(feature: str, width: int) -> Iterator[str]:
    yield from (f"usage: phase-gate {feature} [-h] COMMAND ...", "", *_fill(f"{FEATURES[feature]}.", width), "")
    yield "commands:"
    for name in commands_below(feature):
        yield from _entry(name, COMMANDS[f"{feature} {name}"].summary, 14, width)


def _of_command(name: str, width: int) -> Iterator[str]:
    command = COMMANDS[name]
    own, common = [*map(read_argument, command.arguments)], [*map(read_argument, COMMON)]
    usage = " ".join((f"usage: phase-gate {name}", *map(_usage, own), "[-h]", *map(_usage, common)))
    yield from textwrap.wrap(usage, width, subsequent_indent=" " * 10, break_on_hyphens=False)
    yield from ("", *_fill(f"{command.summary}.", width))
    help_too = Argument(names=("-h", "--help"), meaning="show this text")
    for title, rows in (("arguments", own), ("options of every command", [help_too, *common])):
        yield from ("", f"{title}:") if rows else ()
        for each in rows:
            names = ", ".join(each.names) if each.is_option else ""
            meaning = each.meaning.replace("%(default)s", each.default or "")
            yield from _entry(f"{names} {each.value}".strip(), meaning, _COLUMN, width)
    yield from (
        "",
        "example:",
        f"  phase-gate {command.example}",
        "",
        *_codes({**COMMON_CODES, **command.codes}, width),
    )


def _usage(argument: Argument) -> str:
    typed = argument.typed + (" ..." if argument.many in ("*", "+") else "")
    return typed if argument.is_required else f"[{typed}]"


def _codes(codes: Mapping[int, str], width: int) -> Iterator[str]:
    yield "exit codes:"
    for code, meaning in sorted(codes.items()):
        yield from _entry(str(code), meaning[0].lower() + meaning[1:], 6, width)


def _entry(name: str, text: str, column: int, width: int) -> list[str]:
    rows = _fill(text, width - column)
    first = f"  {name}".ljust(column)
    head = [f"{first}{rows.pop(0)}"] if len(first) == column else [first]
    return [*head, *(" " * column + row for row in rows)]


def _fill(text: str, width: int) -> list[str]:
    return wrap(text, max(width, 20))


# --- suggestions


def similar_command(word: str) -> str:
    """Return the command most similar to an unknown word, on either level; empty if none is similar."""
    # Of commands with the same last word, the one on the first level remains.
    names = sorted((*COMMANDS, *FEATURES, "help"), key=lambda name: -name.count(" "))
    by_word = {name.split()[-1]: name for name in names}
    return next((by_word[found] for found in get_close_matches(word, by_word, n=1)), "")


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return the question to append after an unknown word; empty if no name is similar."""
    found = get_close_matches(word, list(names), n=1)
    return f": did you mean {found[0]}?" if found else ""


def completion(call: Call) -> Done:
    shell = call.arguments.shell
    script = render_script(shell)
    return Done(text=script, document={"shell": shell, "script": script}, is_file=True)


def render_script(shell: str) -> str:
    """Return the completion script for a shell. Raises UsageError if shtab is not installed."""
    try:
        import shtab
    except ImportError:
        raise UsageError(
            "completion needs the package shtab", remedy="pip install 'pytest-phase-gate[completion]'"
        ) from None
    paths = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY, "FOLDER": shtab.DIRECTORY}
    parser = argparse.ArgumentParser(prog="phase-gate")
    top = parser.add_subparsers()
    below = {feature: top.add_parser(feature, help=text).add_subparsers() for feature, text in FEATURES.items()}
    for name, command in COMMANDS.items():
        feature, _, last = name.rpartition(" ")
        added = below.get(feature, top).add_parser(last, help=command.summary)
        for each in arguments_of(name):
            how = {"choices": each.choices or None, "metavar": each.value} if each.value else {"action": "store_true"}
            action = added.add_argument(*each.names, help=each.meaning, **how)
            if each.value in paths:
                action.complete = paths[each.value]  # type: ignore[attr-defined]
    script: str = shtab.complete(parser, shell=shell)
    return script.rstrip()
