"""Marks in the source of a module: criteria, skips, and which tests are copies of each other.

Pure: syntax trees in, values out. Marks are read here only for modules that pytest failed to import. Of imported
names only the name is known.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from functools import partial

from phase_gate.source.body_hash import hash_body
from phase_gate.source.syntax_names import (
    Definition,
    FunctionNode,
    NamedFunction,
    flat,
    last_name,
    named_functions,
)
from phase_gate.workflow.names import PASSES_ALREADY


def criteria_in_source(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return the ids that each function is marked with, by itself, its classes or the module; by bare name.

    A mark of one parameter counts for the function: without an import its parameters are unknown.
    """
    constants = _constants(tree)
    guards = guards_in_source(tree)
    found = {}
    for test in named_functions(tree.body):
        if test.name in guards:  # what works already shows nothing new
            continue
        ids = dict.fromkeys(name for mark in _marks_of(test, tree) for name in _ids(mark, constants))
        if ids:
            found[test.name] = tuple(ids)
    return found


def _marked_in_source(mark_name: str, tree: ast.Module) -> dict[str, str]:
    """Return the functions that have a mark of that name, by bare name, with its reason or an empty text."""
    constants = _constants(tree)
    found = {}
    for test in named_functions(tree.body):
        for mark in _marks_of(test, tree):
            if mark_name in (last_name(mark), last_name(constants.get(last_name(mark)))):
                reasons = (str(each.value).strip() for each in ast.walk(mark) if isinstance(each, ast.Constant))
                found[test.name] = next(reasons, "")
    return found


guards_in_source = partial(_marked_in_source, PASSES_ALREADY)
skips_in_source = partial(_marked_in_source, "skip")


def _marks_of(test: NamedFunction, tree: ast.Module) -> list[ast.expr]:
    """Return the marks of a function: its own, its classes', the module's."""
    marks = [*test.node.decorator_list, *_assigned_marks(tree.body)]
    for each in test.classes:
        marks += [*each.decorator_list, *_assigned_marks(each.body)]
    return marks


def likeness_in_source(tree: ast.Module) -> dict[str, str]:
    """Return a hash of what each function checks, by bare name: without its own name and its criteria.

    The code around it is part of it: the same words about another import, or with another fixture, are another test.
    """
    constants = _constants(tree)
    around = [hash_body(part) for part in _without_tests(tree.body, constants)]
    found = {}
    for test in named_functions(tree.body):
        parts = [part for each in (test.node, *test.classes) for part in _without_criteria(each, constants)]
        text = " ".join((*map(hash_body, parts), *around))
        found[test.name] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return found


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    return {
        name: statement.value
        for statement in flat(tree.body)
        if isinstance(statement, ast.Assign)
        for name in _assigned_names(statement)
    }


def _without_criteria(node: FunctionNode | ast.ClassDef, constants: Mapping[str, ast.expr]) -> Iterator[ast.AST]:
    """Yield the parts of a definition that determine what is tested; of a class all but its tests."""
    yield from (mark for mark in node.decorator_list if not _is_criterion(mark, constants))
    if isinstance(node, ast.ClassDef):
        yield from node.bases
        yield from _without_tests(node.body, constants)
    else:
        # As a module, so that its docstring is left out.
        yield ast.Lambda(node.args, ast.Constant(None))
        yield ast.Module(node.body, [])


def _without_tests(body: list[ast.stmt], constants: Mapping[str, ast.expr]) -> Iterator[ast.AST]:
    """Yield the statements of a module or class, without tests and criteria."""
    for statement in body:
        if "pytestmark" in _assigned_names(statement):
            yield from (mark for mark in _assigned_marks([statement]) if not _is_criterion(mark, constants))
        elif not _is_test(statement):
            yield statement


def _assigned_names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=targets):
            return [each.id for each in targets if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _assigned_marks(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the marks of `pytestmark = ...`."""
    for statement in flat(body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and "pytestmark" in _assigned_names(statement):
            match statement.value:
                case ast.List(elts=marks) | ast.Tuple(elts=marks):
                    yield from marks
                case ast.expr() as mark:
                    yield mark


def _is_criterion(mark: ast.AST, constants: Mapping[str, ast.expr]) -> bool:
    mark = constants.get(mark.id, mark) if isinstance(mark, ast.Name) else mark
    return isinstance(mark, ast.Call) and last_name(mark) == "criterion"


def _ids(mark: ast.expr, constants: Mapping[str, ast.expr]) -> Iterator[str]:
    """Yield the ids in a mark, or in the marks of parameters within it."""
    for node in ast.walk(mark):
        if _is_criterion(node, constants):
            call = constants[node.id] if isinstance(node, ast.Name) else node
            for given in getattr(call, "args", ()):
                argument = constants.get(given.id, given) if isinstance(given, ast.Name) else given
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def _is_test(statement: ast.stmt) -> bool:
    return isinstance(statement, Definition) and statement.name.lower().startswith("test")
