"""The commands of a verify task, as we run them: the steps of an `&&` list one after the other, without a shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import PurePath

from phase_gate.shell_text import ShellTextError
from phase_gate.verification.lint.shell import NeedsScriptError, read_commands
from phase_gate.verification.spec import TaskSpec

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?", re.IGNORECASE)


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
