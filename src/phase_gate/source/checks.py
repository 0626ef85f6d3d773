"""What the source of a test says about itself: does it check anything, and what does the failing line do?

Pure: syntax trees in, answers out. In doubt a thing is not constant: it may then count as a check.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Literal

from phase_gate.source.names import Definition, FunctionNode, bound_names, last_name, named_functions, stored_names
from phase_gate.values import Value

#: What a statement does, as far as a failing test is concerned.
#: Of an expression, as the interpreter names it: first and last line, first column and the one behind the last.
Position = tuple[int | None, int | None, int | None, int | None]
Statement = Literal["assert", "constant assert", "raise", "other"]

#: Calls with one of these words in their name say that they check, however they do it.
_CHECKING_WORDS = frozenset(
    {"assert", "asserts", "check", "checks", "ensure", "expect", "must", "raises", "should", "verify", "warns"}
)

#: Words in the name of a function that is there for nothing but a check, and in the path of a source that is for tests.
_ASSERTING = frozenset({"assert", "asserts", "expect", "expects", "should"})
_TESTING = frozenset({"test", "tests", "testing", "assert", "asserts", "assertions"})


def find_function(tree: ast.Module, name: str) -> FunctionNode | None:
    """Return the definition of `test_x` or `TestC::test_x`; the last one if there are several."""
    return {each.name: each.node for each in named_functions(tree.body)}.get(name)


def has_check(function: FunctionNode, tree: ast.Module, *, under_test: Collection[str] = ()) -> bool:
    """Tell whether the test's body checks something that is not constant, or calls a helper in its file that does.

    :param under_test: functions that check nothing on behalf of a test, whatever they are called.
    """
    seen: set[str] = set(under_test)
    pending = [function]
    while pending:
        called = _check_or_calls(pending.pop(), tree, under_test)
        if called is None:
            return True
        for name in called - seen:
            pending += [node for node in ast.walk(tree) if isinstance(node, FunctionNode) and node.name == name]
        seen |= called
    return False


def _check_or_calls(function: FunctionNode, tree: ast.Module, under_test: Collection[str]) -> set[str] | None:
    """Return None if the function checks something, else the names of what it calls."""
    constants = find_constants(function, tree)
    called: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and not is_constant(node.test, constants):
            return None
        if isinstance(node, ast.Call) and not is_constant_check(node, constants):
            called.add(last_name(node.func))
    if any(_CHECKING_WORDS & _words(name) for name in called.difference(under_test)):
        return None
    return None if any(_own_failures(function, constants)) else called


def fails_anyway(function: FunctionNode, tree: ast.Module) -> bool:
    """Tell whether the test is a stub: it raises, calls `fail` or has an `assert False`, under no condition."""
    return not all(_own_failures(function, find_constants(function, tree)))


def _own_failures(function: FunctionNode, constants: Constants) -> Iterator[bool]:
    """Yield for each statement that fails the test by itself whether it depends on a condition."""
    for statement, is_conditional in _walk_conditions(function.body, constants, is_conditional=False):
        match statement:
            case (
                ast.Raise()
                | ast.Assert(test=ast.Constant(value=False | 0))
                | ast.Expr(value=ast.Call(func=ast.Attribute(attr="fail") | ast.Name(id="fail")))
            ):
                yield is_conditional


def _words(name: str) -> set[str]:
    """Return the words of `assertEqual` and `check_total`; `checkout` is another one."""
    return set(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_"))


def called_for_nothing(tree: ast.Module, line: int, name: str) -> ast.Call | None:
    """Return the call of that function on a line, if nothing is done with its value."""
    match innermost(tree, line):
        case (
            ast.Expr(value=ast.Call(func=function) as call)
            | ast.Expr(value=ast.Await(value=ast.Call(func=function) as call))
        ):
            # In `check(total([]))` the value of `total` is used, and that of `check` is not.
            return call if last_name(function) == name else None
    return None


def says_that_it_checks(name: str, file: str, call: ast.Call) -> bool:
    """Tell whether a function of a source checks on behalf of its caller, by its name or by that of its file.

    A word that other functions have as well counts where there is something to compare with: `check_total(got, 3)`.
    """
    words = _words(name)
    compares = len(call.args) + len(call.keywords) > 1 and bool(_CHECKING_WORDS & words)
    return compares or bool(_ASSERTING & words) or bool(_TESTING & set(re.split(r"[_/.]+", file.lower())))


def statement_at(tree: ast.Module, line: int) -> Statement:
    """Return what the innermost statement on that line does."""
    best = innermost(tree, line)
    if isinstance(best, ast.Raise):
        return "raise"
    constants = find_constants(_function_around(tree, line), tree)
    if isinstance(best, ast.Assert):
        return "constant assert" if is_constant(best.test, constants) else "assert"
    if isinstance(best, ast.Expr) and isinstance(best.value, ast.Call) and is_constant_check(best.value, constants):
        return "constant assert"
    return "other"


def is_constant_at(tree: ast.Module, position: Position) -> bool:
    """Tell whether the expression at exactly this place is made of constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            here = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
            if here == position:
                return is_constant(node, find_constants(_function_around(tree, node.lineno), tree))
    return False


def is_conditional_at(tree: ast.Module, line: int) -> bool:
    """Tell whether the statement on that line runs only if something turns out so."""
    function, wanted = _function_around(tree, line), innermost(tree, line)
    if function is None:
        return False
    walked = _walk_conditions(function.body, find_constants(function, tree), is_conditional=False)
    return any(is_conditional for statement, is_conditional in walked if statement is wanted)


