"""What a test reaches: the names that it uses, and those that their definitions use in turn.

Pure: a syntax tree in, values out. It says which code around a test has to stay as it is where the test moves.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from phase_gate.source.fixtures import provided_name, requested_names
from phase_gate.source.module_code import bound_names, split_import
from phase_gate.values import Value

_Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Stands for a module beside this one.
NEIGHBOUR = "."


class Reach(Value, kw_only=False):
    names: frozenset[str]
    #: Modules that those names come from, by their first word.
    modules: frozenset[str]


def find_reach(tree: ast.Module, tests: Collection[str]) -> dict[str, Reach]:
    """Return what each of these tests reaches, by bare name: all of the module where it can't be seen."""
    parts = [part for statement in tree.body for part in split_import(statement)]
    binding: dict[str, list[ast.stmt]] = {}
    for part in parts:
        for name in {*bound_names(part), provided_name(part)} - {""}:
            binding.setdefault(name, []).append(part)
    nodes = dict(_functions(tree.body, ""))
    whole = _reach(parts, binding)
    return {name: _reach(nodes[name], binding) if name in nodes else whole for name in tests}


def _functions(body: list[ast.stmt], prefix: str) -> Iterable[tuple[str, list[ast.AST]]]:
    """Yield tests by their names: each with the classes that it stands in, where they hold more than tests."""
    for node in body:
        if isinstance(node, _Function):
            yield prefix + node.name, [node]
        elif isinstance(node, ast.ClassDef):
            around = [each for each in ast.iter_child_nodes(node) if not _is_test(each)]
            for name, nodes in _functions(node.body, f"{prefix}{node.name}::"):
                yield name, [*nodes, *around]


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, _Function | ast.ClassDef) and node.name.lower().startswith("test")


def _reach(nodes: Iterable[ast.AST], binding: dict[str, list[ast.stmt]]) -> Reach:
    names: set[str] = set()
    modules: set[str] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        found = set(requested_names(node))
        for each in ast.walk(node):
            match each:
                case ast.Name(id=name) | ast.arg(arg=name):
                    # An argument of a test or a fixture is the name of a fixture.
                    found.add(name)
                case ast.Import(names=aliases):
                    modules.update(alias.name.partition(".")[0] for alias in aliases)
                case ast.ImportFrom(module=module, level=level):
                    modules.add(NEIGHBOUR if level else str(module).partition(".")[0])
        for name in found - names:
            pending += binding.get(name, ())
        names |= found
    return Reach(frozenset(names), frozenset(modules))
