"""Find out from a test's source whether it checks anything, and what the failing line does.

Pure: syntax trees in, answers out. In doubt an expression is not constant, and may count as a check.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from phase_gate.source.syntax_names import Definition, FunctionNode, flat, last_name, named_functions

#: Calls with one of these words in their name count as checks.
_CHECKING_WORDS = frozenset(
    {"assert", "asserts", "check", "checks", "ensure", "expect", "must", "raises", "should", "verify", "warns"}
)

#: Words in the name of a function that is there for nothing but a check, and in the path of a source that is for tests.
_ASSERTING = frozenset({"assert", "asserts", "expect", "expects", "should"})
_TESTING = frozenset({"test", "tests", "testing", "assert", "asserts", "assertions"})

#: Checks of unittest that compare; what a project names differently may look at anything.
_UNITTEST = frozenset(
    {"assertAlmostEqual", "assertCountEqual", "assertDictEqual", "assertEqual", "assertFalse"}
    | {"assertGreater", "assertGreaterEqual", "assertIn", "assertIs", "assertIsNone", "assertIsNot"}
    | {"assertIsNotNone", "assertLess", "assertLessEqual", "assertListEqual", "assertNotEqual"}
    | {"assertNotIn", "assertSequenceEqual", "assertTrue", "assertTupleEqual"}
)


def find_function(tree: ast.Module, name: str) -> FunctionNode | None:
    """Return the definition of `test_x` or `TestC::test_x`; the last one if there are several."""
    return {each.name: each.node for each in named_functions(tree.body)}.get(name)


def has_check(function: FunctionNode, tree: ast.Module, *, under_test: Collection[str] = ()) -> bool:
    """Return whether the test's body, or a helper in its file, checks something that is not constant.

    :param under_test: functions that are not checks, whatever their names.
    """
    seen: set[str] = set(under_test)
    pending = [function]
    while pending:
        called = _check_or_calls(pending.pop(), under_test)
        if called is None:
            return True
        for name in called - seen:
            pending += [node for node in ast.walk(tree) if isinstance(node, FunctionNode) and node.name == name]
        seen |= called
    return False


def _check_or_calls(function: FunctionNode, under_test: Collection[str]) -> set[str] | None:
    """Return None if the function checks something, else the names of what it calls."""
    called: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and not is_constant(node.test):
            return None
        if isinstance(node, ast.Call) and not is_constant_check(node):
            called.add(last_name(node.func))
    if any(_CHECKING_WORDS & _words(name) for name in called.difference(under_test)):
        return None
    fails_by_itself = any(map(_is_failure, flat(function.body)))
    return None if fails_by_itself and not fails_anyway(function) else called


def fails_anyway(function: FunctionNode) -> bool:
    """Return whether the test is a stub: it raises, calls `fail` or has an `assert False`, unconditionally."""
    # What a block or an earlier `return` decides about may be a check.
    has_return = any(isinstance(each, ast.Return) for each in flat(function.body))
    return any(map(_is_failure, function.body)) and not has_return


def _is_failure(statement: ast.stmt) -> bool:
    """Return whether a statement fails the test by itself."""
    match statement:
        case (
            ast.Raise()
            | ast.Assert(test=ast.Constant(value=False | 0))
            | ast.Expr(value=ast.Call(func=ast.Attribute(attr="fail") | ast.Name(id="fail")))
        ):
            return True
    return False


def _words(name: str) -> set[str]:
    """Return the words of `assertEqual` and `check_total`; `checkout` is another one."""
    return set(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_"))


def called_for_nothing(tree: ast.Module, line: int, name: str) -> ast.Call | None:
    """Return the call of that function on a line, if nothing is done with its value."""
    match innermost(tree, line):
        case ast.Expr(value=ast.Call() as call) | ast.Expr(value=ast.Await(value=ast.Call() as call)):
            # In `check(total([]))` the value of `total` is used, and that of `check` is not.
            return call if last_name(call.func) == name else None
    return None


def says_that_it_checks(name: str, file: str, call: ast.Call) -> bool:
    """Return whether a function of a source is a check helper, by its name or its file's.

    An ambiguous word counts if there is a value to compare with: `check_total(got, 3)`.
    """
    words = _words(name)
    compares = len(call.args) + len(call.keywords) > 1 and bool(_CHECKING_WORDS & words)
    return compares or bool(_ASSERTING & words) or bool(_TESTING & set(re.split(r"[_/.]+", file.lower())))


def asserts_constant(tree: ast.Module, line: int) -> bool:
    """Return whether the innermost statement on that line checks only literals."""
    match innermost(tree, line):
        case ast.Assert(test=test):
            return is_constant(test)
        case ast.Expr(value=ast.Call() as call):
            return is_constant_check(call)
    return False


def innermost(tree: ast.Module, line: int) -> ast.stmt | None:
    """Return the innermost statement on a line, but for definitions."""
    best: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, Definition) or not isinstance(node, ast.stmt):
            continue
        end = node.end_lineno or node.lineno
        if not node.lineno <= line <= end:
            continue
        if best is None or (node.lineno, -end) >= (best.lineno, -(best.end_lineno or 0)):
            best = node
    return best


# --- code whose value does not depend on the code under test


def is_constant(expression: ast.expr) -> bool:
    """Return whether an expression contains only literals."""
    changing = ast.Name | ast.Attribute | ast.Call | ast.Await | ast.NamedExpr
    return not any(isinstance(node, changing) for node in ast.walk(expression))


def is_constant_check(call: ast.Call) -> bool:
    """Tell `self.assertEqual(1, 2)`, which looks at nothing, from a check."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in _UNITTEST:
            return all(map(is_constant, call.args))
    return False
