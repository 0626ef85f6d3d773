"""Split a command line into words and operators, as a shell would.

Pure. Nothing is expanded, nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from phase_gate.values import Value

#: The longest first.
_OPERATORS = ("&&", "||", ";;", ";", "|&", "|", "&", "(", ")", "\n")
_REDIRECTION = re.compile(r"[0-9]*(?:<<<|<<-?|>>|<>|[<>]&|>\||<|>)|&>>?")
_PLAIN = re.compile(r"[^\s'\"\\$`#&|;()<>]+")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


class ShellTextError(Exception):
    """A quote or a bracket that never closes, or a word in an impossible place."""


class Word(Value, kw_only=False):
    text: str
    #: False if a shell would put something else in its place.
    is_literal: bool = True
    #: True if quotes keep it from being a keyword or an operator.
    is_quoted: bool = False

    @property
    def is_prefix(self) -> bool:
        """Tell whether it sets a variable or negates, where it stands in front of a command."""
        return self.text == "!" or _ASSIGNMENT.match(self.text) is not None


#: A word, or an operator.
Token = Word | str


def is_redirection(operator: str) -> bool:
    """Tell whether an operator is followed by the file that it writes or reads."""
    return "<" in operator or ">" in operator


def split_shell(text: str) -> Iterator[Token]:
    """Yield words and operators, redirections as they are written. Raises ShellTextError where the text is broken."""
    at = 0
    while at < len(text):
        if text[at] in " \t\r":
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif text[at] == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif (found := _REDIRECTION.match(text, at)) is not None:
            yield found.group()
            at = found.end()
        elif (operator := next((each for each in _OPERATORS if text.startswith(each, at)), None)) is not None:
            yield operator
            at += len(operator)
        else:
            word, at = _read_word(text, at)
            yield word


def _read_word(text: str, at: int) -> tuple[Word, int]:
    pieces: list[str] = []
    is_literal, is_quoted = True, False
    while at < len(text):
        sign = text[at]
        if sign in " \t\r\n&|;()<>":
            break
        if sign == "'":
            end = _find(text, "'", at + 1)
            pieces.append(text[at + 1 : end])
            at, is_quoted = end + 1, True
        elif sign == '"':
            piece, at, inner = _read_quoted(text, at + 1)
            pieces.append(piece)
            is_literal, is_quoted = is_literal and inner, True
        elif sign == "\\":
            pieces.append("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2])
            at, is_quoted = at + 2, True
        elif sign in "$`":
            end = _skip_expansion(text, at)
            is_literal = is_literal and end == at + 1  # a dollar alone is one
            pieces.append(text[at:end])
            at = end
        else:
            plain = _PLAIN.match(text, at)
            end = at + 1 if plain is None else plain.end()
            pieces.append(text[at:end])
            at = end
    return Word("".join(pieces), is_literal, is_quoted), at


def _read_quoted(text: str, at: int) -> tuple[str, int, bool]:
    """Return what stands between double quotes, the place behind them, and whether it is literal."""
    pieces: list[str] = []
    is_literal = True
    while at < len(text):
        sign = text[at]
        if sign == '"':
            return "".join(pieces), at + 1, is_literal
        if sign == "\\" and text[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
            pieces.append(text[at + 1].replace("\n", ""))
            at += 2
        elif sign in "$`":
            end = _skip_expansion(text, at)
            is_literal = is_literal and end == at + 1
            pieces.append(text[at:end])
            at = end
        else:
            pieces.append(sign)
            at += 1
    raise ShellTextError("a quote is never closed")


def _skip_expansion(text: str, at: int) -> int:
    """Return the place behind `$name`, `${…}`, `$(…)` or a pair of backticks."""
    if text[at] == "`":
        return _find(text, "`", at + 1) + 1
    if text.startswith("${", at):
        return _find(text, "}", at + 2) + 1
    if not text.startswith("$(", at):
        found = _VARIABLE.match(text, at)
        return at + 1 if found is None else found.end()
    depth, quote, is_escaped = 0, "", False
    for place in range(at + 1, len(text)):
        sign = text[place]
        if is_escaped:
            is_escaped = False
        elif sign == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth == 0:
                return place + 1
    raise ShellTextError("a bracket is never closed")


def _find(text: str, sign: str, at: int) -> int:
    end = text.find(sign, at)
    if end < 0:
        raise ShellTextError("a quote is never closed" if sign in "'`" else "a bracket is never closed")
    return end
