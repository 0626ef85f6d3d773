"""Parse the text of a condition into a tree, or report where and why that fails; and check the types in it.

    condition   = conjunction { OR conjunction }
    conjunction = negation { AND negation }
    negation    = NOT negation | "(" condition ")" | clause
    clause      = operand compare operand | name | "true" | "false"
    compare     = "==" | "!=" | "<" | "<=" | ">" | ">="
    operand     = name | integer | float | text | "true" | "false"

Words are case-insensitive. Text is quoted with '...' or "...", in one line, without escapes. Spaces and line breaks are
ignored. Recursive descent with one token of lookahead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

from phase_gate.errors import ConditionError
from phase_gate.workflow.conditions import (
    ORDERED,
    PARTNERS,
    TYPE_NAMES,
    clauses_in,
    find_mismatch,
    is_name,
    join,
    render,
    render_value,
    tree_of,
)

if TYPE_CHECKING:
    from phase_gate.workflow.conditions import Node
    from phase_gate.workflow.metrics import MetricType, MetricValue

#: In characters: forty times the length of a real condition, and less than Python refuses as one number.
MAX_LENGTH = 4_000
#: Nested parentheses and NOTs: more are unreadable. Python's stack allows many times that.
MAX_DEPTH = 32
#: In characters: the part of a word that a message shows.
_MAX_SHOWN = 30

_TOKEN = re.compile(
    r"[ \t\r\n]*(?:"
    r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>-?[0-9](?:[eE][+-][0-9]|[0-9A-Za-z_.])*)"  # broad, so that 0x1F and 1.2.3 are one invalid number
    r"|(?P<operator>[=!<>]=|[<>])"
    r"|(?P<open>\()|(?P<close>\))"
    r"""|(?P<text>"[^"\n]*"|'[^'\n]*')"""
    r"|(?P<end>\Z)|(?P<wrong>.))"
)
_BOOLEANS = {"true": True, "false": False}
#: Reserved words, matched in any case, with the kinds of their tokens.
_WORDS = {"and": "AND", "or": "OR", "not": "NOT", **dict.fromkeys(_BOOLEANS, "boolean")}
_SPACE = " \t\r\n"

#: Alternative names that conditions may use, and the metrics that they mean.
ALIASES = {"no_improvements_found": "no_more_improvements_identified"}

#: Problems and remedies.
_NO_ARITHMETIC = (
    "a condition can't calculate",
    "compare plain names and values; a calculated value needs a metric of its own",
)
_WRONG_CHARACTERS = {
    "=": ("= is not an operator", "write == to compare; in >= and <= the = comes last"),
    "&": ("& is not an operator", "write AND"),
    "|": ("| is not an operator", "write OR"),
    "!": ("! is not an operator", "write NOT"),
    ".": ("a name has no parts, and a number starts with a digit", "use a plain name, or write 0.5 for .5"),
    '"': ("this text has no end", 'close it with " in the same line'),
    "'": ("this text has no end", "close it with ' in the same line"),
    **dict.fromkeys("+-*/%", _NO_ARITHMETIC),
}
_NO_MEANING = "remove it: there are names, numbers, quoted text, AND OR NOT, == != < <= > >= and parentheses"


def normalize(source: str) -> str:
    """Return the canonical text of a condition, in one line. Raises ConditionError with the place of a syntax error."""
    if len(source) > MAX_LENGTH:
        problem = f"the condition has {len(source)} characters, more than {MAX_LENGTH}"
        raise ConditionError(problem, "shorten it, or split it into guards")
    return render(parse_tree(source))


def conjoin(one: str, other: str) -> str:
    """Return the condition that both hold."""
    return render(join("AND", (tree_of(one), tree_of(other))))


def parse_tree(text: str) -> Node:
    """Return the tree of a condition's text. Raises ConditionError with the place of a syntax error."""
    return _Parser(text).parse()


