"""A source in which some functions do nothing, and something stands in for other names.

Pure: texts in, texts out. Signature, decorators, async and generator nature stay; only the body goes.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Collection
from typing import Literal, get_args

from phase_gate.source.functions import FunctionNode, walk_functions

#: What an emptied function gives: something false, or something true; or it changes what it was given, and no more.
Stub = Literal["false", "true", "spoiling"]
STUBS: tuple[Stub, ...] = get_args(Stub)

#: The module that emptied functions take their answer from: `inside.nothing`, by a name that no source can know.
NOTHING = f"module_{os.urandom(8).hex()}"


def empty(source: bytes, names: Collection[str], stub: Stub) -> bytes:
    """Return the source with these functions emptied; what such a function returns stands in for other names."""
    tree = ast.parse(source)
    found = [(function, node) for function, node in walk_functions(tree) if function.name in names]
    for function, node in found:
        # The examples in a docstring are tests of it.
        documented = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        node.body = [*documented, *ast.parse(_body(function.name, node, stub)).body]
    others = sorted({*names} - {function.name for function, _ in found})
    tree.body += ast.parse("\n".join(f"{name} = {_value(stub)}" for name in others)).body
    return ast.unparse(tree).encode("utf-8")


def _value(stub: Stub) -> str:
    nothing = f"__import__({NOTHING!r}, fromlist=['x'])"
    return f"{nothing}.spoil(locals())" if stub == "spoiling" else f"{nothing}.{stub.upper()}"


def _body(name: str, node: FunctionNode, stub: Stub) -> str:
    value, last = _value(stub), name.rpartition(".")[2]
    if _is_generator(node):
        # What is iterated over is empty, or has the value in it: a test may want that nothing comes.
        return "return\nyield" if stub == "false" else f"yield {value}"
    if last == "__init__":
        # With its attributes, so that methods find something, and the test's own line fails.
        return "\n".join([*(f"{each} = {value}" for each in _attributes(node)), "return None"])
    return "return None" if last in ("__exit__", "__aexit__") else f"return {value}"


def _attributes(node: FunctionNode) -> list[str]:
    """Return what a constructor gives its object: `self.name`, each once."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    own = parameters[0].arg if parameters else ""
    stored = (each for each in ast.walk(node) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store))
    found = (f"{own}.{each.attr}" for each in stored if isinstance(each.value, ast.Name) and each.value.id == own)
    return list(dict.fromkeys(found))


def _is_generator(node: FunctionNode) -> bool:
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        each = waiting.pop()
        if isinstance(each, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(each))
    return False
