"""Parse the text of a condition into a tree, with the position of any error; and write a tree as text.

Recursive descent, one token ahead. `conditions` has the grammar and the meaning of a tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from math import isfinite

from phase_gate.errors import ConditionError
from phase_gate.values import Literal, Value

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

_TOKEN = (
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>-?[0-9](?:[eE][+-][0-9]|[0-9A-Za-z_.])*)"  # wide, so that 0x1F and 1.2.3 are one wrong number
    r"|(?P<operator>[=!<>]=|[<>])"
    r"|(?P<symbol>&&|\|\||[!()\[\],])"
    r"""|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
)
#: What is no name, in any case, and what it is instead; the same for symbols.
_WORDS = {"and": "AND", "or": "OR", "not": "NOT", "in": "in", "true": "literal", "false": "literal", "null": "literal"}
_SYMBOLS = {"&&": "AND", "||": "OR", "!": "NOT"}
_LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t"}
_SPACE = " \t\r\n"
_VALUES = ("number", "text", "literal")
_COMPARISONS = ("operator", "in")

#: Other spellings in conditions, and their metrics.
ALIASES = {"no_improvements_found": "no_more_improvements_identified"}
#: Spellings of a whole condition. `all_diagrams_valid` with no diagram at all is not enough.
ALIAS_CONDITIONS = {"all_diagrams_valid": "(diagrams_total > 0 AND diagrams_valid == diagrams_total)"}

#: Problems and remedies.
_NO_ARITHMETIC = (
    "a condition can't calculate",
    "compare plain names and values, and give what must be calculated a name of its own",
)
_WRONG_CHARACTERS = {
    "=": ("= is not an operator", "write == to compare; in >= and <= the = comes last"),
    "&": ("& is not an operator", "write AND"),
    "|": ("| is not an operator", "write OR"),
    ".": ("a name has no parts, and a number starts with a digit", "use a plain name, or write 0.5 for .5"),
    '"': ("this text has no end", 'close it with " in the same line, and write a line break as \\n'),
    "'": ("this text has no end", "close it with ' in the same line, and write a line break as \\n"),
    **dict.fromkeys("+-*/%", _NO_ARITHMETIC),
}
_NO_MEANING = "remove it: there are names, numbers, quoted text, AND OR NOT, == != < <= > >=, in [...] and parentheses"


class Operand(Value, kw_only=False):
    """A name, or a literal value where `name` is empty; `offset` is where the source has it."""

    name: str
    value: MetricValue
    offset: int


class Leaf(Value, kw_only=False):
    """One comparison; without an operator, a boolean name."""

    left: Operand
    operator: str = ""
    #: One operand; after `in` one or more literals; none without an operator.
    right: tuple[Operand, ...] = ()


Word = Literal["AND", "OR", "NOT"]


class Group(Value, kw_only=False):
    """Parts joined by a word: two or more for AND and OR, one for NOT."""

    word: Word
    parts: tuple[Leaf | Group, ...]


Node = Leaf | Group


def join(word: Word, parts: Iterable[Node]) -> Node:
    """Return the parts joined by AND or OR; parts that are joined by the same word become one group."""
    flat: list[Node] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Group) and part.word == word else (part,))
    return flat[0] if len(flat) == 1 else Group(word, tuple(flat))


def error_at(source: str, offset: int, problem: str, remedy: str) -> ConditionError:
    """Return the error for a place in a source, which its problem names first."""
    line, column = source.count("\n", 0, offset) + 1, offset - source.rfind("\n", 0, offset)
    has_lines = "\n" in source.rstrip(_SPACE)
    return ConditionError(f"{f'line {line}, ' if has_lines else ''}column {column}: {problem}", remedy)


# --- from text to tree


def parse_tree(text: str) -> Node:
    """Return the tree of a condition's text."""
    if len(text) > MAX_LENGTH:
        problem = f"the condition has {len(text)} characters, more than {MAX_LENGTH}"
        raise error_at(text, MAX_LENGTH, problem, "shorten it, or split it into guards")
    return _Parser(text).parse()


