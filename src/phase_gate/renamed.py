"""Public names that are called otherwise by now: the one place for a name that is about to go away.

An old name works until the version that its row says. It is translated before anything else reads it, and a notice on
standard error says what to type instead. A notice changes neither the answer nor the exit code. It is no warning of
Python's, for a project may have made those errors.
"""

from __future__ import annotations

import contextlib
import sys

from phase_gate.values import Value

OPTION, COMMAND, ARGUMENT, SETTING = "option", "command", "argument", "setting"


class Renamed(Value):
    #: `option` of pytest, `command`, `argument` of a command, or `setting` in phase-gate.yaml.
    kind: str
    #: As it was typed: `--phase-old`, `old`, `check --old`, `run.old`.
    old: str
    new: str
    #: The version that knows the old name no more.
    until: str


#: Rows are added with the new name, and removed in the version that they name (docs/reference/stability.md).
RENAMED: tuple[Renamed, ...] = ()


def word_notice(row: Renamed) -> str:
    """Return what is said about an old name."""
    return f"phase-gate: {row.kind} {row.old} is now called {row.new}; until {row.until} both work\n  try: {row.new}\n"


def tell(row: Renamed) -> None:
    """Say it, if there is still a standard error to say it on."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(word_notice(row))
        sys.stderr.flush()


def find_row(kind: str, old: str) -> Renamed | None:
    """Return what a name is called now; None for one that is not in the table."""
    return next((row for row in RENAMED if (row.kind, row.old) == (kind, old)), None)


def translate_options(words: list[str]) -> list[Renamed]:
    """Put new names into the words of a call of pytest, in place; return the rows to tell of."""
    found = []
    for index, word in enumerate(words):
        if word == "--":
            break
        name, is_joined, value = word.partition("=")
        row = find_row(OPTION, name)
        if row is not None:
            words[index] = f"{row.new}{is_joined}{value}"
            found.append(row)
    return found


def translate_command(words: list[str]) -> list[str]:
    """Return a command line with new names in it, and tell of the old ones."""
    for length in (2, 1):
        row = find_row(COMMAND, " ".join(words[:length]))
        if row is not None:
            tell(row)
            words = [*row.new.split(), *words[length:]]
            break
    ours = words.index("--") if "--" in words else len(words)
    out = words[:ours]
    for index, word in enumerate(out):
        name, is_joined, value = word.partition("=")
        for length in (2, 1):
            command = " ".join(words[:length])
            row = find_row(ARGUMENT, f"{command} {name}")
            if row is not None:
                tell(row)
                out[index] = f"{row.new.removeprefix(f'{command} ')}{is_joined}{value}"
    return out + words[ours:]


def translate_setting(place: str, present: frozenset[str], key: str) -> str:
    """Return the key that a setting is read by, and tell of an old one.

    :param place: the section that it stands in.
    :param present: all keys of that section: where the new name is there too, the old one is unknown.
    """
    row = find_row(SETTING, f"{place}.{key}" if place else key) if RENAMED else None
    new = key if row is None else row.new.rpartition(".")[2]
    if row is None or new in present:
        return key
    tell(row)
    return new
