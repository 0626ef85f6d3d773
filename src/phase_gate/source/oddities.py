"""Code under test that looks made for its tests. Advisory only: each of these has honest uses, too.

Pure. A proof can't see sources that tell a test from real use by themselves; this looks for the plain ways to do so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator

from phase_gate.source.answers import Pair, count_answers, find_tables
from phase_gate.values import Value

#: What pytest leaves in the environment while a test runs.
_TRACES = frozenset({"PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER"})
#: Ways to see who calls.
_STACK = frozenset(
    {
        "sys._getframe",
        "inspect.currentframe",
        "inspect.getouterframes",
        "inspect.stack",
        "traceback.extract_stack",
        "traceback.walk_stack",
    }
)
#: A file of tests, or one that lies in their folder, by name.
_TEST_FILE = r"(^|[/\\])(test_\w+\.py|\w+_test\.py|conftest\.py)$|(^|[/\\])tests?[/\\]\w"
_TEST_MODULE = r"test_\w+|\w+_test|conftest"
_TEST_WORD = r"(?<![a-z])(py|con|unit)?test"
_OPENERS = frozenset(
    {"open", "Path", "PurePath", "joinpath", "with_name", "read_text", "read_bytes", "getlines", "getline", "join"}
)
_LIKE = frozenset({"endswith", "startswith", "find", "count", "search", "match"})
#: Where a program sees how it was called, what is loaded and what is set; and the word that gives pytest away there.
_TOLD = {"sys.argv": "pytest", "sys.orig_argv": "pytest", "sys.modules": "pytest", "os.environ": "PYTEST"}
_TELLS = {"sys.modules": "asks whether pytest is loaded", "os.environ": "asks whether pytest runs"}
_ANY = frozenset({"unittest.mock.ANY", "unittest.mock._ANY", "mock.ANY"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Oddity(Value, kw_only=False):
    slug: str
    line: int
    detail: str


def find_oddities(
    source: ast.Module, asked: Callable[[], Collection[Pair]] = tuple, tests: Collection[str] = ()
) -> Iterator[Oddity]:
    """Yield what looks odd in a source.

    :param asked: returns what the tests ask, from `asked_pairs`; only called where a source answers anything.
    :param tests: the names of the modules that have tests, without their packages.
    """
    names = _Names(source)
    found = {*_equal_to_all(source, names), *_sees_pytest(source, names), *_reads_tests(source, names, tests)}
    tables = find_tables(source)
    for name, function in _functions(source):
        if answered := count_answers(function, tables, asked):
            detail = f"{name} answers {answered} of the tests' own inputs one by one"
            found.add(Oddity("input-special-cased", function.lineno, detail))
        if isinstance(function, _Function) and _looks_at_caller([function], names):
            found.add(Oddity("sees-caller", function.lineno, f"{name} looks at who calls it"))
    plain = [each for each in source.body if not isinstance(each, _Function | ast.ClassDef)]
    for statement in plain:
        if _looks_at_caller([statement], names):
            found.add(Oddity("sees-caller", statement.lineno, "the module looks at who imports it"))
    yield from sorted(found, key=lambda odd: (odd.line, odd.slug, odd.detail))


def _functions(source: ast.Module) -> Iterator[tuple[str, _Function | ast.Lambda]]:
    for node in ast.walk(source):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as function):
                yield name, function


class _Names:
    """What the names of a source stand for: what they are imported from, and what they are once and for all."""

    def __init__(self, source: ast.Module) -> None:
        self._imported: dict[str, str] = {}
        self._values: dict[str, ast.expr] = {}
        self._functions: dict[str, ast.FunctionDef] = {}
        for node in ast.walk(source):
            match node:
                case ast.Import(names=aliases):
                    self._imported |= {each.asname: each.name for each in aliases if each.asname}
                case ast.ImportFrom(module=str() as module, names=aliases, level=0):
                    self._imported |= {each.asname or each.name: f"{module}.{each.name}" for each in aliases}
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._values[name] = value
                case ast.FunctionDef(name=name):
                    self._functions[name] = node

    def full(self, node: ast.AST) -> str:
        """Return the whole name of what a name or an attribute stands for; empty for anything else."""
        match node:
            case ast.Name(id=name):
                return self._imported.get(name, name)
            case ast.Attribute(value=owner, attr=name) if full := self.full(owner):
                return f"{full}.{name}"
        return ""

    def value(self, node: ast.expr) -> ast.expr:
        """Return what a name was given, or the expression itself."""
        return self._values.get(node.id, node) if isinstance(node, ast.Name) else node

    def function(self, node: ast.expr) -> ast.FunctionDef | ast.Lambda | None:
        """Return the function that an expression is or names."""
        if isinstance(node, ast.Name) and node.id in self._functions:
            return self._functions[node.id]
        value = self.value(node)
        return value if isinstance(value, ast.Lambda) else None


# --- equal to everything


def _equal_to_all(source: ast.Module, names: _Names) -> Iterator[Oddity]:
    for node in ast.walk(source):
        match node:
            case ast.ClassDef():
                for each in node.body:
                    if _is_equal_to_all(each, names):
                        yield Oddity("always-equal", each.lineno, f"{node.name} is equal to everything")
            case ast.Call(func=function, args=[*_, body]) if names.full(function) in ("type", "type.__new__"):
                if any(_never_looks(each, names) for each in _given_as_eq(names.value(body))):
                    yield Oddity("always-equal", node.lineno, "a class made by type() is equal to everything")
            case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value="__eq__"), value]):
                if _never_looks(value, names):
                    yield Oddity("always-equal", node.lineno, "a class is made equal to everything")
            case ast.Assign(targets=[ast.Attribute(attr="__eq__")], value=value) if _never_looks(value, names):
                yield Oddity("always-equal", node.lineno, "a class is made equal to everything")
            case ast.Assign(
                targets=[ast.Attribute(attr="return_value", value=ast.Attribute(attr="__eq__"))], value=value
            ) if isinstance(value, ast.Constant) and value.value:
                yield Oddity("always-equal", node.lineno, "a mock is made equal to everything")
            case ast.Attribute() if names.full(node) in _ANY:
                yield Oddity("always-equal", node.lineno, "mock.ANY is equal to everything")
            case ast.ImportFrom(module="unittest.mock" | "mock"):
                if any(each.name in ("ANY", "_ANY") for each in node.names):
                    yield Oddity("always-equal", node.lineno, "mock.ANY is equal to everything")


def _given_as_eq(body: ast.expr) -> Iterator[ast.expr]:
    match body:
        case ast.Dict():
            for key, value in zip(body.keys, body.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "__eq__":
                    yield value
        case ast.Call(func=ast.Name(id="dict")):
            yield from (each.value for each in body.keywords if each.arg == "__eq__")


def _is_equal_to_all(node: ast.stmt, names: _Names) -> bool:
    match node:
        case ast.FunctionDef(name="__eq__"):
            return _never_looks(node, names)
        case ast.Assign(targets=[ast.Name(id="__eq__")], value=value):
            return _never_looks(value, names)
    return False


def _never_looks(value: ast.expr | ast.FunctionDef, names: _Names) -> bool:
    """Tell whether a comparison never looks at what it compares with, and may say that both are equal."""
    function = value if isinstance(value, ast.FunctionDef) else names.function(value)
    match function:
        case ast.FunctionDef():
            returned = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
            return _ignores_other(function.args, function.body) and any(map(_may_be_true, returned))
        case ast.Lambda():
            return _ignores_other(function.args, [function.body]) and _may_be_true(function.body)
    return False


def _ignores_other(arguments: ast.arguments, body: list[ast.stmt] | list[ast.expr]) -> bool:
    """Tell whether nothing in a comparison speaks of what it compares with, itself left out: `other is other`."""
    other = next(iter([*arguments.posonlyargs, *arguments.args][1:2]), arguments.vararg)
    looks = {"locals"} if other is None else {other.arg, "locals"}
    nodes = [each for part in body for each in ast.walk(part)]
    with_itself = {
        id(each)
        for node in nodes
        if isinstance(node, ast.Compare) and len({ast.dump(each) for each in (node.left, *node.comparators)}) == 1
        for each in ast.walk(node)
    }
    return not any(
        isinstance(each, ast.Name)
        and isinstance(each.ctx, ast.Load)
        and each.id in looks
        and id(each) not in with_itself
        for each in nodes
    )


def _may_be_true(value: ast.expr | None) -> bool:
    match value:
        case None | ast.Name(id="NotImplemented"):
            return False
        case ast.Constant(value=constant):
            return bool(constant)
    return True


# --- whether a test runs, and which


def _sees_pytest(source: ast.Module, names: _Names) -> Iterator[Oddity]:
    """Yield where a source asks whether pytest set, loaded or called anything."""
    for node in ast.walk(source):
        if isinstance(node, ast.Constant) and node.value in _TRACES:
            yield Oddity("sees-pytest", node.lineno, f"asks for {node.value}: it can tell that a test runs")
        elif isinstance(node, ast.Subscript | ast.Call) and _takes_pytest(node, names):
            yield Oddity("sees-pytest", node.lineno, _TELLS["sys.modules"])
        elif isinstance(node, ast.Compare | ast.GeneratorExp | ast.ListComp | ast.SetComp) or (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LIKE
        ):
            for told in _told(node, names):
                if any(_says(each, _TOLD[told]) for each in ast.walk(node)):
                    detail = _TELLS.get(told, "asks whether pytest was called")
                    yield Oddity("sees-pytest", node.lineno, detail)


def _takes_pytest(node: ast.Subscript | ast.Call, names: _Names) -> bool:
    match node:
        case (
            ast.Subscript(value=where, slice=asked, ctx=ast.Load())
            | ast.Call(func=ast.Attribute(attr="get", value=where), args=[asked, *_])
        ):
            named = isinstance(asked, ast.Constant) and asked.value in ("pytest", "_pytest", "unittest")
            return named and names.full(where) == "sys.modules"
    return False


def _told(node: ast.AST, names: _Names) -> set[str]:
    """Return what an expression takes from the world outside, itself or by the name that it was given."""
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute):
            meant = {names.full(part) for part in ast.walk(names.value(each))} if isinstance(each, ast.Name) else set()
            found |= ({names.full(each)} | meant) & set(_TOLD)
    return found


def _says(node: ast.AST, word: str) -> bool:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return node.value in ("PYTEST", "PYTEST_") if word == "PYTEST" else word in node.value or "py.test" in node.value


def _looks_at_caller(nodes: Collection[ast.AST], names: _Names) -> bool:
    """Tell whether code asks the stack for a test, or for its caller's own variables.

    Just looking at the stack is what logging and warnings do.
    """
    parts = [each for node in nodes for each in ast.walk(node)]
    has_stack = any(
        (isinstance(each, ast.Attribute) and each.attr == "f_back")
        or (isinstance(each, ast.Name | ast.Attribute) and names.full(each) in _STACK)
        for each in parts
    )
    if not has_stack:
        return False
    said = {id(each.value) for each in parts if isinstance(each, ast.Expr)}  # docstrings
    return any(
        (isinstance(each, ast.Attribute) and each.attr == "f_locals")
        or (
            isinstance(each, ast.Constant)
            and id(each) not in said
            and re.search(_TEST_WORD, str(each.value)) is not None
        )
        for each in parts
    )


def _reads_tests(source: ast.Module, names: _Names, tests: Collection[str]) -> Iterator[Oddity]:
    for node in ast.walk(source):
        named: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _OPENERS:
                named = node.args
            case ast.BinOp(op=ast.Div(), right=right):
                named = [right]
            case ast.Import(names=aliases):
                yield from _imports_tests(node, [each.name for each in aliases], tests)
            case ast.ImportFrom(module=module, names=aliases):
                yield from _imports_tests(node, [module or "", *(each.name for each in aliases)], tests)
        for each in named:
            if text := _named_test(names.value(each)):
                yield Oddity("reads-tests", each.lineno, f"names a file of the tests: {text}")


def _imports_tests(node: ast.stmt, modules: list[str], tests: Collection[str]) -> Iterator[Oddity]:
    for module in modules:
        last = module.rpartition(".")[2]
        if last in tests and re.fullmatch(_TEST_MODULE, last):
            yield Oddity("reads-tests", node.lineno, f"imports the tests: {module}")


def _named_test(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        node = node.values[-1] if node.values else node
    text = node.value if isinstance(node, ast.Constant) else None
    return text if isinstance(text, str) and re.search(_TEST_FILE, text) and "*" not in text else ""
