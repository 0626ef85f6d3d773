"""What a test function expects, as far as it may be altered: an honest test has to fail then.

Pure: a syntax tree in, sites out. Where an honest test may pass whatever it expects, it is left alone: in branches,
behind a conditional way out, in blocks that catch exceptions on purpose, in comparisons with a tolerance.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from phase_gate.source.names import FunctionNode, last_name
from phase_gate.values import Value, as_dict, replace

#: How a value is compared: with `==`, with `is`, or as a pattern that a message has to match.
Way = Literal["equal", "same", "match"]
#: What may stand around a test, and have decorators.
Parent = ast.ClassDef | FunctionNode


class Site(Value):
    """A value that a test expects: the check that it belongs to, and what it becomes."""

    #: The lines of the check.
    first_line: int
    last_line: int
    way: Way
    #: What is compared with it, as it is written; empty for a pattern.
    against: str = ""
    #: The function in the test that the check stands in; empty: in the test itself.
    inside: str = ""
    #: The check stands in a block that waits for an exception.
    is_under_raises: bool = False
    #: The check is a tuple, or has an `or` with something that is true.
    is_always_true: bool = False
    #: The parameter that it belongs to, and its row there; empty: it is written in the check.
    parameter: str = ""
    row: int = 0
    was: str = ""
    becomes: str = ""


#: A site, and where the value is written.
Found = tuple[ast.expr, Site]


class _Around(Value):
    inside: str = ""
    is_under_raises: bool = False
    is_always_true: bool = False


_EQUAL = frozenset(
    {"assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual"}
    | {"assertSequenceEqual", "assertMultiLineEqual"}
)
_RAISES = frozenset(
    {"raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "assertRaisesMessage", "RaisesGroup"}
    | {"assert_raises", "deprecated_call"}
)
_WARNS = frozenset({"warns", "assertWarns", "assertWarnsRegex"})
#: Other contexts with such a name may wait for an exception, too.
_MAY_WAIT = re.compile("rais|error|exception|fail", re.IGNORECASE)
#: What a failing check raises, and the bases of it.
_FAILURES = frozenset({"AssertionError", "Failed", "Exception", "BaseException"})
#: Exceptions of Python that let a failing check through where they are caught.
_OTHER_EXCEPTIONS = frozenset(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException) and not issubclass(AssertionError, kind)
)
#: What is equal to many values.
_TOLERANT = re.compile(r"(?i:approx|isclose|almost|allclose)|\bANY\b")


def find_expected(test: FunctionNode, parents: Sequence[Parent]) -> list[Found]:
    """Return what a test expects, as far as it may be altered.

    :param parents: the classes and functions around the test, for their decorators.
    """
    # A single row that is expected to fail is enough: which one it is may depend on its mark's condition.
    decorators = [ast.unparse(each) for node in (*parents, test) for each in node.decorator_list]
    if any("xfail" in each or "expectedFailure" in each for each in decorators):
        return []
    finder = _Finder(test)
    finder.read_block(test.body, _Around())
    return [*finder.found, *finder.find_cells()]


def is_literal(node: ast.expr) -> bool:
    """Tell whether a value is written out; of a display, only what is around its elements counts."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float)
    return isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Set | ast.Dict | ast.JoinedStr)


