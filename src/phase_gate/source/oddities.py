"""Code under test that looks made for its tests. Advisory only: each of these has honest uses, too.

Pure. What a test asks is read from the tests' sources: a constant that goes in, and the constant that must come out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator

from phase_gate.values import Value

#: What pytest leaves in the environment while a test runs.
_TRACES = frozenset({"PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER"})
#: One answered question may be a base case; the second makes it a list of answers.
_ANSWERS = 2

#: A constant that goes in, and the one that comes out, as text.
Pair = tuple[str, str]


class Oddity(Value, kw_only=False):
    slug: str
    line: int
    detail: str


def find_oddities(source: ast.Module, asked: Callable[[], Collection[Pair]] = tuple) -> Iterator[Oddity]:
    """Yield what looks odd in a source.

    :param asked: returns what the tests ask, from `asked_pairs`; only called where a source answers anything.
    """
    for node in ast.walk(source):
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if _is_always_equal(each):
                    yield Oddity("always-equal", each.lineno, f"{node.name} is equal to everything")
        elif isinstance(node, ast.Constant) and node.value in _TRACES:
            yield Oddity("sees-pytest", node.lineno, f"asks for {node.value}: it can tell that a test runs")
        elif isinstance(node, ast.Compare | ast.Call) and _asks_for_pytest(node):
            yield Oddity("sees-pytest", node.lineno, "asks whether pytest is loaded")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            answered = list(_answers(node))
            if len(answered) >= _ANSWERS:
                answered = [pair for pair in answered if pair in asked()]
            if len(answered) >= _ANSWERS:
                detail = f"{node.name} answers {len(answered)} of the tests' own inputs one by one"
                yield Oddity("input-special-cased", node.lineno, detail)


def asked_pairs(tests: ast.Module) -> Iterator[Pair]:
    """Yield what tests ask: `f(1) == 2`, and the rows of two or more constants that parameters are made of."""
    for node in ast.walk(tests):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            called, expected = node.left, _constant(node.comparators[0])
            if isinstance(called, ast.Call) and expected is not None:
                yield from ((given, expected) for each in called.args if (given := _constant(each)) is not None)
        elif isinstance(node, ast.Tuple):
            row = [text for each in node.elts if (text := _constant(each)) is not None]
            if len(row) == len(node.elts):
                yield from ((given, row[-1]) for given in row[:-1])


def _is_always_equal(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef) or node.name != "__eq__":
        return False
    body = [each for each in node.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    last = body[0] if len(body) == 1 else None
    return isinstance(last, ast.Return) and isinstance(last.value, ast.Constant) and last.value.value is True


def _asks_for_pytest(node: ast.Compare | ast.Call) -> bool:
    if isinstance(node, ast.Compare):
        asked, where = node.left, node.comparators[0]
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        asked, where = node.args[0], node.func.value
    else:
        return False
    names_it = isinstance(asked, ast.Constant) and asked.value in ("pytest", "_pytest", "unittest")
    return names_it and isinstance(where, ast.Attribute) and where.attr == "modules"


def _answers(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Pair]:
    """Yield the inputs that a function compares with a constant, each with the constant that it then returns."""
    for node in ast.walk(function):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.Eq):
            yield from _pair(node.test.comparators[0], node.body[-1])
        elif isinstance(node, ast.match_case) and isinstance(node.pattern, ast.MatchValue):
            yield from _pair(node.pattern.value, node.body[-1])
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict):
            yield from _rows(node.value)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Dict)
        ):
            yield from _rows(node.func.value)


def _rows(table: ast.Dict) -> Iterator[Pair]:
    for key, value in zip(table.keys, table.values, strict=True):
        given, answer = _constant(key), _constant(value)
        if given is not None and answer is not None:
            yield given, answer


def _pair(asked: ast.expr, then: ast.stmt) -> Iterator[Pair]:
    given = _constant(asked)
    answer = _constant(then.value) if isinstance(then, ast.Return) else None
    if given is not None and answer is not None:
        yield given, answer


def _constant(node: ast.expr | None) -> str | None:
    """Return a constant as text; None for anything that has to be computed."""
    if node is None:
        return None
    try:
        return repr(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
