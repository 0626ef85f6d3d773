"""What a test takes from modules and calls: at this boundary something can stand in for code that can't be emptied.

Pure: a syntax tree in, names out. What is there for its type and not for what it does is left alone: exceptions, what
`isinstance`, annotations and bases name, decorators.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from phase_gate.source.names import FunctionNode, last_name
from phase_gate.values import Value

#: Calls that ask for types: first, or behind a value.
_TYPES_FIRST = frozenset(
    {"raises", "warns", "suppress", "assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex", "cast"}
    | {"RaisesGroup"}
)
_TYPES_THEN = frozenset({"isinstance", "issubclass", "assertIsInstance", "assertNotIsInstance"})


class Taken(Value):
    """A name that a test calls."""

    #: As the test imports it: with dots in front where that is relative.
    module: str
    name: str
    #: What the test's module calls it; empty where it goes through the module.
    alias: str = ""


def find_taken(test: FunctionNode, tree: ast.Module) -> list[Taken]:
    """Return the imported names that a test calls, itself or in functions of its file, in the order of the calls."""
    imports, types = Imports(tree), _find_types(tree)
    found: dict[Taken, None] = {}
    for call in _walk_calls(test, tree):
        if ast.unparse(call.func) not in types and (taken := imports.find(call.func)) is not None:
            found.setdefault(taken)
    return list(found)


class Imports:
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


def _find_types(tree: ast.Module) -> set[str]:
    """Return what is named for its type, as it is written."""
    return {ast.unparse(each) for whole in _walk_types(tree) for each in ast.walk(whole) if isinstance(each, ast.expr)}


def _walk_types(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=asked, args=[first, *others]):
                name = last_name(asked)
                yield from [first] if name in _TYPES_FIRST else others if name in _TYPES_THEN else []
            case ast.ExceptHandler(type=ast.expr() as kind):
                yield kind
            case ast.Raise(exc=ast.expr() as raised):
                yield _called(raised)
            case ast.ClassDef(bases=bases, decorator_list=decorators):
                yield from (*bases, *map(_called, decorators))
            case ast.FunctionDef(decorator_list=decorators) | ast.AsyncFunctionDef(decorator_list=decorators):
                yield from map(_called, decorators)
                yield from [node.returns] if node.returns is not None else []
            case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
                yield annotation


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def find_line(source: bytes, name: str) -> int:
    """Return the line in which a module gets this name; 1 where that can't be told."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return 1
    for node in tree.body:
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        names |= {each.asname or each.name for each in ast.walk(node) if isinstance(each, ast.alias)}
        if name in names or getattr(node, "name", "") == name:
            return node.lineno
    return 1
