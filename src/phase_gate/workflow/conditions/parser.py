"""Make the tree of a condition from its text, or say where and why that can't be done.

Recursive descent, one token ahead. What a tree means is decided in `conditions`, where the grammar stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from math import isfinite

from phase_gate.errors import ConditionError
from phase_gate.values import Value
from phase_gate.workflow.conditions.tree import SPACE, WORDS, Group, Leaf, Node, Operand, error_at, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.workflow.metrics import MetricValue

#: In characters, as written and in canonical form: a hundred times a real condition, and still parsed at once.
MAX_LENGTH = 10_000
#: Parentheses and NOTs around one clause: deeper ones are unreadable, and Python's stack holds many times that.
MAX_DEPTH = 32
#: Each clause is a line of the report: more than this is a generated text, and a mistake.
MAX_CLAUSES = 500
#: In characters: any 64-bit integer and any float written out in full has fewer.
MAX_NUMBER_LENGTH = 30

#: Problem and remedy, for several ways to get there.
_NO_ARITHMETIC = (
    "a condition can't calculate",
    "compare plain names and values, and give what must be calculated a name of its own",
)

_TOKEN = (
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>-?[0-9](?:[eE][+-][0-9]|[0-9A-Za-z_.])*)"  # wide, so that 0x1F and 1.2.3 are one wrong number
    r"|(?P<operator>[=!<>]=|[<>])"
    r"|(?P<symbol>&&|\|\||[!()\[\],])"
    r"""|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
)
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
    **dict.fromkeys("+-*/%", _NO_ARITHMETIC),
}

_VALUES = ("number", "text", "literal")
_COMPARISONS = ("operator", "in")


def parse_tree(text: str) -> Node:
    """Return the tree of a condition's text."""
    if len(text) > MAX_LENGTH:
        raise error_at(
            text,
            MAX_LENGTH,
            f"the condition has {len(text)} characters, more than {MAX_LENGTH}",
            "shorten it, or split it into guards",
        )
    return _Parser(text).parse()


