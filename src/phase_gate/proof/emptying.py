"""A source in which some functions do nothing.

Pure: texts in, texts out. Signature, decorators, async and generator nature stay; only the body goes.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Collection
from typing import Literal, get_args

from phase_gate.source.functions import Function, walk_functions
from phase_gate.source.names import FunctionNode

#: What an emptied function gives: something false, or something true; or it changes what it was given, and no more.
Stub = Literal["false", "true", "spoiling"]
STUBS: tuple[Stub, ...] = get_args(Stub)

#: The module that emptied functions take their answer from: `inside.nothing`, by a name that no source can know.
NOTHING = f"module_{os.urandom(8).hex()}"


def empty(source: str, names: Collection[str], stub: Stub) -> str:
    """Return the source with these functions emptied."""
    lines = source.splitlines(keepends=True)
    # From the end, so that what is still to be replaced stays where it is.
    found = [(function, node) for function, node in walk_functions(ast.parse(source)) if function.name in names]
    for function, node in sorted(found, key=lambda each: each[1].lineno, reverse=True):
        # The examples in a docstring are tests of it.
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        first, last = body[0], body[-1]
        start, begin = first.lineno - 1, _column(lines[first.lineno - 1], first.col_offset)
        decorators = getattr(first, "decorator_list", None)
        if decorators:
            start, begin = decorators[0].lineno - 1, _column(lines[decorators[0].lineno - 1], first.col_offset)
        end = (last.end_lineno or last.lineno) - 1
        rest = lines[end][_column(lines[end], last.end_col_offset or 0) :]
        text = "; ".join(_body(function, node, stub))
        lines[start : end + 1] = [lines[start][:begin] + text + rest]
    return "".join(lines)


def _column(line: str, offset: int) -> int:
    """Return the place in the text of a place in its UTF-8."""
    return len(line.encode("utf-8")[:offset].decode("utf-8", "ignore"))


def _body(function: Function, node: FunctionNode, stub: Stub) -> list[str]:
    nothing = f"__import__({NOTHING!r}, fromlist=['x'])"
    value = f"{nothing}.spoil(locals())" if stub == "spoiling" else f"{nothing}.{stub.upper()}"
    if _is_generator(node):
        # What is iterated over is empty, or has the value in it: a test may want that nothing comes.
        return ["return", "yield"] if stub == "false" else [f"yield {value}"]
    last = function.name.rpartition(".")[2]
    if last == "__init__":
        # With its attributes, so that methods find something, and the test's own line fails.
        return [*(f"{each} = {value}" for each in _attributes(node)), "return None"]
    if last in ("__exit__", "__aexit__"):
        return ["return None"]
    return [f"return {value}"]


def _attributes(node: FunctionNode) -> list[str]:
    """Return what a constructor gives its object: `self.name`, each once."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    own = parameters[0].arg if parameters else ""
    found = [
        f"{own}.{each.attr}"
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, ast.Store)
        and isinstance(each.value, ast.Name)
        and each.value.id == own
    ]
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
