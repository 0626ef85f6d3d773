"""Read the plain forms of a command line without argparse, whose import costs more than `check` itself.

What this reader does not know, be it a kind of argument or a word, is left to argparse, which also says what is wrong.
"""

from __future__ import annotations

import sys

from phase_gate.cli._table import COMMANDS, COMMON, FEATURES, OF_ALL
from phase_gate.visible import strip_unseen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from phase_gate.cli._answer import Arguments, Call, Done


class NotPlainError(Exception):
    """argparse has to read it."""


# --- the table


def read_argument(line: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return names and settings of an argument, as argparse's `add_argument` takes them; `either` is our own."""
    spec, _, meaning = line.partition("  ")
    words = spec.replace("-- ", "--\0").split()  # the value of what follows `--` is written with it
    names = tuple(word for word in words if word.startswith("-") and "\0" not in word) or (words[0],)
    how: dict[str, Any] = {"help": meaning}
    for word in words[len(names) :]:
        name, _, value = word.partition("=")
        if word in ("int", "float"):
            how["type"] = {"int": int, "float": float}[word]
        elif word in ("required", "either"):
            how[word] = True
        elif word == "repeated":
            how |= {"action": "append", "default": []}
        elif name == "default":
            how["default"] = value
        else:
            _read_value(word.replace("\0", " "), how)
    if "metavar" not in how:
        how["action"] = "store_true"
    return names, how


def _read_value(word: str, how: dict[str, Any]) -> None:
    bare = word.strip("[]*+")
    if word != bare:
        how["nargs"] = "?" if word.startswith("[") else word[-1]
    if "|" in bare:
        how["choices"] = bare.split("|")
    how["metavar"] = bare


def load_command(name: str) -> Callable[[Call], Done]:
    """Return what answers a command."""
    file, _, function = COMMANDS[name].run.partition(".")
    module = f"phase_gate.cli.{file}"
    __import__(module)
    found: Callable[[Call], Done] = getattr(sys.modules[module], function)
    return found


def find_command(given: list[str]) -> str:
    """Return the name of the command that the first word or the first two words call; empty if there is none."""
    return next((name for name in (given[0], " ".join(given[:2])) if name in COMMANDS), "")


def with_command(given: list[str]) -> list[str]:
    """Return the command line with `status` in front where it names no command; `help X` stands for `X --help`."""
    if given and given[0] == "help":
        return [*given[1:], "--help"]
    if given and (not given[0].startswith("-") or given[0] in OF_ALL or first_name(given)):
        return given
    return ["status", *given]


def first_name(given: list[str]) -> str:
    return next((word for word in given if word in COMMANDS or word in FEATURES), "")


# --- the command line


def read_plain(given: list[str]) -> Arguments:
    """Return what a command line says. Raises NotPlainError if it is not plain."""
    name = find_command(given)
    if not name or any(strip_unseen(word) != word for word in given):
        raise NotPlainError
    found = _read_words([*COMMANDS[name].arguments, *COMMON], given[len(name.split()) :])
    kind: Any = type(sys.implementation)  # a plain namespace, under a name that needs no import
    made: Arguments = kind(command=name, **found)
    return made


def _read_words(lines: list[str], words: list[str]) -> dict[str, Any]:
    """Read flags, options with one value, and words of which a few are allowed. Raises NotPlainError for others."""
    flags: set[str] = set()
    places: list[tuple[str, Any]] = []
    #: By name: the values that are allowed; None: any.
    options: dict[str, list[str] | None] = {}
    for names, how in map(read_argument, lines):
        choices = how.get("choices")
        is_flag = how.get("action") == "store_true"
        is_option = names[0].startswith("-")
        if len(names) > 1 or how.keys() - {"metavar", "help", "choices", "action"} or not (is_option or choices):
            raise NotPlainError
        if not is_option:
            places.append((names[0], choices))
        elif is_flag:
            flags.add(names[0])
        else:
            options[names[0]] = choices
    found: dict[str, Any] = {**dict.fromkeys(flags, False), **dict.fromkeys(options)}
    rest = iter(words)
    for word in rest:
        name, is_joined, value = word.partition("=")
        if name in options:
            value = value if is_joined else next(rest, "-")
            allowed = options[name]
            # What looks like an option is a matter for argparse, even where it is a value.
            if value.startswith("-") or (allowed is not None and value not in allowed):
                raise NotPlainError
            found[name] = value
        elif word in flags:
            found[word] = True
        elif places and word in places[0][1]:
            found[places.pop(0)[0]] = word
        else:
            raise NotPlainError
    if places:
        raise NotPlainError
    return {name.lstrip("-").replace("-", "_"): value for name, value in found.items()}
