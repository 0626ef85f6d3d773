"""Read the plain forms of a command line without argparse, whose import costs more than `check` itself.

A command declares its arguments once, to this reader as to argparse's. What this one does not know, be it a kind of
argument or a word, is left to argparse, which also says what is wrong.
"""

from __future__ import annotations

import sys

from phase_gate.cli import COMMANDS, FEATURES, OF_ALL, THEMES
from phase_gate.values import Value
from phase_gate.visible import strip_unseen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from phase_gate.cli._answer import Answer, Arguments, Call


#: What a declaration says for people.
_FOR_READERS = frozenset({"metavar", "help"})


class NotPlainError(Exception):
    """argparse has to read it."""


class PlainReader:
    """Flags, options with one value, and words of which a few are allowed: `--name`, `--name value`, `--name=value`."""

    def __init__(self) -> None:
        self._flags: set[str] = set()
        #: By name: the values that are allowed; None: any.
        self._options: dict[str, Collection[str] | None] = {}
        self._places: list[tuple[str, Collection[str]]] = []

    def add_argument(
        self,
        name: str,
        *,
        action: str = "store",
        choices: Collection[str] | None = None,
        **others: object,
    ) -> None:
        """Take a declaration as argparse takes it. Raises NotPlainError for a kind that only argparse knows."""
        is_option = name.startswith("-")
        if others.keys() - _FOR_READERS or action not in ("store", "store_true") or not (is_option or choices):
            raise NotPlainError
        if not is_option:
            self._places.append((name, choices or ()))
        elif action == "store":
            self._options[name] = choices
        else:
            self._flags.add(name)

    def read(self, words: list[str]) -> dict[str, Any]:
        """Return what the words say by the names that argparse would give. Raises NotPlainError."""
        found: dict[str, Any] = {**dict.fromkeys(self._flags, False), **dict.fromkeys(self._options)}
        places = [*self._places]
        rest = iter(words)
        for word in rest:
            name, is_joined, value = word.partition("=")
            if word in self._flags:
                found[word] = True
            elif name in self._options:
                value = value if is_joined else next(rest, "-")
                allowed = self._options[name]
                # What looks like an option is a matter for argparse, even where it is a value.
                if value.startswith("-") or (allowed is not None and value not in allowed):
                    raise NotPlainError
                found[name] = value
            elif places and word in places[0][1]:
                found[places.pop(0)[0]] = word
            else:
                raise NotPlainError
        if places:
            raise NotPlainError
        return {name.lstrip("-").replace("-", "_"): value for name, value in found.items()}


def read_plain(given: list[str]) -> Arguments:
    """Return what a command line says. Raises NotPlainError if it is not plain."""
    name = given[0]
    if name not in COMMANDS or any(strip_unseen(word) != word for word in given):
        raise NotPlainError
    reader = PlainReader()
    try:
        load_command(name).add_arguments(reader)
    except (AttributeError, TypeError):
        raise NotPlainError from None  # a group, or more than one name
    add_common(reader)
    kind: Any = type(sys.implementation)  # a plain namespace, under a name that needs no import
    made: Arguments = kind(command=name, **reader.read(given[1:]))
    return made


def add_common(parser: Any) -> None:
    """Declare the options that every command has."""
    parser.add_argument("--json", action="store_true", help="answer as JSON")
    parser.add_argument("--task", metavar="NAME", help="which task (also PHASE_GATE_TASK)")
    parser.add_argument("--dir", metavar="DIR", help="other state folder (also PHASE_GATE_DIR)")
    parser.add_argument("-q", action="store_true", help="print only what went wrong: the exit code answers")
    parser.add_argument("-v", action="store_true", help="print every detail")


class Command(Value, kw_only=False):
    """What declares the arguments of a command, and what answers it."""

    add_arguments: Callable[[Any], None]
    run: Callable[[Call], Answer]


def load_command(name: str) -> Command:
    """Return a command from its file, or from the file of its theme."""
    own = name.replace(" ", "_")
    module = f"phase_gate.cli.{THEMES.get(name, own)}"
    __import__(module)
    found = sys.modules[module]
    if name in THEMES:
        return Command(getattr(found, f"{own}_arguments"), getattr(found, f"run_{own}"))
    return Command(found.add_arguments, found.run)


def with_command(given: list[str]) -> list[str]:
    """Return the command line with `status` in front where it names no command."""
    if given and (not given[0].startswith("-") or given[0] in OF_ALL or first_name(given)):
        return given
    return ["status", *given]


def first_name(given: list[str]) -> str:
    return next((word for word in given if word in COMMANDS or word in FEATURES), "")