class _Token(Value, kw_only=False):
    #: name, number, text, literal, operator, in, AND, OR, NOT, a bracket or comma itself, or end.
    kind: str
    text: str
    offset: int

    def __str__(self) -> str:
        return self.text if len(self.text) <= MAX_NUMBER_LENGTH else f"{self.text[:MAX_NUMBER_LENGTH]}..."


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

    def _negation(self, depth: int, mark: str = "") -> Node:
        if self._next.kind not in ("NOT", "("):
            return self._clause(mark)
        if depth == MAX_DEPTH:
            problem = f"parentheses and NOT are nested more than {MAX_DEPTH} deep"
            raise self._error(problem, "write the condition with fewer")
        token = self._take()
        if token.kind == "NOT":
            return Group("NOT", (self._negation(depth + 1, token.text),))
        inner = self._disjunction(depth + 1)
        if self._next.kind == "end":
            raise self._error("this ( is never closed", "add the missing )", token)
        if self._next.kind != ")":
            raise self._not_joined()
        self._take()
        if self._next.kind in _COMPARISONS:
            raise self._error(
                "an expression in parentheses can't be compared",
                "remove the parentheses around a single name or value; for a group write (...) or NOT (...) alone",
            )
        return inner

    def _clause(self, mark: str) -> Node:
        """Take a comparison; `mark` is how NOT was written right before it."""
        start = self._next
        self._clauses += 1
        if self._clauses > MAX_CLAUSES:
            raise self._error(f"there are more than {MAX_CLAUSES} clauses", "split the condition into guards")
        if start.text in ALIAS_CONDITIONS and start.kind == "name":
            return self._whole_condition(self._take())
        left = self._operand()
        if self._next.kind not in _COMPARISONS:
            if not left.name and not isinstance(left.value, bool):
                raise self._error(f"{start} is no condition by itself", f"compare it: name == {start}", start)
            return Leaf(left)
        operator = self._take()
        if mark == "!":
            # CEL reads (!a) == b, most people !(a == b). Where the two differ, a gate must not guess.
            problem = "! before a comparison can be read in two ways"
            raise self._error(
                problem, f"write NOT {start} {operator} ..., or put the comparison in parentheses", operator
            )
        right = self._choices() if operator.kind == "in" else (self._operand(),)
        if self._next.kind in _COMPARISONS:
            raise self._error("comparisons can't be chained", "write two comparisons with AND between them")
        return Leaf(left, operator.text.lower(), right)

    def _whole_condition(self, alias: _Token) -> Node:
        """Return the condition of an alias, which may be compared with true or false."""
        tree = parse_tree(ALIAS_CONDITIONS[alias.text])
        if self._next.kind not in _COMPARISONS:
            return tree
        sign = self._take().text
        value = _LITERALS.get(self._take().text.lower())
        if sign not in ("==", "!=") or value is None:
            raise self._no_operand(alias)
        return tree if value is (sign == "==") else Group("NOT", (tree,))

    def _no_operand(self, alias: _Token) -> ConditionError:
        problem = f"{alias} is a whole condition and can only be true or false"
        return self._error(problem, f"write {alias} or NOT {alias}, without a comparison", alias)

    def _choices(self) -> tuple[Operand, ...]:
        if self._next.kind != "[":
            raise self._expected("[ after in", "put the values in brackets: in [1, 2]")
        choices: list[Operand] = []
        while not choices or self._next.kind == ",":
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
            if token.text in ALIAS_CONDITIONS:
                raise self._no_operand(token)
            self._take()
            if self._next.kind in ("(", "["):
                raise self._error(f"{token} can't be called or indexed", "use a plain name")
            return Operand(ALIASES.get(token.text, token.text), None, token.offset)
        if token.kind not in _VALUES:
            raise self._expected("a name or a value", "write a name, a number, a quoted text, true, false or null here")
        read = {"number": self._number, "text": self._text}.get(token.kind)
        value = read(token) if read else _LITERALS[token.text.lower()]
        self._take()
        return Operand("", value, token.offset)

    def _number(self, token: _Token) -> int | float:
        text = token.text
        if len(text) > MAX_NUMBER_LENGTH:
            problem = f"the number has {len(text)} characters, more than {MAX_NUMBER_LENGTH}"
            raise self._error(problem, "write fewer digits")
        if text.lstrip("-").isdigit():
            return int(text)
        if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
            raise self._error(f"{text} is not a number", "write it in decimal, as in 12, -3, 0.5 or 1e6")
        if not isfinite(value := float(text)):
            raise self._error(f"{text} is too large", "write a number between -1.7e308 and 1.7e308")
        return value

    def _text(self, token: _Token) -> str:
        body, start = token.text[1:-1], token.offset + 1
        for found in re.finditer(r"\\(.)", body):
            if found[1] not in _ESCAPES:
                remedy = r"write one of \\ \" \' \n \t; a backslash itself is \\"
                raise error_at(self._source, start + found.start(), "this escape is unknown", remedy)
        for offset, character in enumerate(body, start):
            if not character.isprintable():
                # What cannot be seen in the file, or steers a terminal, has no place in a rule.
                problem = f"the invisible character U+{ord(character):04X} is in a text"
                raise error_at(self._source, offset, problem, r"remove it; a tab is written as \t")
        return re.sub(r"\\(.)", lambda found: _ESCAPES[found[1]], body)

    def _take(self) -> _Token:
        token, self._next = self._next, next(self._tokens)
        return token

    def _not_joined(self) -> ConditionError:
        if self._next.kind == "number" and self._next.text.startswith("-"):
            return self._error(*_NO_ARITHMETIC)
        if self._next.kind == "NOT":
            return self._error("NOT must come before a name or value", "write NOT before it, as in: NOT name in [1, 2]")
        return self._expected("AND or OR", "put AND or OR between two clauses, and an operator between two values")

    def _expected(self, what: str, remedy: str) -> ConditionError:
        found = "the condition ends" if self._next.kind == "end" else f"there is {self._next}"
        return self._error(f"{found} where {what} should be", remedy)

    def _error(self, problem: str, remedy: str, token: _Token | None = None) -> ConditionError:
        return error_at(self._source, (token or self._next).offset, problem, remedy)


