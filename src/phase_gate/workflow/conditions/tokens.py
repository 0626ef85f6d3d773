"""Cut the text of a condition into tokens, and read the values that they spell.

Knows how things are spelled, not in which order they may stand: that is `parser`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from math import isfinite

from phase_gate.errors import ConditionError
from phase_gate.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.workflow.metrics import MetricValue

#: In characters: any 64-bit integer and any float written out in full has fewer.
MAX_NUMBER_LENGTH = 30

#: Problem and remedy, for several ways to get there.
NO_ARITHMETIC = (
    "a condition can't calculate",
    "compare plain names and values, and give what must be calculated a name of its own",
)

_SPACE = " \t\r\n"
_TOKEN = (
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>-?[0-9](?:[eE][+-][0-9]|[0-9A-Za-z_.])*)"  # wide, so that 0x1F and 1.2.3 are one wrong number
    r"|(?P<operator>[=!<>]=|[<>])"
    r"|(?P<symbol>&&|\|\||[!()\[\],])"
    r"""|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
)
_WORDS = {"and": "AND", "or": "OR", "not": "NOT", "in": "in", "true": "literal", "false": "literal", "null": "literal"}
_OPERATORS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_SYMBOLS = {"&&": "AND", "||": "OR", "!": "NOT"}
_LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t"}
_WRONG_CHARACTERS = {
    "=": ("= is not an operator", "write == to compare; in >= and <= the = comes last"),
    "&": ("& is not an operator", "write AND"),
    "|": ("| is not an operator", "write OR"),
    ".": ("a name has no parts, and a number starts with a digit", "use a plain name, or write 0.5 for .5"),
    '"': ("this text has no end", 'close it with " in the same line, and write a line break as \\n'),
    "'": ("this text has no end", "close it with ' in the same line, and write a line break as \\n"),
    **dict.fromkeys("+-*/%", NO_ARITHMETIC),
}


@cache
def _tokens() -> re.Pattern[str]:
    # Rules that were read before are stored with their conditions: most processes parse none.
    return re.compile(_TOKEN)


class Token(NamedTuple):
    #: name, number, text, literal, operator, in, AND, OR, NOT, a bracket or comma itself, or end.
    kind: str
    text: str
    offset: int

    def __str__(self) -> str:
        return self.text if len(self.text) <= MAX_NUMBER_LENGTH else f"{self.text[:MAX_NUMBER_LENGTH]}..."


def error_at(source: str, offset: int, problem: str, remedy: str) -> ConditionError:
    """Return the error for a place in a source, which its problem names first."""
    line_start = source.rfind("\n", 0, offset) + 1
    where = f"column {offset - line_start + 1}"
    if "\n" in source.rstrip(_SPACE):
        line_number = source.count("\n", 0, offset) + 1
        where = f"line {line_number}, {where}"
    return ConditionError(f"{where}: {problem}", remedy)


def is_name(text: str) -> bool:
    """Whether a condition can speak of something by that name."""
    match = _tokens().fullmatch(text)
    return match is not None and match.lastgroup == "name" and text.lower() not in _WORDS


def tokenize(source: str) -> Iterator[Token]:
    """Yield the tokens one by one, so that the first fault in the text is the one that is told; the last is `end`."""
    offset, end = 0, len(source.rstrip(_SPACE))
    plain = _plain_tokens(source)
    if plain is not None:
        yield from plain
        offset = end
    while offset < end:
        match = _tokens().match(source, offset)
        if match is None:
            raise _wrong_character(source, offset)
        kind, text = match.lastgroup or "", match.group()
        if kind == "name":
            kind = _WORDS.get(text.lower(), kind)
        elif kind == "symbol":
            kind = _SYMBOLS.get(text, text)
        if kind != "space":
            yield Token(kind, text, offset)
        offset = match.end()
    yield Token("end", "", end)


def _plain_tokens(source: str) -> list[Token] | None:
    """Return the tokens of names, whole numbers and operators with one space between; None if there is anything else.

    Most conditions are no more than that, and to compile the pattern takes longer than to read all of a workflow's.
    """
    if not source.isascii():
        return None
    found, offset = [], 0
    for word in source.split(" "):
        if word.isidentifier():
            kind = _WORDS.get(word.lower(), "name")
        elif word.isdigit():
            kind = "number"
        elif word in _OPERATORS:
            kind = "operator"
        else:
            return None
        found.append(Token(kind, word, offset))
        offset += len(word) + 1
    return found


def read_value(source: str, token: Token) -> MetricValue:
    """Return the value of a number, text or literal."""
    if token.kind == "number":
        return _read_number(source, token)
    return _read_text(source, token) if token.kind == "text" else _LITERALS[token.text.lower()]


def _read_number(source: str, token: Token) -> int | float:
    text, offset = token.text, token.offset
    if len(text) > MAX_NUMBER_LENGTH:
        problem = f"the number has {len(text)} characters, more than {MAX_NUMBER_LENGTH}"
        raise error_at(source, offset, problem, "write fewer digits")
    if text.lstrip("-").isdigit():
        return int(text)
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
        raise error_at(source, offset, f"{text} is not a number", "write it in decimal, as in 12, -3, 0.5 or 1e6")
    value = float(text)
    if not isfinite(value):
        raise error_at(source, offset, f"{text} is too large", "write a number between -1.7e308 and 1.7e308")
    return value


def _read_text(source: str, token: Token) -> str:
    body = token.text[1:-1]
    if "\\" not in body and body.isprintable():
        return body
    value: list[str] = []
    characters = enumerate(body, token.offset + 1)
    for offset, character in characters:
        if character == "\\":
            escape = next(characters)[1]
            if escape not in _ESCAPES:
                remedy = r"write one of \\ \" \' \n \t; a backslash itself is \\"
                raise error_at(source, offset, "this escape is unknown", remedy)
            value.append(_ESCAPES[escape])
        elif character.isprintable():
            value.append(character)
        else:
            # What cannot be seen in the file, or steers a terminal, has no place in a rule.
            problem = f"the invisible character U+{ord(character):04X} stands in a text"
            raise error_at(source, offset, problem, r"remove it; a tab is written as \t")
    return "".join(value)


def _wrong_character(source: str, offset: int) -> ConditionError:
    character = source[offset]
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    problem, remedy = _WRONG_CHARACTERS.get(
        character,
        (
            f"{shown} has no meaning in a condition",
            "remove it: there are names, numbers, quoted text, AND OR NOT, == != < <= > >=, in [...] and parentheses",
        ),
    )
    return error_at(source, offset, problem, remedy)