class _Parser:
    """Reads one condition. Each method takes what it is named after, and leaves the token behind it in `_next`."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = _tokenize(source)
        self._next = next(self._tokens)
        self._clauses = 0

    def parse(self) -> Node:
        if self._next.kind == "end":
            raise self._error("the condition is empty", "write at least one clause, such as: tests_failing == 0")
        tree = self._disjunction(0)
        if self._next.kind == ")":
            raise self._error("this ) closes nothing", "remove it, or put a ( before what it should close")
        if self._next.kind != "end":
            raise self._not_joined()
        return tree

    def _disjunction(self, depth: int) -> Node:
        parts = [self._conjunction(depth)]
        while self._next.kind == "OR":
            self._take()
            parts.append(self._conjunction(depth))
        return join("OR", parts)

    def _conjunction(self, depth: int) -> Node:
        parts = [self._negation(depth)]
        while self._next.kind == "AND":
            self._take()
            parts.append(self._negation(depth))
        return join("AND", parts)

    def _negation(self, depth: int, *, is_after_mark: bool = False) -> Node:
        if self._next.kind == "NOT":
            word = self._take()
            return Group("NOT", (self._negation(self._deeper(depth, word), is_after_mark=word.text == "!"),))
        if self._next.kind == "(":
            return self._parenthesis(depth)
        return self._clause(is_after_mark=is_after_mark)

    def _parenthesis(self, depth: int) -> Node:
        opening = self._take()
        inner = self._disjunction(self._deeper(depth, opening))
        if self._next.kind == "end":
            raise self._error("this ( is never closed", "add the missing )", opening)
        if self._next.kind != ")":
            raise self._not_joined()
        self._take()
        if self._next.kind in _COMPARISONS:
            raise self._error(
                "what stands in parentheses can't be compared",
                "remove the parentheses around a single name or value; for a group write (...) or NOT (...) alone",
            )
        return inner

    def _clause(self, *, is_after_mark: bool) -> Leaf:
        start = self._next
        self._clauses += 1
        if self._clauses > MAX_CLAUSES:
            raise self._error(f"there are more than {MAX_CLAUSES} clauses", "split the condition into guards")
        left = self._operand()
        if self._next.kind not in _COMPARISONS:
            if not left.name and not isinstance(left.value, bool):
                raise self._error(f"{start} is no condition by itself", f"compare it: name == {start}", start)
            return Leaf(left)
        operator = self._take()
        if is_after_mark:
            # CEL reads (!a) == b, most people !(a == b). Where the two differ, a gate must not guess.
            raise self._error(
                "! before a comparison can be read in two ways",
                f"write NOT {start} {operator} ..., or put the comparison in parentheses",
                operator,
            )
        right = self._choices() if operator.kind == "in" else (self._operand(),)
        if self._next.kind in _COMPARISONS:
            raise self._error("comparisons can't be chained", "write two comparisons with AND between them")
        return Leaf(left, operator.text.lower(), right)

    def _choices(self) -> tuple[Operand, ...]:
        if self._next.kind != "[":
            raise self._expected("[ after in", "put the values in brackets: in [1, 2]")
        self._take()
        choices: list[Operand] = []
        while not choices or self._next.kind == ",":
            if choices:
                self._take()
            if self._next.kind == "name":
                raise self._error("a list holds values, not names", "compare with the name by == and join with OR")
            if self._next.kind not in _VALUES:
                raise self._expected("a value", "write a number, a quoted text, true, false or null here")
            choices.append(self._operand())
        if self._next.kind != "]":
            raise self._expected(", or ]", "put commas between the values and a ] behind the last one")
        self._take()
        return tuple(choices)

    def _operand(self) -> Operand:
        token = self._next
        if token.kind == "name":
            self._take()
            if self._next.kind in ("(", "["):
                raise self._error(f"{token} can't be called or indexed", "use a plain name")
            return Operand(token.text, None, token.offset)
        if token.kind not in _VALUES:
            raise self._expected("a name or a value", "write a name, a number, a quoted text, true, false or null here")
        value = _read_value(self._source, token)
        self._take()
        return Operand("", value, token.offset)

    def _take(self) -> _Token:
        token, self._next = self._next, next(self._tokens)
        return token

    def _deeper(self, depth: int, token: _Token) -> int:
        if depth >= MAX_DEPTH:
            raise self._error(
                f"parentheses and NOT are nested more than {MAX_DEPTH} deep", "write the condition with fewer", token
            )
        return depth + 1

    def _not_joined(self) -> ConditionError:
        if self._next.kind == "number" and self._next.text.startswith("-"):
            return self._error(*_NO_ARITHMETIC)
        if self._next.kind == "NOT":
            return self._error("NOT stands behind a name or value", "write NOT before it, as in: NOT name in [1, 2]")
        return self._expected("AND or OR", "put AND or OR between two clauses, and an operator between two values")

    def _expected(self, what: str, remedy: str) -> ConditionError:
        found = "the condition ends" if self._next.kind == "end" else f"there is {self._next}"
        return self._error(f"{found} where {what} should be", remedy)

    def _error(self, problem: str, remedy: str, token: _Token | None = None) -> ConditionError:
        return error_at(self._source, (token or self._next).offset, problem, remedy)


# --- how things are spelled, in whatever order they stand


@cache
def _tokens() -> re.Pattern[str]:
    # Rules that were read before are stored with their conditions: most processes parse none.
    return re.compile(_TOKEN)


class _Token(Value, kw_only=False):
    #: name, number, text, literal, operator, in, AND, OR, NOT, a bracket or comma itself, or end.
    kind: str
    text: str
    offset: int

    def __str__(self) -> str:
        return self.text if len(self.text) <= MAX_NUMBER_LENGTH else f"{self.text[:MAX_NUMBER_LENGTH]}..."


def _tokenize(source: str) -> Iterator[_Token]:
    """Yield the tokens one by one, so that the first fault in the text is the one that is told; the last is `end`."""
    offset, end = 0, len(source.rstrip(SPACE))
    while offset < end:
        match = _tokens().match(source, offset)
        if match is None:
            raise _wrong_character(source, offset)
        kind, text = match.lastgroup or "", match.group()
        if kind == "name":
            kind = WORDS.get(text.lower(), kind)
        elif kind == "symbol":
            kind = _SYMBOLS.get(text, text)
        if kind != "space":
            yield _Token(kind, text, offset)
        offset = match.end()
    yield _Token("end", "", end)


def _read_value(source: str, token: _Token) -> MetricValue:
    """Return the value of a number, text or literal."""
    if token.kind == "number":
        return _read_number(source, token)
    return _read_text(source, token) if token.kind == "text" else _LITERALS[token.text.lower()]


def _read_number(source: str, token: _Token) -> int | float:
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


def _read_text(source: str, token: _Token) -> str:
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