@cache
def _token_pattern() -> re.Pattern[str]:
    # Rules that were read before are stored with their conditions: most processes parse none.
    return re.compile(_TOKEN)


def _tokenize(source: str) -> Iterator[_Token]:
    """Yield the tokens one by one, so that the first error in the text is reported; the last token is `end`."""
    offset, end = 0, len(source.rstrip(_SPACE))
    while offset < end:
        match = _token_pattern().match(source, offset)
        if match is None:
            character = source[offset]
            shown = character if character.isprintable() else f"U+{ord(character):04X}"
            usual = (f"{shown} has no meaning in a condition", _NO_MEANING)
            raise error_at(source, offset, *_WRONG_CHARACTERS.get(character, usual))
        kind, text = match.lastgroup or "", match.group()
        if kind == "name":
            kind = _WORDS.get(text.lower(), kind)
        elif kind == "symbol":
            kind = _SYMBOLS.get(text, text)
        if kind != "space":
            yield _Token(kind, text, offset)
        offset = match.end()
    yield _Token("end", "", end)


# --- from tree to text


def render(node: Node) -> str:
    """Return the canonical text: one line, words in upper case, no parentheses but the needed ones."""
    if isinstance(node, Leaf):
        return render_leaf(node, lambda operand: operand.name or render_value(operand.value))
    # Looser words than the own one need parentheses. A NOT in front never does: it binds closest.
    looser = {"AND": ("OR",), "OR": (), "NOT": ("AND", "OR")}[node.word]
    parts = [
        f"({render(part)})" if isinstance(part, Group) and part.word in looser else render(part) for part in node.parts
    ]
    return f"NOT {parts[0]}" if node.word == "NOT" else f" {node.word} ".join(parts)


def render_leaf(leaf: Leaf, write: Callable[[Operand], str]) -> str:
    """Return the text of a comparison, its operands written by `write`."""
    left, right = write(leaf.left), ", ".join(map(write, leaf.right))
    if not leaf.operator:
        return left
    return f"{left} in [{right}]" if leaf.operator == "in" else f"{left} {leaf.operator} {right}"


def render_value(value: MetricValue) -> str:
    """Return a value as a condition spells it."""
    if isinstance(value, str):
        for character, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
            value = value.replace(character, escape)
        # Literals are printable; a measured value could hold the codes that steer a terminal.
        return '"' + "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in value) + '"'
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)
