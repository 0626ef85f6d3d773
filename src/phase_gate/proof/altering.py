"""A test file in which chosen tests expect something else.

Pure: texts in, texts out. Every line stays in its place, so that what a run says about a line can be found again.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Mapping
from types import EllipsisType

from phase_gate.proof.expected import Found, Parent, Site, find_expected, is_literal
from phase_gate.source.names import FunctionNode
from phase_gate.values import Value, replace

#: What texts and containers get.
_MARK = "~altered"
#: A pattern that no text matches.
_NO_MATCH = '"(?!)"'
#: Beyond it numbers are no longer tripled and written: neither infinity nor what is no number is less than it.
_LARGEST = 1e300
_LINE_END = re.compile(rb"\r\n|\r|\n")


class AlteredTest(Value):
    """A test function, and all that was altered in it."""

    name: str
    sites: tuple[Site, ...]


class Altered(Value):
    """A test file, and the tests that expect something else in it, by their first lines."""

    text: bytes
    tests: Mapping[int, AlteredTest]


def alter(source: bytes, wanted: Collection[int]) -> Altered:
    """Return the source with tests that expect something else. Raises SyntaxError, or ValueError for what is no text.

    :param wanted: the first lines of the tests, as Python counts them: with decorators.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    text = source.decode(encoding)
    writer = _Writer(text.encode("utf-8"))
    tests: dict[int, AlteredTest] = {}
    for first_line, test, parents in _walk_tests(ast.parse(text), wanted):
        sites = [site for found in find_expected(test, parents) if (site := writer.alter(found)) is not None]
        if sites:
            tests[first_line] = AlteredTest(name=test.name, sites=tuple(sites))
    return Altered(text=writer.written().decode("utf-8").encode(encoding), tests=tests)


def _walk_tests(
    node: ast.AST, wanted: Collection[int], parents: tuple[Parent, ...] = ()
) -> Iterator[tuple[int, FunctionNode, tuple[Parent, ...]]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Parent):
            first_line = min(each.lineno for each in (child, *child.decorator_list))
            if isinstance(child, FunctionNode) and first_line in wanted:
                yield first_line, child, parents
            else:
                yield from _walk_tests(child, wanted, (*parents, child))
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _walk_tests(child, wanted, parents)


class _Writer:
    """Replaces parts of a text, in bytes: so are the columns of a syntax tree counted."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._begins = [0, *(end.end() for end in _LINE_END.finditer(text))]
        self._edits: dict[tuple[int, int], bytes] = {}

    def alter(self, found: Found) -> Site | None:
        """Have another value expected; None where there is none that is far enough away."""
        node, site = found
        new = self._other(node) if site.way == "equal" else _NO_MATCH if site.way == "match" else _other_single(node)
        if new is None:
            return None
        begin, end = self._span(node)
        old, made = self._text[begin:end], new.encode("utf-8")
        missing = len(_LINE_END.findall(old)) - len(_LINE_END.findall(made))
        self._edits[begin, end] = b"(%b%b)" % (made, b"\n" * missing) if missing else made
        return replace(site, was=old.decode("utf-8"), becomes=new)

    def written(self) -> bytes:
        text = self._text
        for (begin, end), new in sorted(self._edits.items(), reverse=True):
            text = text[:begin] + new + text[end:]
        return text

    def _span(self, node: ast.expr) -> tuple[int, int]:
        last_line, last_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._begins[node.lineno - 1] + node.col_offset, self._begins[last_line - 1] + last_column

    def _other(self, node: ast.expr) -> str | None:
        """Return what a literal becomes."""
        match node:
            case ast.List():
                return f'({self._with_other_leaves(node, node.elts)} + ["{_MARK}"])'
            case ast.Tuple():
                return f'({self._with_other_leaves(node, node.elts)} + ("{_MARK}",))'
            case ast.Set():
                return f'({self._with_other_leaves(node, node.elts)} | {{"{_MARK}"}})'
            case ast.Dict():
                return f'{{**{self._with_other_leaves(node, node.values)}, "{_MARK}": "{_MARK}"}}'
            case ast.JoinedStr() | ast.Constant(value=str()):
                return f'({self._with_other_leaves(node, [])} "{_MARK}")'
            case ast.Constant(value=bytes()):
                return f'({self._with_other_leaves(node, [])} b"{_MARK}")'
            case ast.Constant(value=bool()):
                return _other_single(node)
            case ast.Constant(value=None | EllipsisType()):
                return f'"{_MARK}"'
            case _:
                return _other_number(ast.literal_eval(node))

    def _with_other_leaves(self, whole: ast.expr, leaves: list[ast.expr]) -> str:
        """Return a container whose literal leaves are others, too: its `==` may ignore what it does not know."""
        position, last = self._span(whole)
        written = b""
        for leaf in leaves:
            other = self._other(leaf) if is_literal(leaf) else None
            if other is not None:
                begin, end = self._span(leaf)
                written += self._text[position:begin] + other.encode("utf-8")
                position = end
        return (written + self._text[position:last]).decode("utf-8")


def _other_number(value: float | complex) -> str | None:
    """Return a number that is far away: a comparison may have a tolerance of its own."""
    if isinstance(value, complex) or not abs(value) < _LARGEST:
        return None
    others = (value * 3 + step for step in (1_000_003, 7_000_003))
    other = next(each for each in others if abs(each - value) > abs(value) / 2)
    return f"({other!r})" if other < 0 else repr(other)


def _other_single(node: ast.expr) -> str:
    """Return another object than None, True or False: one that Python compares by `is` without a warning."""
    value = ast.literal_eval(node)
    return "..." if value is None else str(not value)
