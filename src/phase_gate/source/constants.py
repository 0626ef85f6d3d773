"""Code whose value does not depend on the code under test.

Pure: syntax trees in, answers out. In doubt a thing is not constant: it may then count as a check.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from phase_gate.values import Value

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_MUTABLE = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp

#: Built-in functions whose value follows from their arguments alone.
_PURE = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "bytes",
        "chr",
        "complex",
        "dict",
        "divmod",
        "float",
        "frozenset",
        "hash",
        "hex",
        "int",
        "isinstance",
        "issubclass",
        "len",
        "list",
        "max",
        "min",
        "oct",
        "ord",
        "pow",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
    ]
)

#: unittest's own checks; what a project calls so itself may look at anything.
_UNITTEST = frozenset(
    [
        "assertAlmostEqual",
        "assertCountEqual",
        "assertDictEqual",
        "assertEqual",
        "assertFalse",
        "assertGreater",
        "assertGreaterEqual",
        "assertIn",
        "assertIs",
        "assertIsNone",
        "assertIsNot",
        "assertIsNotNone",
        "assertLess",
        "assertLessEqual",
        "assertListEqual",
        "assertNotEqual",
        "assertNotIn",
        "assertSequenceEqual",
        "assertTrue",
        "assertTupleEqual",
    ]
)


class Constants(Value, kw_only=False):
    """What is constant inside one function: local names, and functions that add nothing of their own."""

    names: frozenset[str]
    functions: frozenset[str]


def find_constants(function: _Function | None, tree: ast.Module) -> Constants:
    """Return the local names that one plain assignment gives a constant, and the built-ins that are not redefined."""
    bound = frozenset(_bound_names(tree))
    functions = frozenset() if "*" in bound else (_PURE | _UNITTEST) - bound
    return Constants(frozenset() if function is None else _constant_names(function), functions)


def _bound_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name


def _constant_names(function: _Function) -> frozenset[str]:
    constant: set[str] = set()
    other: set[str] = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    stores: Counter[str] = Counter()
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                constant |= {name} if _is_fixed(value) else set()
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                constant |= {name} if _is_fixed(value) else set()
            case ast.Nonlocal(names=names) | ast.Global(names=names):
                other.update(names)
            case ast.Name(id=name, ctx=ast.Store()):
                stores[name] += 1
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
