"""Read the commands that a task may ask for: one, or an `&&` list. Pure: nothing is expanded, nothing is run."""

from __future__ import annotations

from phase_gate.shell_text import ShellTextError, Word, is_redirection, split_shell

#: Characters; what is longer belongs into a script.
MAX_LENGTH = 10_000
#: Words that begin something else than a command, or that change what the rest means.
_KEYWORDS = frozenset({"{", "[[", "case", "for", "function", "if", "select", "trap", "until", "while"})


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
