"""What the source of a target says: what it calls, whether it checks something, and what it compares answers with.

Pure: texts in, names out. For the names that a test takes from modules something can stand in where they can't be
emptied.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from phase_gate.gate.inventory import split_id
from phase_gate.source.checks import find_function, has_check
from phase_gate.source.names import FunctionNode, last_name
from phase_gate.source.tests import parse_source
from phase_gate.values import Value


class Taken(Value):
    """A name that a test calls."""

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
    compared: tuple[tuple[int, frozenset[str]], ...] = ()


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

    def find(self, called: ast.expr) -> Taken | None:
        if isinstance(called, ast.Name):
            return self._names.get(called.id)
        if isinstance(called, ast.Attribute) and (module := self._modules.get(ast.unparse(called.value))):
            return Taken(module=module, name=called.attr)
        return None


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


def _walk_compared(test: FunctionNode, imports: _Imports) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield lines, and what an answer is compared with there: a reference, a bound, or the function that compares."""

    def names(*sides: ast.expr) -> frozenset[str]:
        nodes = (node for side in sides for node in ast.walk(side) if isinstance(node, ast.Name | ast.Attribute))
        return frozenset(taken.name for node in nodes if (taken := imports.find(node)) is not None)

    def answers(side: ast.expr) -> bool:
        return any(isinstance(node, ast.Call) and imports.find(node.func) is not None for node in ast.walk(side))

    for node in ast.walk(test):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.Lt() | ast.LtE()], comparators=[right]) if answers(left):
                yield node.lineno, names(right) - names(left)
            case ast.Assert(test=ast.Call(func=compares, args=[_, _, *_] as given, keywords=more)):
                if any(map(answers, given)):
                    yield node.lineno, names(compares, *(each.value for each in more))


def statements_of(source: bytes) -> list[ast.stmt]:
    """Return the statements of a source; none for what is no Python."""
    try:
        return parse_source(source).body
    except (SyntaxError, ValueError):
        return []