class _Finder:
    def __init__(self, test: FunctionNode) -> None:
        self._test = test
        given = test.args
        self._parameters = {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        self.found: list[Found] = []
        #: Where a parameter is what is expected.
        self._sides: dict[str, list[Found]] = {}

    # --- statements

    def read_block(self, block: Iterable[ast.stmt], around: _Around) -> None:
        for statement in block:
            self._read(statement, around)
            if isinstance(statement, ast.If | ast.Match | ast.Try) and _has_way_out(statement):
                return

    def _read(self, statement: ast.stmt, around: _Around) -> None:
        match statement:
            case ast.Assert(test=claim):
                self._read_claim(claim, statement, around)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_]) as call):
                is_plain = not any(isinstance(each, ast.Starred) for each in (left, right))
                if is_plain and (name in _EQUAL or name == "assertIs"):
                    self._read_pair(left, right, "equal" if name in _EQUAL else "same", call, around)
            case ast.With() | ast.AsyncWith():
                self._read_with(statement, around)
            case ast.Try() | ast.TryStar():
                if all(_lets_through(each) or _swallows(each, statement) for each in statement.handlers):
                    self.read_block(statement.body, around)
                self.read_block(statement.orelse, around)
                self.read_block(statement.finalbody, around)
            case ast.For() | ast.AsyncFor() | ast.While():
                self.read_block(statement.body, around)
                self.read_block(statement.orelse, around)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.read_block(statement.body, replace(around, inside=statement.name))

    def _read_with(self, statement: ast.With | ast.AsyncWith, around: _Around) -> None:
        for item in statement.items:
            context = item.context_expr
            call = context.value if isinstance(context, ast.Await) else context
            if not isinstance(call, ast.Call):
                return  # `with expectation:` may wait for an exception
            name = last_name(call.func)
            if name in _RAISES | _WARNS:
                self._read_pattern(name, call, around)
            elif _MAY_WAIT.search(name):
                return
            if name in _RAISES:
                if not call.args or _names_failure(call.args[0]):
                    return
                around = replace(around, is_under_raises=True)
        self.read_block(statement.body, around)

    # --- checks

    def _read_claim(self, claim: ast.expr, statement: ast.Assert, around: _Around) -> None:
        match claim:
            case ast.BoolOp(op=ast.And(), values=parts):
                for part in parts:
                    self._read_claim(part, statement, around)
            case ast.BoolOp(values=parts) if any(isinstance(each, ast.Constant) and each.value for each in parts):
                for part in parts:
                    self._read_claim(part, statement, replace(around, is_always_true=True))
            case ast.Tuple(elts=[first, *_]):  # assert (a == 1, "message")
                self._read_claim(first, statement, replace(around, is_always_true=True))
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                self._read_pair(left, right, "equal", statement, around)
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[right]):
                self._read_pair(left, right, "same", statement, around)

    def _read_pair(
        self, left: ast.expr, right: ast.expr, way: Way, place: ast.Assert | ast.Call, around: _Around
    ) -> None:
        pairs = [(right, left), (left, right)]
        literal = [(expected, other) for expected, other in pairs if is_literal(expected)]
        if len(literal) == 2:
            return
        for expected, other in literal or pairs:
            against = ast.unparse(other)
            if not _TOLERANT.search(against):
                self._add(expected, way, place, around, against)

    def _read_pattern(self, name: str, call: ast.Call, around: _Around) -> None:
        pattern = next((each.value for each in call.keywords if each.arg == "match"), None)
        if pattern is None and name.endswith(("Regex", "Regexp")) and len(call.args) > 1:
            pattern = call.args[1]
        if pattern is not None:
            self._add(pattern, "match", call, around)

    def _add(
        self, expected: ast.expr, way: Way, place: ast.Assert | ast.Call, around: _Around, against: str = ""
    ) -> None:
        last_line = place.end_lineno or place.lineno
        site = Site(first_line=place.lineno, last_line=last_line, way=way, against=against, **as_dict(around))
        if isinstance(expected, ast.Name) and expected.id in self._parameters:
            self._sides.setdefault(expected.id, []).append((expected, site))
        elif _can_be_altered(expected, way):
            self.found.append((expected, site))

    # --- rows of parameters

    def find_cells(self) -> Iterator[Found]:
        """Yield the cells of parameters that are used for nothing but to be expected."""
        uses = self._uses() if self._sides else {}
        for names, rows, is_single in _tables(self._test):
            for position, name in enumerate(names):
                sides = self._sides.get(name, [])
                has_one_way = len({site.way for _, site in sides}) == 1
                if has_one_way and {id(node) for node, _ in sides} == uses[name]:
                    site = replace(sides[0][1], parameter=name)
                    for number, row in enumerate(rows):
                        cell = _cell(row, position, None if is_single else len(names))
                        if cell is not None and _can_be_altered(cell, site.way):
                            yield cell, replace(site, row=number)

    def _uses(self) -> dict[str, set[int]]:
        """Return where names are used in the test, by `id` of their nodes; the message of an assert is no use."""
        nodes = [node for statement in self._test.body for node in ast.walk(statement)]
        messages = [node.msg for node in nodes if isinstance(node, ast.Assert) and node.msg is not None]
        told = {id(node) for message in messages for node in ast.walk(message)}
        uses: dict[str, set[int]] = {}
        for node in nodes:
            if isinstance(node, ast.Name) and id(node) not in told:
                uses.setdefault(node.id, set()).add(id(node))
        return uses


