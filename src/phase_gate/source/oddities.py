"""Code under test that looks made for its tests. Advisory only: each of these has honest uses, too.

Pure. A proof can't see sources that tell a test from real use by themselves; this looks for the plain ways to do so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping

from phase_gate.values import Value

#: What pytest leaves in the environment while a test runs.
_TRACES = frozenset({"PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER"})
#: Ways to see who calls.
_STACK = frozenset({"_getframe", "currentframe", "stack", "extract_stack", "getouterframes", "walk_stack", "f_back"})
_STACK_OWNERS = frozenset({"sys", "inspect", "traceback"})
#: A file of tests, or one that lies in their folder, by name.
_TEST_FILE = re.compile(r"(^|[/\\])(test_\w+\.py|\w+_test\.py|conftest\.py)$|(^|[/\\])tests?[/\\]\w")
_TEST_WORD = re.compile(r"(?<![a-z])(py|con|unit)?test")
_OPENERS = frozenset({"open", "Path", "PurePath", "joinpath", "read_text", "read_bytes", "getlines", "getline", "join"})
_LIKE = frozenset({"endswith", "startswith", "find", "count", "search", "match"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Oddity(Value, kw_only=False):
    slug: str
    line: int
    detail: str


def find_oddities(source: ast.Module, asked: Callable[[], Collection[Pair]] = tuple) -> Iterator[Oddity]:
    """Yield what looks odd in a source.

    :param asked: returns what the tests ask, from `asked_pairs`; only called where a source answers anything.
    """
    tables = find_tables(source)
    for node in ast.walk(source):
        yield from _equal_to_all(node)
        if isinstance(node, ast.Constant) and node.value in _TRACES:
            yield Oddity("sees-pytest", node.lineno, f"asks for {node.value}: it can tell that a test runs")
        elif isinstance(node, ast.Compare | ast.Call):
            if _asks_for_pytest(node):
                yield Oddity("sees-pytest", node.lineno, "asks whether pytest is loaded")
            elif isinstance(node, ast.Call) and (name := _opened_test(node)):
                yield Oddity("reads-tests", node.lineno, f"names a file of the tests: {name}")
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and (name := _named_test(node.right)):
            yield Oddity("reads-tests", node.lineno, f"names a file of the tests: {name}")
        elif isinstance(node, _Function):
            answered = count_answers(node, tables, asked)
            if answered:
                detail = f"{node.name} answers {answered} of the tests' own inputs one by one"
                yield Oddity("input-special-cased", node.lineno, detail)
            if _looks_at_caller(node):
                yield Oddity("sees-caller", node.lineno, f"{node.name} looks at who calls it")
    yield from _looks_at_arguments(source)


# --- equal to everything


def _equal_to_all(node: ast.AST) -> Iterator[Oddity]:
    match node:
        case ast.ClassDef():
            for each in node.body:
                if _is_equal_to_all(each):
                    yield Oddity("always-equal", each.lineno, f"{node.name} is equal to everything")
        case ast.Call(func=ast.Name(id="type"), args=[_, _, ast.Dict() as body]):
            for key, value in zip(body.keys, body.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "__eq__" and _never_looks(value):
                    yield Oddity("always-equal", node.lineno, "a class made by type() is equal to everything")
        case ast.Assign(targets=[ast.Attribute(attr="__eq__")], value=value) if _never_looks(value):
            yield Oddity("always-equal", node.lineno, "a class is made equal to everything")
        case ast.Attribute(attr="ANY", value=ast.Name(id="mock") | ast.Attribute(attr="mock")):
            yield Oddity("always-equal", node.lineno, "mock.ANY is equal to everything")
        case ast.ImportFrom(module="unittest.mock" | "mock") if any(each.name == "ANY" for each in node.names):
            yield Oddity("always-equal", node.lineno, "mock.ANY is equal to everything")


def _is_equal_to_all(node: ast.stmt) -> bool:
    match node:
        case ast.FunctionDef(name="__eq__"):
            returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
            return _ignores_other(node.args, node.body) and any(map(_may_be_true, returned))
        case ast.Assign(targets=[ast.Name(id="__eq__")], value=value):
            return _never_looks(value)
    return False


def _never_looks(value: ast.expr) -> bool:
    return isinstance(value, ast.Lambda) and _ignores_other(value.args, [value.body]) and _may_be_true(value.body)


def _ignores_other(arguments: ast.arguments, body: list[ast.stmt] | list[ast.expr]) -> bool:
    """Tell whether nothing in a comparison speaks of what it compares with."""
    other = next(iter([*arguments.posonlyargs, *arguments.args][1:2]), arguments.vararg)
    names = {"locals"} if other is None else {other.arg, "locals"}
    used = (each for part in body for each in ast.walk(part))
    return not any(isinstance(each, ast.Name) and each.id in names for each in used)


def _may_be_true(value: ast.expr | None) -> bool:
    match value:
        case None | ast.Name(id="NotImplemented"):
            return False
        case ast.Constant(value=constant):
            return bool(constant)
    return True


# --- whether a test runs, and which


def _asks_for_pytest(node: ast.Compare | ast.Call) -> bool:
    if isinstance(node, ast.Compare):
        asked, where = node.left, node.comparators[0]
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        asked, where = node.args[0], node.func.value
    else:
        return False
    names_it = isinstance(asked, ast.Constant) and asked.value in ("pytest", "_pytest", "unittest")
    return names_it and isinstance(where, ast.Attribute) and where.attr == "modules"


def _looks_at_arguments(source: ast.Module) -> Iterator[Oddity]:
    """Yield where the words that the program was called with are compared with pytest's name."""
    lines = set()
    for node in ast.walk(source):
        if isinstance(node, ast.Compare | ast.GeneratorExp | ast.ListComp | ast.SetComp) or (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LIKE
        ):
            parts = list(ast.walk(node))
            has_words = any(isinstance(each, ast.Attribute) and each.attr in ("argv", "orig_argv") for each in parts)
            names_it = any(_says(each, "pytest") or _says(each, "py.test") for each in parts)
            if has_words and names_it:
                lines.add(node.lineno)
    yield from (Oddity("sees-pytest", line, "asks whether pytest was called") for line in sorted(lines))


