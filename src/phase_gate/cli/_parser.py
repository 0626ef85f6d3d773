"""Parse a command line using the table of commands, and report every usage error.

Does not use argparse: importing it takes longer than `check` itself.
"""

from __future__ import annotations

import sys

from phase_gate.cli._table import COMMANDS, COMMON, FEATURES, OF_ALL
from phase_gate.errors import UsageError
from phase_gate.values import Value
from phase_gate.visible import check_sentence, check_value, strip_unseen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from phase_gate.cli._call import Arguments, Call, Done

#: Options for help and for the version, allowed anywhere.
HELP = ("-h", "--help")
#: File names and arguments of other programs may contain anything. The printer makes it visible.
_ANYTHING = frozenset({"FILE", "DIR", "FOLDER", "COMMAND", "-- ARGS", "-- COMMAND"})
_SENTENCES = frozenset({"TEXT", "REASON"})
#: Kind of a number -> how it is read, and what it is called. Each is a limit, so it is above 0.
_NUMBERS: dict[str, tuple[Callable[[str], float], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
}


# --- the table


class Argument(Value):
    """One argument, parsed from a line of the table."""

    #: As typed. A positional argument's name has no dash.
    names: tuple[str, ...]
    meaning: str
    #: The name of its value; empty for a flag.
    value: str = ""
    #: `?` if optional, `*` and `+` for several values, empty for one.
    many: str = ""
    choices: tuple[str, ...] = ()
    #: `int`, `float`, or empty for text.
    kind: str = ""
    default: str | None = None
    #: Any of `required`, `repeated`, `either`.
    marks: tuple[str, ...] = ()

    @property
    def is_option(self) -> bool:
        return self.names[0].startswith("-")

    @property
    def key(self) -> str:
        return self.names[-1 if self.names[-1].startswith("--") else 0].lstrip("-").replace("-", "_")

    @property
    def is_required(self) -> bool:
        return "required" in self.marks or not (self.is_option or self.many in ("?", "*"))

    @property
    def absent(self) -> Any:
        """The value if it is not given."""
        if not self.value:
            return False
        is_list = "repeated" in self.marks or (self.many == "*" and not self.is_option)
        return [] if is_list else self.default

    @property
    def typed(self) -> str:
        """As typed, like `--by NAME` or `stop|pre-tool`."""
        return f"{self.names[0]} {self.value}".strip() if self.is_option else self.value

    def read(self, text: str) -> Any:
        """Convert a value. Raises UsageError if it is invalid."""
        if self.choices and text not in self.choices:
            from phase_gate.cli._help import did_you_mean

            meant = did_you_mean(text, self.choices) or f"; choose from {', '.join(self.choices)}"
            raise UsageError(f"there is no {self.names[0]} {text[:40]!r}{meant}", remedy="")
        if not self.kind:
            return _checked(self, text)
        read, form = _NUMBERS[self.kind]
        try:
            number = read(text)
        except ValueError:
            number = 0
        if not 0 < number < float("inf"):
            raise UsageError(f"{self.names[0]} can't be {text[:40]!r}: give {form} above 0", remedy="")
        return number


def read_argument(line: str) -> Argument:
    """Parse a line of the table."""
    spec, _, meaning = line.partition("  ")
    words = spec.replace("-- ", "--\0").split()  # keep `--` together with the name of its values
    names = tuple(word for word in words if word.startswith("-") and "\0" not in word) or (words[0],)
    found: dict[str, Any] = {"marks": ()}
    for word in words[len(names) :]:
        name, _, value = word.partition("=")
        if word in _NUMBERS:
            found["kind"] = word
        elif word in ("required", "repeated", "either"):
            found["marks"] += (word,)
        elif name == "default":
            found["default"] = value
        else:
            word = word.replace("\0", " ")
            bare = word.strip("[]*+")
            found["many"] = "" if word == bare else "?" if word.startswith("[") else word[-1]
            found["choices"] = tuple(bare.split("|")) if "|" in bare else ()
            found["value"] = bare
    return Argument(names=names, meaning=meaning, **found)


def arguments_of(name: str) -> list[Argument]:
    """Return a command's arguments: its own, and those of every command."""
    return [*map(read_argument, COMMANDS[name].arguments), *map(read_argument, COMMON)]


def load_command(name: str) -> Callable[[Call], Done]:
    """Import and return the function of a command."""
    file, _, function = COMMANDS[name].run.partition(".")
    module = f"phase_gate.cli.{file}"
    __import__(module)
    found: Callable[[Call], Done] = getattr(sys.modules[module], function)
    return found


# --- which command


def with_command(given: list[str]) -> list[str]:
    """Return the command line with its command in front: `status` if it names none, and `help X` as `X --help`."""
    if given and given[0] == "help":
        return with_command([*given[1:], "--help"])
    if given and (not given[0].startswith("-") or given[0] in OF_ALL):
        return given
    at = next((at for at, word in enumerate(given) if word in COMMANDS or word in FEATURES), None)
    if at is None:
        return ["--help" if _asks_for_help(given) else "status", *given]
    end = at + (2 if given[at] in FEATURES else 1)
    return [*given[at:end], *given[:at], *given[end:]]


def find_topic(given: list[str]) -> str | None:
    """Return the topic of a request for help: a command, a group, or everything (empty); None without one."""
    if not _asks_for_help(given):
        return None
    name = _find_command(given)
    if name or given[0] in OF_ALL:
        return name
    if given[0] in FEATURES and given[1].startswith("-"):
        return given[0]
    raise _unknown_command(given)


def _asks_for_help(given: list[str]) -> bool:
    return any(word in HELP for word in ours(given))


def ours(given: list[str]) -> list[str]:
    """Return the words before `--`: the others are for pytest or an agent."""
    return given[: given.index("--")] if "--" in given else given


def _find_command(given: list[str]) -> str:
    """Return the command named by the first one or two words; empty if there is none."""
    return next((name for name in (given[0], " ".join(given[:2])) if name in COMMANDS), "")


def _unknown_command(given: list[str]) -> UsageError:
    from phase_gate.cli._help import commands_below, did_you_mean, similar_command

    first = given[0]
    if first in FEATURES:
        below = commands_below(first)
        choose = f"choose from {', '.join(below)}"
        problem = f"{first} is no command by itself; {choose}"
        if len(given) > 1:
            meant = did_you_mean(given[1], below) or f"; {choose}"
            problem = f"there is no command {given[1][:40]!r} in phase-gate {first}{meant}"
        return UsageError(problem, remedy=f"phase-gate {first} --help")
    meant = similar_command(first)
    problem = f"there is no command {first[:40]!r}" + (f": did you mean {meant}?" if meant else "")
    of_all = not meant or meant == "help"
    return UsageError(problem, remedy="phase-gate --help" if of_all else f"phase-gate {meant} --help")


# --- its arguments


def parse(given: list[str]) -> Arguments:
    """Parse a command line. Raises UsageError if it is invalid."""
    name = _find_command(given)
    if not name:
        raise _unknown_command(given)
    try:
        found = _read_words(arguments_of(name), given[len(name.split()) :])
    except UsageError as error:
        raise UsageError(error.problem, remedy=error.remedy or f"phase-gate {name} --help") from None
    kind: Any = type(sys.implementation)  # SimpleNamespace, without importing `types`
    made: Arguments = kind(command=name, **found)
    return made


def _read_words(arguments: list[Argument], words: list[str]) -> dict[str, Any]:
    options = {name: each for each in arguments if each.is_option for name in each.names}
    found: dict[str, Any] = {each.key: each.absent for each in arguments}
    given: list[Argument] = []
    loose: list[str] = []
    unknown: list[str] = []
    rest = [*words]
    while rest:
        word = rest.pop(0)
        name, is_joined, value = word.partition("=")
        option = options.get(name)
        if word == "--":
            loose += rest
            break
        if option is None:
            (unknown if _is_option(word) else loose).append(word)
            continue
        if not option.value and is_joined:
            raise UsageError(f"{name} takes no value", remedy="")
        given.append(option)
        if not option.value:
            found[option.key] = True
            continue
        taken = [option.read(value)] if is_joined else _take(option, rest)
        if "repeated" in option.marks:
            taken = [*found[option.key], *taken]
        found[option.key] = taken if option.many or "repeated" in option.marks else taken[0]
    for place in arguments:
        if not place.is_option and loose:
            taken = [place.read(loose.pop(0)) for _ in (loose[:] if place.many == "*" else loose[:1])]
            found[place.key] = taken if place.many == "*" else taken[0]
            given.append(place)
    # A required text that is blank is missing.
    blank = [each for each in given if "required" in each.marks and not str(found[each.key]).strip()]
    _refuse(arguments, [each for each in given if each not in blank], [*unknown, *loose])
    return found


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-" and not word[1:2].isdigit()


def _take(option: Argument, rest: list[str]) -> list[Any]:
    """Remove an option's values from the remaining words and return them."""
    taken: list[Any] = []
    while rest and not _is_option(rest[0]) and (option.many or not taken):
        taken.append(option.read(rest.pop(0)))
    if not taken and option.many != "*":
        raise UsageError(f"{option.names[0]} needs a value: {option.typed}", remedy="")
    return taken


def _refuse(arguments: list[Argument], given: list[Argument], unknown: list[str]) -> None:
    """Raise UsageError for unknown or missing arguments, or arguments that exclude each other."""
    if unknown:
        from phase_gate.cli._help import did_you_mean

        names = [name for each in arguments if each.is_option for name in each.names]
        meant = did_you_mean(unknown[0].partition("=")[0], names)
        raise UsageError(f"unrecognized arguments: {' '.join(unknown)}{meant}", remedy="")
    missing = [each.typed for each in arguments if each.is_required and each not in given]
    if missing:
        raise UsageError(f"missing: {', '.join(missing)}", remedy="")
    either = list(dict.fromkeys(each.names[0] for each in given if "either" in each.marks))
    if len(either) > 1:
        raise UsageError(f"{' and '.join(either)} can't be given together", remedy="")


def _checked(argument: Argument, text: str) -> str:
    """Return a text, as a one-line sentence. Raises UsageError if it contains invisible characters."""
    # A task's name is a folder name, and is checked elsewhere.
    if strip_unseen(text) == text or argument.value in _ANYTHING or argument.key == "task":
        return text
    name = argument.names[-1] if argument.is_option else argument.value
    return (check_sentence if argument.value in _SENTENCES else check_value)(name, text)


def refuse_placeholders(name: str, given: Iterable[str]) -> None:
    """Raise UsageError for placeholders copied from a message or from help: "...", NAME, FILE."""
    shown = {"...", *(each.value for each in arguments_of(name))}
    for word in given:
        text = word.partition("=")[2] if word.startswith("--") else word
        if text in shown and (text == "..." or text.isupper()):
            example = COMMANDS[name].example
            raise UsageError(
                f"{text} is a placeholder", remedy=f"put your own words there, as in: phase-gate {example}"
            )
        if word == "--":
            return
