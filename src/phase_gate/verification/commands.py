"""The commands of a verify task: one, or an `&&` list whose steps we run one after the other, without a shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import PurePath

from phase_gate.verification.spec import TaskSpec

#: Characters; what is longer belongs into a script.
MAX_LENGTH = 10_000
#: What is quoted means itself.
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
#: Signs in which a failure can get lost: pipes, lists, redirections, brackets, comments, what a shell puts in.
_SIGN = re.compile(r"\|\|?|[;&<>()`\n]|\$\(|(?<!\S)#")
#: Words that begin something else than a command, or that change what the rest means.
_KEYWORDS = frozenset(
    {"{", "[[", "case", "eval", "exec", "exit", "for", "function", "if", "return", "select", "trap", "until", "while"}
)
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?", re.IGNORECASE)


class CommandTextError(Exception):
    """Why a text is no command or `&&` list that could be run; `slug` is the linter's."""

    def __init__(self, slug: str, problem: str) -> None:
        super().__init__(problem)
        self.slug = slug


def read_commands(text: str) -> list[list[str]]:
    """Return the commands of an `&&` list, each as its words. Raises CommandTextError."""
    if len(text) > MAX_LENGTH:
        raise CommandTextError("not-readable", f"it has more than {MAX_LENGTH} characters")
    text = text.strip()
    masked = _QUOTED.sub(_mask, text)
    ends = [found.span() for found in re.finditer("&&", masked)]
    commands = []
    for start, end in zip((0, *(end for _, end in ends)), (*(start for start, _ in ends), len(text)), strict=True):
        if (sign := _SIGN.search(masked, start, end)) is not None:
            raise _needs_script("a line end" if sign.group() == "\n" else sign.group())
        commands.append(_read_words(text[start:end]))
    return commands


def _mask(found: re.Match[str]) -> str:
    # A shell puts something in between double quotes, too.
    text = found.group()
    return text if text[0] == '"' and ("$(" in text or "`" in text) else "_" * len(text)


def _read_words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        raise CommandTextError("not-readable", "a quote is never closed: write it as you would type it") from None
    if not words:
        raise CommandTextError("not-readable", "a command is missing: write it as you would type it")
    if words[0] in _KEYWORDS:
        raise _needs_script(words[0])
    if PurePath(words[0]).name in _SHELLS and any(re.fullmatch("-[a-z]*c", word) for word in words):
        raise _needs_script("sh -c")
    return words


def _needs_script(sign: str) -> CommandTextError:
    text = f"{sign!r} is more than one command or an && list, and a failure could get lost in it"
    return CommandTextError("needs-script", text)


def steps_of(spec: TaskSpec) -> tuple[str, ...]:
    """Return what is run, one after the other. Where the task asks for a shell, that gets the whole."""
    if spec.shell:
        return (spec.verify,)
    try:
        commands = read_commands(spec.verify)
    except CommandTextError:
        return (spec.verify,)  # taken by an earlier version: its run will tell
    if len(commands) == 1:
        return (spec.verify,)
    return tuple(shlex.join(words) for words in commands)


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