def _walk_conditions(
    body: list[ast.stmt], constants: Constants, *, is_conditional: bool
) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the statements of a function, each with whether a condition decides that it runs."""
    for node in body:
        yield node, is_conditional
        returns = False
        for block, decides in _blocks(node, constants):
            for inner, depends in _walk_conditions(block, constants, is_conditional=is_conditional or decides):
                yield inner, depends
                returns |= depends and isinstance(inner, ast.Return)
        # What comes after a return that may be taken runs only if it was not.
        is_conditional = is_conditional or returns


def _blocks(node: ast.stmt, constants: Constants) -> Iterator[tuple[list[ast.stmt], bool]]:
    """Yield the blocks of a statement, and whether something that is not constant decides about each."""
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            decides = not is_constant(test, constants)
            yield from ((body, decides), (orelse, decides))
        case ast.While(test=test, body=body, orelse=orelse):
            yield from ((body, not is_constant(test, constants)), (orelse, True))
        case ast.For(body=body, orelse=orelse) | ast.AsyncFor(body=body, orelse=orelse):
            yield from ((body, False), (orelse, True))
        case ast.Try() | ast.TryStar():
            yield from ((node.body, False), (node.orelse, True), (node.finalbody, False))
            yield from ((handler.body, True) for handler in node.handlers)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            yield body, True  # its context may swallow what is raised inside
        case ast.Match(cases=cases):
            yield from ((case.body, True) for case in cases)


def innermost(tree: ast.Module, line: int) -> ast.stmt | None:
    """Return the innermost statement on a line, but for definitions."""
    best: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            if isinstance(node, FunctionNode | ast.ClassDef):
                continue
            if best is None or (node.lineno, -(node.end_lineno or 0)) >= (best.lineno, -(best.end_lineno or 0)):
                best = node
    return best


def _function_around(tree: ast.Module, line: int) -> FunctionNode | None:
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, FunctionNode) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno, default=None)


# --- code whose value does not depend on the code under test


_MUTABLE = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp

#: Built-in functions whose value follows from their arguments alone.
_PURE = frozenset(
    {"abs", "all", "any", "bool", "bytes", "chr", "complex", "dict", "divmod", "float", "frozenset"}
    | {"hash", "hex", "int", "isinstance", "issubclass", "len", "list", "max", "min", "oct", "ord", "pow"}
    | {"range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "type", "zip"}
)

#: Methods of constants that call what a project may have registered.
_BY_CODEC = frozenset({"encode", "decode"})

#: unittest's own checks; what a project calls so itself may look at anything.
_UNITTEST = frozenset(
    {"assertAlmostEqual", "assertCountEqual", "assertDictEqual", "assertEqual", "assertFalse"}
    | {"assertGreater", "assertGreaterEqual", "assertIn", "assertIs", "assertIsNone", "assertIsNot"}
    | {"assertIsNotNone", "assertLess", "assertLessEqual", "assertListEqual", "assertNotEqual"}
    | {"assertNotIn", "assertSequenceEqual", "assertTrue", "assertTupleEqual"}
)


class Constants(Value, kw_only=False):
    """What is constant inside one function: local names, and functions that add nothing of their own."""

    names: frozenset[str]
    functions: frozenset[str]


def find_constants(function: FunctionNode | None, tree: ast.Module) -> Constants:
    """Return the local names that one plain assignment gives a constant, and the built-ins that are not redefined."""
    bound = frozenset(_bound_anywhere(tree))
    functions = frozenset() if "*" in bound else (_PURE | _UNITTEST) - bound
    return Constants(frozenset() if function is None else _constant_names(function), functions)


def _bound_anywhere(tree: ast.Module) -> Iterator[str]:
    yield from stored_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, Definition | ast.Import | ast.ImportFrom):
            yield from bound_names(node)
        elif isinstance(node, ast.arg):
            yield node.arg


def _constant_names(function: FunctionNode) -> frozenset[str]:
    constant: set[str] = set()
    other: set[str] = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    stores = Counter(stored_names(function))
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                constant |= {name} if _is_fixed(value) else set()
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                constant |= {name} if _is_fixed(value) else set()
            case ast.Nonlocal(names=names) | ast.Global(names=names):
                other.update(names)
    return frozenset(name for name in constant - other if stores[name] == 1)


def _is_fixed(value: ast.expr) -> bool:
    # A list, say, may be filled by the code under test.
    nothing = Constants(frozenset(), frozenset())
    return is_constant(value, nothing) and not any(isinstance(node, _MUTABLE) for node in ast.walk(value))


def is_constant(expression: ast.expr, constants: Constants) -> bool:
    """Tell whether the expression's value does not depend on the code under test."""
    pending: list[ast.AST] = [expression]  # without recursion: a sum may have 5,000 terms
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Attribute | ast.Await | ast.NamedExpr):
            return False
        if isinstance(node, ast.Name) and node.id not in constants.names:
            return False
        if not isinstance(node, ast.Call):
            pending += ast.iter_child_nodes(node)
            continue
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in _BY_CODEC:
                return False
            pending.append(node.func.value)  # "a".upper(): what a constant makes of constants
        elif not isinstance(node.func, ast.Name) or node.func.id not in constants.functions:
            return False
        pending += (*node.args, *(keyword.value for keyword in node.keywords))
    return True


def is_constant_check(call: ast.Call, constants: Constants) -> bool:
    """Tell `self.assertEqual(1, 2)`, which looks at nothing, from a check."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in constants.functions & _UNITTEST:
            return all(is_constant(argument, constants) for argument in call.args)
    return False
