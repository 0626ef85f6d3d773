"""Make the tree of a condition from its text, or say where and why that can't be done.

Recursive descent, one token ahead. What a tree means is decided in `conditions`, where the grammar stands.
"""

from __future__ import annotations

from phase_gate.errors import ConditionError
from phase_gate.workflow.conditions.tokens import NO_ARITHMETIC, Token, error_at, read_value, tokenize
from phase_gate.workflow.conditions.tree import Group, Leaf, Node, Operand, join

#: In characters, as written and in canonical form: a hundred times a real condition, and still parsed at once.
MAX_LENGTH = 10_000
#: Parentheses and NOTs around one clause: deeper ones are unreadable, and Python's stack holds many times that.
MAX_DEPTH = 32
#: Each clause is a line of the report: more than this is a generated text, and a mistake.
MAX_CLAUSES = 500

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
        self._tokens = tokenize(source)
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
        value = read_value(self._source, token)
        self._take()
        return Operand("", value, token.offset)

    def _take(self) -> Token:
        token, self._next = self._next, next(self._tokens)
        return token

    def _deeper(self, depth: int, token: Token) -> int:
        if depth >= MAX_DEPTH:
            raise self._error(
                f"parentheses and NOT are nested more than {MAX_DEPTH} deep", "write the condition with fewer", token
            )
        return depth + 1

    def _not_joined(self) -> ConditionError:
        if self._next.kind == "number" and self._next.text.startswith("-"):
            return self._error(*NO_ARITHMETIC)
        if self._next.kind == "NOT":
            return self._error("NOT stands behind a name or value", "write NOT before it, as in: NOT name in [1, 2]")
        return self._expected("AND or OR", "put AND or OR between two clauses, and an operator between two values")

    def _expected(self, what: str, remedy: str) -> ConditionError:
        found = "the condition ends" if self._next.kind == "end" else f"there is {self._next}"
        return self._error(f"{found} where {what} should be", remedy)

    def _error(self, problem: str, remedy: str, token: Token | None = None) -> ConditionError:
        return error_at(self._source, (token or self._next).offset, problem, remedy)
