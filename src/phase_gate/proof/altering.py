"""Alter the values that chosen tests expect. A test that can fail has to fail then.

Pure: source text in, source text out. Line numbers stay the same, so that the results of a run can be mapped to the
original file. Checks that may pass with any expected value are not altered: those in branches, after a conditional
exit, in blocks that catch exceptions on purpose, and comparisons with a tolerance.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

from phase_gate.source.syntax_names import FunctionNode, last_name
from phase_gate.source.tests import parse_source
from phase_gate.values import Value, replace

#: How a value is compared: with `==`, with `is`, or as a pattern that has to match a message.
Way = Literal["equal", "same", "match"]
#: Nodes that can contain a test and have decorators.
_Parent = ast.ClassDef | FunctionNode


class Site(Value):
    """A value that a test expects, the check that it belongs to, and the altered value."""

    #: The first line of the check.
    line: int = 0
    way: Way = "equal"
    #: The nested function or class that contains the check. Empty if the check is in the test itself.
    inside: str = ""
    #: The parameter that the value belongs to, and its row. Empty if the value is written in the check.
    parameter: str = ""
    row: int = 0
    was: str = ""
    becomes: str = ""


#: Appended to texts and containers.
_MARK = "~altered"
#: Larger numbers are not altered, nor are infinity and NaN: neither is less than this limit.
_LARGEST = 1e300
_LINE_END = re.compile(rb"\r\n|\r|\n")
#: Names of methods and context managers that check.
_EQUAL = re.compile("assert(?!Not|Almost)[A-Za-z]*Equals?")
_CATCHES = re.compile("(assert_?)?(raises|warns)", re.IGNORECASE)
#: Context managers with such a name may expect an exception. What comes after it in the block is never run.
_MAY_WAIT = re.compile("rais|error|exception|fail", re.IGNORECASE)
#: Exceptions that a failing check raises, and their base classes.
_FAILURES = frozenset({"AssertionError", "Failed", "Exception", "BaseException"})
#: Built-in exceptions whose handlers do not catch a failing check.
_OTHER_EXCEPTIONS = frozenset(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException) and not issubclass(AssertionError, kind)
)
#: Names of helpers that equal many values.
_TOLERANT = re.compile(r"(?i:approx|isclose|almost|allclose)|\bANY\b")
_EXPECTED_TO_FAIL = re.compile("xfail|expectedFailure")

#: The node of a value, and its site.
_Found = tuple[ast.expr, Site]


def alter(source: bytes, wanted: Collection[int]) -> tuple[bytes, dict[int, list[Site]]]:
    """Return the source with altered tests, and the altered sites of each test by the test's first line.

    Raises SyntaxError, or ValueError if the source can't be decoded.

    :param wanted: first lines of the tests, including decorators, as Python counts them.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    text = source.decode(encoding)
    raw = text.encode("utf-8")  # syntax trees count columns in UTF-8 bytes
    begins = [0, *(end.end() for end in _LINE_END.finditer(raw))]
    edits: list[tuple[int, int, bytes]] = []
    tests: dict[int, list[Site]] = {}
    for first_line, test in _walk_tests(parse_source(text), wanted):
        for node, site in _find_expected(test):
            begin = begins[node.lineno - 1] + node.col_offset
            end = begins[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            was, becomes = raw[begin:end], _spell_other(node, site.way)
            if becomes:
                new, lines = becomes.encode("utf-8"), b"\n" * len(_LINE_END.findall(was))
                edits.append((begin, end, b"(%b%b)" % (new, lines) if lines else new))
                site = replace(site, was=was.decode("utf-8"), becomes=becomes)
                tests.setdefault(first_line, []).append(site)
    for begin, end, new in sorted(edits, reverse=True):
        raw = raw[:begin] + new + raw[end:]
    return raw.decode("utf-8").encode(encoding), tests


def _walk_tests(
    node: ast.AST, wanted: Collection[int], parents: tuple[_Parent, ...] = ()
) -> Iterator[tuple[int, FunctionNode]]:
    """Yield the wanted tests, except those that are expected to fail."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Parent):
            around = (*parents, child)
            first_line = min(each.lineno for each in (child, *child.decorator_list))
            if not isinstance(child, FunctionNode) or first_line not in wanted:
                yield from _walk_tests(child, wanted, around)
            # One row that is expected to fail excludes the test: which row it is may depend on the mark's condition.
            elif not any(_EXPECTED_TO_FAIL.search(ast.unparse(each)) for top in around for each in top.decorator_list):
                yield first_line, child
        elif isinstance(child, ast.stmt):
            yield from _walk_tests(child, wanted, parents)


# --- the altered value


def _spell_other(node: ast.expr, way: Way) -> str:
    """Return the source code of the altered value. Empty if no value differs enough, or if it can't be written."""
    if way == "match":
        return repr("(?!)")  # matches no text
    try:
        other = _other(node)
        spelled = "" if other is None else ast.unparse(other)
        return "" if "\n" in spelled else spelled
    except ValueError:  # an f-string that can't be written before Python 3.12, or a number with too many digits
        return ""


def _other(node: ast.expr) -> ast.expr | None:
    """Return the altered literal. In a container every leaf is altered, because its `==` may ignore added elements."""
    mark = ast.Constant(_MARK)
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return type(node)([*map(_other_leaf, parts), mark])
        case ast.Dict(keys=keys, values=values):
            return ast.Dict([*keys, mark], [*map(_other_leaf, values), mark])
        case ast.JoinedStr(values=values):
            return ast.JoinedStr([*values, mark])
        case ast.Constant(value=str(text)):
            return ast.Constant(text + _MARK)
        case ast.Constant(value=bytes(raw)):
            return ast.Constant(raw + _MARK.encode())
        # Python compares these by `is` without a warning.
        case ast.Constant(value=bool(truth)):
            return ast.Constant(not truth)
        case ast.Constant(value=None):
            return ast.Constant(...)
        case ast.Constant(value=int() | float()) | ast.UnaryOp():
            return _other_number(ast.literal_eval(node))
    return mark


def _other_leaf(node: ast.expr) -> ast.expr:
    return (_other(node) if _is_literal(node) else None) or node


def _other_number(value: float) -> ast.expr | None:
    """Return a number that differs by a lot, because the comparison may have a tolerance."""
    if not abs(value) < _LARGEST:
        return None
    others = (value * 3 + step for step in (1_000_003, 7_000_003))
    return ast.Constant(next(each for each in others if abs(each - value) > abs(value) / 2))


# --- expected values


def _find_expected(test: FunctionNode) -> Iterator[_Found]:
    """Yield the expected values of a test that can be altered, with their checks."""
    names: dict[str, list[_Found]] = {}
    for node, site in _read_block(test.body, Site()):
        if isinstance(node, ast.Name):
            names.setdefault(node.id, []).append((node, site))
        elif _can_be_altered(node, site.way):
            yield node, site
    if names:
        yield from _find_cells(test, names)


def _is_literal(node: ast.expr) -> bool:
    """Return whether a value is a literal. The elements of a list, tuple, set or dict may be anything."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float)
    return isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Set | ast.Dict | ast.JoinedStr)


def _read_block(block: Iterable[ast.stmt], around: Site) -> Iterator[_Found]:
    """Yield the values that checks in a block expect."""
    for statement in block:
        yield from _read(statement, around)
        if _may_leave(statement):
            return


def _read(statement: ast.stmt, around: Site) -> Iterator[_Found]:
    match statement:
        case ast.Assert(test=claim):
            yield from _read_claim(claim, replace(around, line=statement.lineno))
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_]) as call):
            is_equal = _EQUAL.fullmatch(name) is not None
            if (is_equal or name == "assertIs") and not isinstance(left, ast.Starred):
                yield from _read_pair(left, right, "equal" if is_equal else "same", replace(around, line=call.lineno))
        case ast.With() | ast.AsyncWith():
            yield from _read_with(statement, around)
        case ast.Try() | ast.TryStar():
            is_open = all(_lets_through(each) or _swallows(each, statement) for each in statement.handlers)
            for block in (statement.body if is_open else [], statement.orelse, statement.finalbody):
                yield from _read_block(block, around)
        case ast.For() | ast.AsyncFor() | ast.While():
            yield from _read_block(statement.body, around)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield from _read_block(statement.body, replace(around, inside=statement.name))


def _read_with(statement: ast.With | ast.AsyncWith, around: Site) -> Iterator[_Found]:
    for call in (item.context_expr for item in statement.items):
        if not isinstance(call, ast.Call):
            return  # `with expectation:` may expect an exception
        name = last_name(call.func)
        if _CATCHES.match(name):
            patterns = [each.value for each in call.keywords if each.arg == "match"]
            patterns += call.args[1:2] if name.endswith("Regex") else []
            yield from ((each, replace(around, line=call.lineno, way="match")) for each in patterns)
        if _MAY_WAIT.search(name):
            return
    yield from _read_block(statement.body, around)


def _read_claim(claim: ast.expr, site: Site) -> Iterator[_Found]:
    match claim:
        case ast.BoolOp(op=how, values=parts):
            # An `or` with an operand that is always true can't fail.
            if isinstance(how, ast.And) or any(isinstance(each, ast.Constant) and each.value for each in parts):
                for part in parts:
                    yield from _read_claim(part, site)
        case ast.Tuple(elts=[first, *_]):  # assert (a == 1, "message")
            yield from _read_claim(first, site)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() as how], comparators=[right]):
            yield from _read_pair(left, right, "equal" if isinstance(how, ast.Eq) else "same", site)


def _read_pair(left: ast.expr, right: ast.expr, way: Way, site: Site) -> Iterator[_Found]:
    pairs = [(right, left), (left, right)]
    literal = [(expected, other) for expected, other in pairs if _is_literal(expected)]
    for expected, other in (literal or pairs) if len(literal) < 2 else ():
        if not _TOLERANT.search(ast.unparse(other)):
            yield expected, replace(site, way=way)


# --- parameter sets


def _find_cells(test: FunctionNode, expected: Mapping[str, list[_Found]]) -> Iterator[_Found]:
    """Yield the cells of parameters that the test uses only as expected values.

    :param expected: the names that checks expect, with their nodes and sites.
    """
    nodes = [node for statement in test.body for node in ast.walk(statement)]
    # A name in the message of an assert does not count as used.
    messages = [node.msg for node in nodes if isinstance(node, ast.Assert) and node.msg is not None]
    message_nodes = {id(node) for message in messages for node in ast.walk(message)}
    used = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in message_nodes]
    for names, rows, is_single in _tables(test):
        for position, name in enumerate(names):
            sides = expected.get(name, [])
            has_one_way = len({site.way for _, site in sides}) == 1
            uses = {id(node) for node in used if node.id == name}
            if not has_one_way or {id(node) for node, _ in sides} != uses:
                continue
            site = replace(sides[0][1], parameter=name)
            for number, row in enumerate(rows):
                cell = _cell(row, position, None if is_single else len(names))
                if cell is not None and _can_be_altered(cell, site.way):
                    yield cell, replace(site, row=number)


def _can_be_altered(node: ast.expr, way: Way) -> bool:
    constant = node.value if isinstance(node, ast.Constant) else ...
    if way == "match":
        return isinstance(constant, str) or isinstance(node, ast.JoinedStr)
    return _is_literal(node) if way == "equal" else constant is None or isinstance(constant, bool)


def _may_leave(statement: ast.stmt) -> bool:
    """Return whether a statement may or may not leave its block, so that the rest of the block may not run."""
    match statement:
        case ast.If() | ast.Match() | ast.Try() | ast.TryStar():
            return _contains(statement, ast.Return, ast.Continue, ast.Break)
        case ast.For() | ast.AsyncFor() | ast.While():
            return _contains(statement, ast.Return)
        case ast.With() | ast.AsyncWith():
            return any(map(_may_leave, statement.body))
    return False


def _contains(statement: ast.stmt, *kinds: type[ast.stmt]) -> bool:
    """Return whether a statement contains one of these kinds, not counting those in nested functions."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, kinds):
            return True
        if not isinstance(node, _Parent | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _caught(handler: ast.ExceptHandler) -> list[ast.expr]:
    """Return the exceptions that a handler names."""
    kind = handler.type
    return [] if kind is None else kind.elts if isinstance(kind, ast.Tuple) else [kind]


def _lets_through(handler: ast.ExceptHandler) -> bool:
    kinds = _caught(handler)
    return bool(kinds) and all(isinstance(each, ast.Name) and each.id in _OTHER_EXCEPTIONS for each in kinds)


def _swallows(handler: ast.ExceptHandler, around: ast.Try | ast.TryStar) -> bool:
    """Return whether a handler only hides failing checks. Such checks are altered, in order to find them."""
    is_mute = all(
        isinstance(each, ast.Pass | ast.Continue)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in handler.body
    )
    kinds = {last_name(each) for each in _caught(handler)} or _FAILURES
    return is_mute and not around.orelse and not kinds.isdisjoint(_FAILURES)


def _tables(test: FunctionNode) -> Iterator[tuple[list[str], list[ast.expr], bool]]:
    """Yield the names and rows of each `parametrize`, and whether each row is a single cell."""
    for decorator in test.decorator_list:
        match decorator:
            case ast.Call(func=func, args=[given, ast.List(elts=rows) | ast.Tuple(elts=rows)], keywords=keywords):
                is_indirect = any(each.arg == "indirect" for each in keywords)
                # After `*more`, the row numbers are unknown.
                is_counted = not any(isinstance(row, ast.Starred) for row in rows)
                if last_name(func) != "parametrize" or is_indirect or not is_counted:
                    continue
                try:
                    names = ast.literal_eval(given)
                except ValueError:
                    continue
                is_text = isinstance(names, str)
                split = [each.strip() for each in names.split(",") if each.strip()] if is_text else names
                yield split, rows, is_text and len(split) == 1


def _cell(row: ast.expr, position: int, width: int | None) -> ast.expr | None:
    """Return a cell of a row. None if the cell is not written as code in the row.

    :param width: the number of cells in a row. None if the row is the cell itself.
    """
    if isinstance(row, ast.Call) and last_name(row.func) == "param":
        cells = row.args
    elif width is None:
        return row
    else:
        cells = row.elts if isinstance(row, ast.Tuple | ast.List) else []
    is_whole = len(cells) == (width or 1) and not any(isinstance(each, ast.Starred) for each in cells)
    return cells[position] if is_whole else None
