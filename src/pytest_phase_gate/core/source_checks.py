"""What the source of a test says about itself: does it check anything, and what does the failing line do?

Pure: syntax trees in, answers out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_phase_gate.core.failures import Statement

#: Calls whose name says that they check, however they do it.
_CHECKING_WORDS = ("assert", "check", "expect", "verify", "raises", "warns", "should")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_function(tree: ast.Module, name: str) -> _Function | None:
    """Return the definition of `test_x` or `TestC::test_x`; the last one if there are several."""
    body: list[ast.stmt] = tree.body
    *classes, function = name.split("::")
    for part in classes:
        found = [node for node in _walk_blocks(body) if isinstance(node, ast.ClassDef) and node.name == part]
        if not found:
            return None
        body = found[-1].body
    functions = [node for node in _walk_blocks(body) if isinstance(node, _Function) and node.name == function]
    return functions[-1] if functions else None


def _walk_blocks(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody"):
            if not isinstance(node, _Function | ast.ClassDef):
                yield from _walk_blocks(getattr(node, inner, []))
        for handler in getattr(node, "handlers", []):
            yield from _walk_blocks(handler.body)


def has_check(function: _Function) -> bool:
    """Tell whether the test's body asserts something that is not constant."""
    constants = _constant_names(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and not _is_constant(node.test, constants):
            return True
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if any(word in called.lower() for word in _CHECKING_WORDS):
                return True
    return False


def statement_at(tree: ast.Module, line: int) -> Statement:
    """Return what the innermost statement on that line does."""
    best: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            if isinstance(node, _Function | ast.ClassDef):
                continue
            if best is None or (node.lineno, -(node.end_lineno or 0)) >= (best.lineno, -(best.end_lineno or 0)):
                best = node
    if isinstance(best, ast.Raise):
        return "raise"
    if isinstance(best, ast.Assert):
        function = _function_around(tree, line)
        constants = frozenset() if function is None else _constant_names(function)
        return "constant assert" if _is_constant(best.test, constants) else "assert"
    return "other"


def _function_around(tree: ast.Module, line: int) -> _Function | None:
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, _Function) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno, default=None)


def _constant_names(function: _Function) -> frozenset[str]:
    """Return the local names that are only ever given constants."""
    constant: set[str] = set()
    other: set[str] = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            (constant if _is_constant(node.value, frozenset()) else other).update(names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and not _is_plain_target(function, node):
            other.add(node.id)  # bound in some other way as well: a loop, a with, an unpacking, +=
    return frozenset(constant - other)


def _is_plain_target(function: _Function, name: ast.Name) -> bool:
    return any(isinstance(node, ast.Assign) and name in node.targets for node in ast.walk(function))


def _is_constant(expression: ast.expr, constants: frozenset[str]) -> bool:
    """Tell whether the expression has the same value whatever the code under test does."""
    return all(
        not isinstance(node, ast.Call | ast.Attribute | ast.Await | ast.Subscript)
        and (not isinstance(node, ast.Name) or node.id in constants)
        for node in ast.walk(expression)
    )