def _can_be_altered(node: ast.expr, way: Way) -> bool:
    constant = node.value if isinstance(node, ast.Constant) else ...
    if way == "match":
        is_escaped = isinstance(node, ast.Call) and ast.unparse(node.func) == "re.escape"
        return is_escaped or isinstance(constant, str) or isinstance(node, ast.JoinedStr)
    return is_literal(node) if way == "equal" else constant is None or isinstance(constant, bool)


def _has_way_out(statement: ast.stmt) -> bool:
    """Tell whether a conditional statement may leave the block that it stands in: the rest is rightly not run then."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return | ast.Continue | ast.Break):
            return True
        if not isinstance(node, Parent | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _kinds(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _names_failure(node: ast.expr) -> bool:
    return any(last_name(each) in _FAILURES for each in _kinds(node))


def _lets_through(handler: ast.ExceptHandler) -> bool:
    kinds = [] if handler.type is None else _kinds(handler.type)
    return bool(kinds) and all(isinstance(each, ast.Name) and each.id in _OTHER_EXCEPTIONS for each in kinds)


def _swallows(handler: ast.ExceptHandler, around: ast.Try | ast.TryStar) -> bool:
    """Tell whether a handler does nothing but keep failing checks quiet: that is what is looked for."""
    is_mute = all(
        isinstance(each, ast.Pass | ast.Continue)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in handler.body
    )
    return is_mute and not around.orelse and (handler.type is None or _names_failure(handler.type))


def _tables(test: FunctionNode) -> Iterator[tuple[list[str], list[ast.expr], bool]]:
    """Yield the names and rows of each `parametrize`, and whether a row is nothing but its one cell."""
    for decorator in test.decorator_list:
        match decorator:
            case ast.Call(func=func, args=[given, ast.List(elts=rows) | ast.Tuple(elts=rows)], keywords=keywords):
                is_indirect = any(each.arg == "indirect" for each in keywords)
                # Behind `*more` the number of a row is not known.
                is_counted = not any(isinstance(row, ast.Starred) for row in rows)
                if last_name(func) != "parametrize" or is_indirect or not is_counted:
                    continue
                try:
                    names = ast.literal_eval(given)
                except ValueError:
                    continue
                split = [each.strip() for each in names.split(",") if each.strip()] if isinstance(names, str) else names
                yield split, rows, isinstance(names, str) and len(split) == 1


def _cell(row: ast.expr, position: int, width: int | None) -> ast.expr | None:
    """Return a cell of a row; None where it is not written out.

    :param width: how many cells a row has; None: it is the cell.
    """
    if isinstance(row, ast.Call) and last_name(row.func) == "param":
        cells = row.args
    elif width is None:
        return row
    else:
        cells = row.elts if isinstance(row, ast.Tuple | ast.List) else []
    is_whole = len(cells) == (width or 1) and not any(isinstance(each, ast.Starred) for each in cells)
    return cells[position] if is_whole else None
