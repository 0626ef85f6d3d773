"""Fixtures, as the source shows them: which names a file asks for, and which name a definition provides.

Pure. pytest joins the two by name, the nearest definition first: a new one between a test and what it has been getting
changes the test without touching it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_ASKING_CALLS = frozenset({"usefixtures", "getfixturevalue"})


def requested_names(tree: ast.AST, *, tests: Collection[str] = ()) -> frozenset[str]:
    """Return what the tests and fixtures in the tree ask for: by their arguments, by a mark, by a call.

    :param tests: bare names; `TestC::test_x` is a method.
    """
    functions = {name.rpartition("::")[2] for name in tests}
    return frozenset(_asked_for(tree, functions)) - {"self", "cls", "request"}


def _asked_for(tree: ast.AST, functions: Collection[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, _Function) and (node.name in functions or provided_name(node)):
            arguments = node.args
            yield from (each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
        elif isinstance(node, ast.Call) and _last_name(node.func) in _ASKING_CALLS:
            for each in node.args:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


def provided_name(statement: ast.stmt) -> str:
    """Return the name of the fixture that a statement defines; empty if it defines none."""
    if isinstance(statement, _Function):
        for mark in statement.decorator_list:
            if _last_name(mark) == "fixture":
                return _given_name(mark) or statement.name
    return ""


def _given_name(mark: ast.expr) -> str:
    for keyword in getattr(mark, "keywords", ()):
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return ""


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner):
            return _last_name(inner)
    return ""