def _says(node: ast.AST, word: str) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and word in node.value


def _looks_at_caller(function: _Function) -> bool:
    """Tell whether a function asks the stack for a test, or for its caller's own variables.

    Just looking at the stack is what logging and warnings do.
    """
    parts = list(ast.walk(function))
    has_stack = any(
        isinstance(each, ast.Attribute)
        and each.attr in _STACK
        and (each.attr == "f_back" or (isinstance(each.value, ast.Name) and each.value.id in _STACK_OWNERS))
        for each in parts
    )
    if not has_stack:
        return False
    said = {id(each.value) for each in parts if isinstance(each, ast.Expr)}  # docstrings
    return any(
        (isinstance(each, ast.Attribute) and each.attr == "f_locals")
        or (isinstance(each, ast.Constant) and id(each) not in said and _TEST_WORD.search(str(each.value)) is not None)
        for each in parts
    )


def _opened_test(node: ast.Call) -> str:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name not in _OPENERS:
        return ""
    return next((found for each in node.args if (found := _named_test(each))), "")


def _named_test(node: ast.expr) -> str:
    text = node.value if isinstance(node, ast.Constant) else None
    return text if isinstance(text, str) and _TEST_FILE.search(text) and "*" not in text else ""


# --- what tests ask, read from their own sources, and sources that answer just that


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
        elif isinstance(node, ast.Tuple):
            row = [text for each in node.elts if (text := constant(each)) is not None]
            if row and len(row) == len(node.elts):
                yield from _each_and_all(node.elts[:-1], row[-1])


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


def find_tables(source: ast.Module) -> dict[str, ast.Dict]:
    """Return the tables that have a name in a source."""
    found: dict[str, ast.Dict] = {}
    for node in ast.walk(source):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as table):
                found[name] = table
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict() as table):
                found[name] = table
    return found


def count_answers(function: _Function, tables: Mapping[str, ast.Dict], asked: Callable[[], Collection[Pair]]) -> int:
    """Return how many of the tests' own inputs a function answers one by one; 0 where it is fewer than two.

    :param tables: those that have a name.
    :param asked: returns what the tests ask; only called where a function answers anything.
    """
    chosen = set(_chosen(function))
    known = chosen & set(asked()) if len(chosen) >= _ANSWERS else set()
    for table in _looked_up(function, tables):
        rows = set(_rows(table))
        # A table of which tests try a part is a table; one that has their inputs and nothing else is a list of answers.
        if len(rows) >= _ANSWERS and len(rows) == len(table.keys) and rows <= set(asked()):
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
        case ast.MatchValue(value=value) if (text := constant(value)) is not None:
            yield text
        case ast.MatchSingleton(value=value):
            yield repr(value)


def _looked_up(function: _Function, tables: Mapping[str, ast.Dict]) -> Iterator[ast.Dict]:
    for node in ast.walk(function):
        place: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            place = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            place = node.func.value
        if isinstance(place, ast.Dict):
            yield place
        elif isinstance(place, ast.Name) and place.id in tables:
            yield tables[place.id]


def _rows(table: ast.Dict) -> Iterator[Pair]:
    for key, value in zip(table.keys, table.values, strict=True):
        yield from _pair(constant(key), constant(value))


def _returned(then: ast.stmt) -> str | None:
    return constant(then.value) if isinstance(then, ast.Return) else None


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
