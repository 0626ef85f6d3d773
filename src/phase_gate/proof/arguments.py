"""What pytest is called with in a sandbox: what was typed in RED, as far as the tests may need it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from phase_gate.task import Task


def parse_options(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return pytest's options as they were in RED, from the settings that the freeze has."""
    options: list[str] = []
    if settings.get("option -c"):
        options += ["-c", settings["option -c"]]
    for flag in ("-o", "-W"):
        text = settings.get(f"option {flag}", "")
        values = ast.literal_eval(text) if text.startswith("[") else []
        options += [word for value in values for word in (flag, str(value))]
    if settings.get("option --import-mode"):
        options.append(f"--import-mode={settings['option --import-mode']}")
    options += [flag for flag in ("--noconftest", "--runxfail") if settings.get(f"option {flag}") == "True"]
    return tuple(options)


#: Ours: a run in a sandbox is no run of any task.
_OURS = ("--phase", "--exit-signal")


def keep_words(arguments: Iterable[str]) -> tuple[str, ...]:
    """Return what was typed in RED without files and our own options.

    A word after an option may be its value or a file: it stays. A file too many does no harm, since only targets run.
    """
    found: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        value = waiting.pop(0) if waiting and word.startswith("-") and not waiting[0].startswith("-") else None
        name = value if word == "-p" else word.removeprefix("-p")
        is_ours = word.startswith(_OURS) or (name or "").startswith("phase_gate.")
        if word.startswith("-") and word != "--" and not is_ours:
            found += [word] if value is None else [word, value]
    return tuple(found)


def words_of_red(task: Task) -> tuple[str, ...]:
    """Return what was typed for the last run of RED, as far as the tests may need it."""
    phases = {each.name for each in task.rules.phases if each.tests == "failing"}
    words: tuple[str, ...] = ()
    for line in task.store.lines():
        data = line.event.data
        if line.event.kind == "run-started" and data["phase"] in phases and not data["nested"]:
            words = keep_words(map(str, data.get("arguments", ())))
    return words
