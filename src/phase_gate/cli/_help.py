"""What `--help` says beyond the arguments: groups of commands, an example each, exit codes.

Read by `--help` only: no other call pays for it.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from phase_gate.cli._table import COMMANDS, COMMON_CODES, FEATURES, GROUPS
from phase_gate.exit_codes import MEANINGS


def render_overview(parser: argparse.ArgumentParser, width: int) -> str:
    """Return the help of the command as a whole: what stands on the first level."""
    column = max(len(name) for name in COMMANDS if " " not in name) + 4
    rows = [parser.format_usage().rstrip(), "", *_fill(str(parser.description), width), ""]
    for group, commands in GROUPS.items():
        entries = dict(map(_on_first_level, commands))
        rows += [f"{group}:", *(row for name, text in entries.items() for row in _entry(name, text, column, width)), ""]
    rows += ["options:", *_entry("-h, --help", "show this text", column, width)]
    rows += [*_entry("--version", "print the version", column, width), ""]
    rows += _fill(
        "Without a command it says where the task stands, as status does. Every command has --help with an example,"
        " --json, --task NAME, --dir DIR, -q and -v.",
        width,
    )
    codes = {2: COMMON_CODES[2], **{code: meaning for code, _, meaning in MEANINGS}}
    rows += ["", *_codes(codes, width), "", "begin with:", "  phase-gate demo", "  pytest --phase=red"]
    return "\n".join(rows) + "\n"


def _on_first_level(name: str) -> tuple[str, str]:
    """Return a command with its one line; for one of a feature, the feature with the names of its commands."""
    feature, _, below = name.partition(" ")
    if not below:
        return name, COMMANDS[name].summary
    names = [each.removeprefix(f"{feature} ") for each in COMMANDS if each.startswith(f"{feature} ")]
    return feature, f"{FEATURES[feature]}: {', '.join(names)}"


def render_end(name: str, width: int) -> str:
    """Return what stands below the arguments in the help of one command."""
    if name not in COMMANDS:
        return ""
    command = COMMANDS[name]
    rows = ["", "example:", f"  phase-gate {command.example}", "", *_codes({**COMMON_CODES, **command.codes}, width)]
    return "\n".join(rows) + "\n"


def _codes(codes: Mapping[int, str], width: int) -> Iterator[str]:
    yield "exit codes:"
    for code, meaning in sorted(codes.items()):
        yield from _entry(str(code), meaning[0].lower() + meaning[1:], 6, width)


def _entry(name: str, text: str, column: int, width: int) -> list[str]:
    return textwrap.wrap(
        text, max(width, column + 20), initial_indent=f"  {name}".ljust(column), subsequent_indent=" " * column
    )


def _fill(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 20))


# --- what was meant


def similar_command(word: str) -> str:
    """Return the command that was meant by a word which is none; nothing where none is like it."""
    names = [*COMMANDS, *FEATURES, "help"]
    # The very word one level down; both words in another order or with a dash; then what is spelled alike.
    exact = [name for name in names if word == name.split()[-1] or set(word.split("-")) == set(name.split())]
    if exact:
        return min(exact, key=len)
    for level in (0, 1):
        by_word = {name.split()[-1]: name for name in reversed(names) if name.count(" ") == level}
        for found in get_close_matches(word, by_word, n=1):
            return by_word[found]
    return ""


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return the question that follows a word which is none of these; nothing where none is like it."""
    found = get_close_matches(word, list(names), n=1)
    return f": did you mean {found[0]}?" if found else ""
