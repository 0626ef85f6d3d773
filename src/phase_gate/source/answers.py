"""What tests ask, read from their own sources; and code that answers just that, one by one.

Pure. A single answered question may be a base case; two of them make a list of answers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
#: Keys with values, or rows of which the last column is the answer.
_Table = ast.Dict | ast.List | ast.Tuple

#: What goes in, and what comes out, as text.
Pair = tuple[str, str]

#: One answered question may be a base case; the second makes it a list of answers.
_ANSWERS = 2
#: unittest's checks of an answer.
_EQUAL = frozenset({"assertEqual", "assertEquals", "assertIs", "assertAlmostEqual"})


def asked_pairs(tests: ast.Module) -> Iterator[Pair]:
    """Yield what tests ask: `f(1, 2) == 3`, and the rows of two or more constants that parameters are made of."""
    for node in ast.walk(tests):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.Is):
            yield from _asked(node.left, node.comparators[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _EQUAL:
            if len(node.args) > 1:
                yield from _asked(*node.args[:2])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "param":
            yield from _row(node.args)
        elif isinstance(node, ast.Tuple):
            yield from _row(node.elts)
        if isinstance(node, ast.Tuple | ast.List):
            for each in node.elts:
                if isinstance(each, ast.List):
                    yield from _row(each.elts)


def _row(cells: list[ast.expr]) -> Iterator[Pair]:
    texts = [constant(each) for each in cells]
    if texts and (answer := texts[-1]) is not None and None not in texts:
        yield from _each_and_all(cells[:-1], answer)


def _asked(one: ast.expr, other: ast.expr) -> Iterator[Pair]:
    for called, expected in ((one, constant(other)), (other, constant(one))):
        if isinstance(called, ast.Call) and expected is not None:
            given = [*called.args, *(keyword.value for keyword in called.keywords)]
            yield from _each_and_all(given, expected)


def _each_and_all(given: list[ast.expr], expected: str) -> Iterator[Pair]:
    texts = [constant(each) for each in given]
    yield from ((text, expected) for text in texts if text is not None)
    known = [text for text in texts if text is not None]
    if len(known) > 1 and len(known) == len(given):
        yield _as_tuple(known), expected


def _as_tuple(texts: list[str]) -> str:
    return f"({', '.join(texts)})"


def find_tables(source: ast.Module) -> dict[str, _Table]:
    """Return the tables that have a name in a source."""
    found: dict[str, _Table] = {}
    for node in ast.walk(source):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value):
                table = _as_table(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                table = _as_table(value)
            case _:
                continue
        if table is not None:
            found[name] = table
    return found


def _as_table(value: ast.expr) -> _Table | None:
    match value:
        case ast.Dict() | ast.List() | ast.Tuple():
            return value
        case ast.Call(
            func=ast.Name(id="dict" | "list" | "tuple"), args=[ast.Dict() | ast.List() | ast.Tuple() as table]
        ):
            return table
    return None


def count_answers(function: _Function, tables: Mapping[str, _Table], asked: Callable[[], Collection[Pair]]) -> int:
    """Return how many of the tests' own inputs a function answers one by one; 0 where it is fewer than two.

    :param tables: those that have a name.
    :param asked: returns what the tests ask; only called where a function answers anything.
    """
    chosen = set(_chosen(function))
    known = chosen & set(asked()) if len(chosen) >= _ANSWERS else set()
    for table in _looked_up(function, tables):
        rows = _rows(table)
        # A table of which tests try a part is a table; one that has their inputs and nothing else is a list of answers.
        if rows is not None and len(rows) >= _ANSWERS and rows <= set(asked()):
            known |= rows
    return len(known) if len(known) >= _ANSWERS else 0


def _chosen(function: _Function) -> Iterator[Pair]:
    """Yield the inputs that a function compares with constants, each with the constant that it then returns."""
    for node in ast.walk(function):
        if isinstance(node, ast.If):
            yield from _pair(_compared(node.test), _returned(node.body[-1]))
        elif isinstance(node, ast.IfExp):
            yield from _pair(_compared(node.test), constant(node.body))
        elif isinstance(node, ast.match_case):
            for given in _matched(node.pattern):
                yield from _pair(given, _returned(node.body[-1]))


def _compared(test: ast.expr) -> str | None:
    """Return the constant that a condition compares with, or several that all have to be equal."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        parts = [_compared(each) for each in test.values]
        known = [part for part in parts if part is not None]
        return _as_tuple(known) if len(known) == len(parts) else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq | ast.Is):
        return None
    right = constant(test.comparators[0])
    return constant(test.left) if right is None else right


def _matched(pattern: ast.pattern) -> Iterator[str]:
    match pattern:
        case ast.MatchOr(patterns=patterns):
            for each in patterns:
                yield from _matched(each)
        case ast.MatchSequence(patterns=patterns):
            parts = [next(_matched(each), None) for each in patterns]
            known = [part for part in parts if part is not None]
            if known and len(known) == len(parts):
                yield _as_tuple(known)
        case ast.MatchAs(pattern=ast.pattern() as inner):
            yield from _matched(inner)
        case ast.MatchValue(value=value) if (text := constant(value)) is not None:
            yield text
        case ast.MatchSingleton(value=value):
            yield repr(value)


def _looked_up(function: _Function, tables: Mapping[str, _Table]) -> Iterator[_Table]:
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=place) | ast.For(iter=place) | ast.comprehension(iter=place):
                pass
            case ast.Call(func=ast.Attribute(value=place)) | ast.Call(func=ast.Name(id="dict"), args=[place]):
                pass
            case _:
                continue
        match place:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in tables:
                yield tables[name]
            case ast.Dict() | ast.List() | ast.Tuple():
                yield place


def _rows(table: _Table) -> set[Pair] | None:
    """Return what a table answers; None if a part of it has to be computed."""
    if isinstance(table, ast.Dict):
        rows = list(_entries(table, ()))
    else:
        rows = [_cells(each.elts) for each in table.elts if isinstance(each, ast.Tuple | ast.List)]
        if len(rows) < len(table.elts):
            return None
    known = {(given, answer) for given, answer in rows if given is not None and answer is not None}
    return known if len(known) == len(rows) else None


def _cells(cells: list[ast.expr]) -> tuple[str | None, str | None]:
    if len(cells) < _ANSWERS:
        return None, None
    *given, answer = cells
    return constant(given[0] if len(given) == 1 else ast.Tuple(given)), constant(answer)


def _entries(table: ast.Dict, outer: tuple[str, ...]) -> Iterator[tuple[str | None, str | None]]:
    for key, value in zip(table.keys, table.values, strict=True):
        given = constant(key)
        if isinstance(value, ast.Dict) and value.keys and given is not None:
            yield from _entries(value, (*outer, given))
        elif outer:
            yield None if given is None else _as_tuple([*outer, given]), constant(value)
        else:
            yield given, constant(value)


def _returned(then: ast.stmt) -> str | None:
    """Return the constant that a branch comes to, returned or given a name."""
    match then:
        case ast.Return(value=value) | ast.Assign(targets=[ast.Name()], value=value):
            return constant(value)
    return None


def _pair(given: str | None, answer: str | None) -> Iterator[Pair]:
    if given is not None and answer is not None:
        yield given, answer


def constant(node: ast.expr | None) -> str | None:
    """Return a constant as text; None for anything that has to be computed."""
    if node is None:
        return None
    try:
        return repr(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
