"""The commands of a verify task: one, or an `&&` list whose steps we run one after the other, without a shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import PurePath

from phase_gate.shell_text import ShellTextError, Word, is_redirection, split_shell
from phase_gate.verification.spec import TaskSpec

#: Characters; what is longer belongs into a script.
MAX_LENGTH = 10_000
#: Words that begin something else than a command, or that change what the rest means.
_KEYWORDS = frozenset({"{", "[[", "case", "for", "function", "if", "select", "trap", "until", "while"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?", re.IGNORECASE)


class NeedsScriptError(Exception):
    """The sign of a text that is more than one command or an `&&` list."""


def read_commands(text: str) -> list[tuple[Word, ...]]:
    """Return the commands of an `&&` list, each as its words. Raises ShellTextError and NeedsScriptError."""
    if len(text) > MAX_LENGTH:
        raise ShellTextError(f"it has more than {MAX_LENGTH} characters")
    commands: list[list[Word]] = [[]]
    for token in split_shell(text.strip()):
        if token == "&&":
            commands.append([])
        elif isinstance(token, Word):
            if not commands[-1] and token.text in _KEYWORDS and not token.is_quoted:
                raise NeedsScriptError(token.text)
            if not token.is_literal and ("$(" in token.text or "`" in token.text):
                raise NeedsScriptError("$(…)")
            commands[-1].append(token)
        elif token != "\n" or commands[-1]:
            raise NeedsScriptError(_show_sign(token))
    if not all(commands):
        raise ShellTextError("a command is missing" if len(commands) == 1 else "a command is missing beside `&&`")
    return [tuple(words) for words in commands]


def _show_sign(operator: str) -> str:
    if operator == "\n":
        return "a line end"
    if not is_redirection(operator):
        return operator
    return "<<" if "<<" in operator and "<<<" not in operator else ">"


def steps_of(spec: TaskSpec) -> tuple[str, ...]:
    """Return what is run, one after the other. Where the task asks for a shell, that gets the whole."""
    if spec.shell:
        return (spec.verify,)
    try:
        commands = read_commands(spec.verify)
    except (ShellTextError, NeedsScriptError):
        return (spec.verify,)  # taken by an earlier version: its run will tell
    if len(commands) == 1:
        return (spec.verify,)
    return tuple(shlex.join(word.text for word in words) for words in commands)


def find_missing_program(spec: TaskSpec, environment: Mapping[str, str]) -> str:
    """Return the first program that is not there; empty if each is, or only the run can tell.

    A shell has words of its own, and a path in the project may be work of this task or of an earlier one.
    """
    if spec.shell:
        return ""
    for step in steps_of(spec):
        program = _words(step)[0]
        is_ours = re.search(r"[/\\]", program) is not None and not os.path.isabs(program)
        if not is_ours and shutil.which(program, path=environment.get("PATH", os.defpath)) is None:
            return program
    return ""


def pytest_arguments(spec: TaskSpec) -> list[str] | None:
    """Return the words of the one step that is a call of pytest; None where there is none, or more than one."""
    if spec.shell:
        return None
    found = [words for words in map(_words, steps_of(spec)) if _is_pytest(words)]
    return found[0] if len(found) == 1 else None


def _is_pytest(words: list[str]) -> bool:
    name = PurePath(words[0].replace("\\", "/")).name
    if name in ("pytest", "py.test", "pytest.exe"):
        return True
    return _PYTHON.fullmatch(name) is not None and words[1:3] == ["-m", "pytest"]


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command) or [""]
    except ValueError:
        return [command]
