"""What the source of a target says: what it calls, whether it checks something, and what it compares answers with.

Pure: texts in, names out. For the names that a test takes from modules something can stand in where they can't be
emptied.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from phase_gate.gate.inventory import split_id
from phase_gate.source.checks import find_function, has_check
from phase_gate.source.functions import find_functions
from phase_gate.source.names import FunctionNode, last_name
from phase_gate.source.tests import parse_source
from phase_gate.values import Value


class Taken(Value):
    """A name that a test takes from a module."""

    #: As the test imports it: with dots in front where that is relative.
    module: str
    name: str
    #: What the test's module calls it; empty where it goes through the module.
    alias: str = ""

    def is_from(self, path: str) -> bool:
        """Tell whether a file may be the module."""
        module = self.module.lstrip(".").replace(".", "/")
        return f"/{path}".endswith((f"/{module}.py", f"/{module}/__init__.py"))


class TargetSource(Value):
    """The source of a target."""

    #: The imported names that it calls, itself or in functions of its file, in the order of the calls.
    taken: tuple[Taken, ...] = ()
    #: In doubt it has: a test may be inherited, or made by code.
    has_check: bool = True
    #: Its lines in which an answer is compared, and the imported names by which, or with which, that is done.
    compared: tuple[tuple[int, frozenset[Taken]], ...] = ()


def read_target(target: str, read: Callable[[str], bytes]) -> TargetSource:
    """Return what is written in a target.

    :param read: gives the text of a file.
    """
    file, name = split_id(target)
    try:
        tree = parse_source(read(file))
    except (OSError, SyntaxError, ValueError):
        return TargetSource()
    if (test := find_function(tree, name)) is None:
        return TargetSource()
    imports = _Imports(tree)
    found = (imports.find(call.func) for call in _walk_calls(test, tree))
    taken = tuple(dict.fromkeys(each for each in found if each is not None))
    return TargetSource(
        taken=taken,
        has_check=has_check(test, tree, under_test={each.alias or each.name for each in taken}),
        compared=tuple(_walk_compared(test, imports)),
    )


class _Imports:
    """What a file of tests imports."""

    def __init__(self, tree: ast.Module) -> None:
        #: By what they are called in the file: modules, and what is taken from them.
        self._modules: dict[str, str] = {}
        self._names: dict[str, Taken] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._modules |= {each.asname or each.name: each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                for each in node.names:
                    alias = each.asname or each.name
                    self._names[alias] = Taken(module=module, name=each.name, alias=alias)
                    # It may be a module of a package as well.
                    self._modules[alias] = f"{module}{'' if module.endswith('.') else '.'}{each.name}"

    def find(self, node: ast.AST) -> Taken | None:
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.Attribute) and (module := self._modules.get(ast.unparse(node.value))):
            return Taken(module=module, name=node.attr)
        return None

    def find_all(self, *nodes: ast.expr) -> frozenset[Taken]:
        found = (self.find(each) for node in nodes for each in ast.walk(node))
        return frozenset(each for each in found if each is not None)


def _walk_calls(test: FunctionNode, tree: ast.Module) -> Iterator[ast.Call]:
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, FunctionNode)}
    waiting, seen = [test], {test.name}
    while waiting:
        for statement in waiting.pop(0).body:
            for node in ast.walk(statement):
                if not isinstance(node, ast.Call):
                    continue
                yield node
                name = last_name(node.func)
                if name in functions and name not in seen:
                    seen.add(name)
                    waiting.append(functions[name])


def _walk_compared(test: FunctionNode, imports: _Imports) -> Iterator[tuple[int, frozenset[Taken]]]:
    """Yield lines, and what an answer is compared with there: a reference, a bound, or the function that compares."""

    def answers(side: ast.expr) -> bool:
        return any(isinstance(node, ast.Call) and imports.find(node.func) is not None for node in ast.walk(side))

    for node in ast.walk(test):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.Lt() | ast.LtE()], comparators=[right]) if answers(left):
                yield node.lineno, imports.find_all(right) - imports.find_all(left)
            case ast.Assert(test=ast.Call(func=compares, args=[_, _, *_] as given, keywords=more)):
                if any(map(answers, given)):
                    yield node.lineno, imports.find_all(compares, *(each.value for each in more))


# --- what a test compares with, and a source has changed


def name_references(
    written: Mapping[str, TargetSource], before: Mapping[str, bytes], now: Mapping[str, bytes]
) -> Iterator[str]:
    """Say which targets compare with what a source answers or holds, where that may be another one since RED.

    :param written: what the sources of the targets say.
    :param before: path -> text, of changed sources in RED; `now` likewise.
    """
    changed = {path: dict(_changed(before.get(path, b""), text)) for path, text in now.items()}
    for target, source in written.items():
        for line, names in source.compared:
            found = {
                f"{path}:{lines[each.name]} {each.name}"
                for each in names
                for path, lines in changed.items()
                if each.name in lines and each.is_from(path)
            }
            for each in sorted(found):
                yield f"{split_id(target)[0]}:{line} compares with {each}, which has changed since RED"


def _changed(before: bytes, now: bytes) -> Iterable[tuple[str, int]]:
    """Return the functions and values of a module that are not what they were, and their lines; not what was a stub."""
    known = {name: each for name, each in find_functions(before).items() if not each.left_out}
    for name, function in find_functions(now).items():
        if name in known and known[name].hash != function.hash:
            yield name, function.line
    values = _values(before)
    for name, (line, value) in _values(now).items():
        if values.get(name, (0, value))[1] != value:
            yield name, line


def _values(source: bytes) -> dict[str, tuple[int, str]]:
    """Return the names that a module gives values to, with their lines, and the values as they are written."""
    found = {}
    for node in statements_of(source):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = (node.lineno, ast.unparse(value))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = (node.lineno, ast.unparse(value))
    return found


def statements_of(source: bytes) -> list[ast.stmt]:
    """Return the statements of a source; none for what is no Python."""
    try:
        return parse_source(source).body
    except (SyntaxError, ValueError):
        return []