class _Parser:
    """Parses one condition. Each method consumes the construct in its name."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = _TOKEN.finditer(source.rstrip(_SPACE))
        self._advance()

    def parse(self) -> Node:
        if self._kind == "end":
            raise self._error("the condition is empty", "write at least one clause, such as: tests_failing == 0")
        tree = self._junction("OR", 0)
        if self._kind == "close":
            raise self._error("this ) has no matching (", "remove it, or add the missing (")
        if self._kind != "end":
            raise self._not_joined()
        return tree

    def _junction(self, word: str, depth: int) -> Node:
        """Consume a condition, or a conjunction."""
        parts: list[Node] = []
        while not parts or self._kind == word:
            if parts:
                self._advance()
            parts.append(self._junction("AND", depth) if word == "OR" else self._negation(depth))
        return join(word, parts)

    def _negation(self, depth: int) -> Node:
        if self._kind not in ("NOT", "open"):
            return self._clause()
        if depth == MAX_DEPTH:
            problem = f"parentheses and NOT are nested more than {MAX_DEPTH} deep"
            raise self._error(problem, "write the condition with fewer")
        is_not, offset = self._kind == "NOT", self._offset
        self._advance()
        if is_not:
            return ["NOT", self._negation(depth + 1)]
        inner = self._junction("OR", depth + 1)
        if self._kind == "end":
            raise self._error("this ( is never closed", "add the missing )", offset)
        if self._kind != "close":
            raise self._not_joined()
        self._advance()
        if self._kind == "operator":
            raise self._error(
                "an expression in parentheses can't be compared",
                "remove the parentheses around a single name or value; for a group write (...) or NOT (...) alone",
            )
        return inner

    def _clause(self) -> Node:
        text, offset = self._text, self._offset
        left = self._operand()
        if self._kind != "operator":
            if not is_name(left) and not isinstance(left, bool):
                raise self._error(f"{text} is not a condition by itself", f"compare it: name == {text}", offset)
            return [left]
        sign = self._text
        self._advance()
        right = self._operand()
        if self._kind == "operator":
            raise self._error("comparisons can't be chained", "write two comparisons with AND between them")
        return [left, sign, right]

    def _operand(self) -> MetricValue:
        kind, text, offset = self._kind, self._text, self._offset
        if kind not in ("name", "number", "text", "boolean"):
            raise self._expected("a name or a value", "write a name, a number, a quoted text, true or false here")
        self._advance()
        if kind == "name":
            if self._kind == "open":
                raise self._error(f"{text} can't be called", "use a plain name")
            return ALIASES.get(text, text)
        if kind == "number":
            return self._number(text, offset)
        return _BOOLEANS[text.lower()] if kind == "boolean" else self._quoted(text, offset)

    def _number(self, text: str, offset: int) -> int | float:
        if text.lstrip("-").isdigit():
            return int(text)
        if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
            raise self._error(f"{text} is not a number", "write it in decimal, as in 12, -3, 0.5 or 1e6", offset)
        if not isfinite(value := float(text)):
            raise self._error(f"{text} is too large", "write a number between -1.7e308 and 1.7e308", offset)
        return value

    def _quoted(self, text: str, offset: int) -> str:
        for place, character in enumerate(text, offset):
            if not character.isprintable():
                # What cannot be seen in the file, or steers a terminal, has no place in a rule.
                raise self._error(f"the invisible character U+{ord(character):04X} is in a text", "remove it", place)
        return render_value(text[1:-1])

    def _advance(self) -> None:
        """Move to the next token. An invalid character is an error only here, so that the first fault is reported."""
        found = next(self._tokens)
        kind = found.lastgroup or ""
        self._text, self._offset = found[kind], found.start(kind)
        self._kind = _WORDS.get(self._text.lower(), kind)
        if kind == "wrong":
            shown = self._text if self._text.isprintable() else f"U+{ord(self._text):04X}"
            usual = (f"{shown} has no meaning in a condition", _NO_MEANING)
            raise self._error(*_WRONG_CHARACTERS.get(self._text, usual))

    def _not_joined(self) -> ConditionError:
        if self._kind == "number" and self._text.startswith("-"):
            return self._error(*_NO_ARITHMETIC)
        if self._kind == "NOT":
            return self._error("NOT must come before a name or value", "write NOT before it, as in: NOT name == 1")
        return self._expected("AND or OR", "put AND or OR between two clauses, and an operator between two values")

    def _expected(self, what: str, remedy: str) -> ConditionError:
        shown = self._text if len(self._text) <= _MAX_SHOWN else f"{self._text[:_MAX_SHOWN]}..."
        found = "the condition ends" if self._kind == "end" else f"there is {shown}"
        return self._error(f"{found} where {what} should be", remedy)

    def _error(self, problem: str, remedy: str, offset: int | None = None) -> ConditionError:
        """Return the error for an offset, by default of the next token. Its problem begins with the line and column."""
        offset = self._offset if offset is None else offset
        line, column = self._source.count("\n", 0, offset) + 1, offset - self._source.rfind("\n", 0, offset)
        has_lines = "\n" in self._source.rstrip(_SPACE)
        return ConditionError(f"{f'line {line}, ' if has_lines else ''}column {column}: {problem}", remedy)


# --- type checks


def check_types(condition: str, types: Mapping[str, MetricType]) -> None:
    """Raise ConditionError if incompatible types are compared. `types` has to contain all names."""

    def type_of(operand: MetricValue) -> str:
        return types[operand] if is_name(operand) else TYPE_NAMES[type(operand)]

    for _, leaf in clauses_in(tree_of(condition)):
        text, left = render(leaf), type_of(leaf[0])
        if len(leaf) == 1:
            if left != "bool":
                example = '== "..."' if left == "text" else "> 0"
                problem = f"{text} is {left}, not bool, and not a condition by itself"
                raise ConditionError(problem, f"compare it: {text} {example}")
        elif mismatch := find_mismatch(left, leaf[1], type_of(leaf[2])):
            # The remedy keeps the name, whose type is given: the user can change the literal.
            subject = leaf[0] if is_name(leaf[0]) else leaf[2]
            order = "" if (kind := type_of(subject)) in ORDERED else " by == or !="
            shown = render([subject])
            raise ConditionError(f"{mismatch}: {text}", f"compare {shown} with {PARTNERS[kind]}{order}")
