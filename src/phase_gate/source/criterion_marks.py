"""Marks in the source of a module: criteria, skips, and which tests are copies of each other.

Pure: syntax trees in, values out. Marks are read here only for modules that pytest failed to import. Of imported
names only the name is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial

from phase_gate.source.body_hash import digest, hash_body
from phase_gate.source.syntax_names import Definition, NamedFunction, bound_names, flat, last_name, named_functions
from phase_gate.workflow.names import PASSES_ALREADY


def criteria_in_source(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return the ids that each function is marked with, by itself, its classes or the module; by bare name.

    A mark of one parameter counts for the function: without an import its parameters are unknown.
    """
    constants = _constants(tree)
    guards = guards_in_source(tree)
    found = {}
    for test in named_functions(tree.body):
        ids = dict.fromkeys(name for mark in _marks_of(test, tree) for name in _ids(mark, constants))
        if ids and test.name not in guards:  # what works already shows nothing new
            found[test.name] = tuple(ids)
    return found


def _marked_in_source(mark_name: str, tree: ast.Module) -> dict[str, str]:
    """Return the functions that have a mark of that name, by bare name, with its reason or an empty text."""
    constants = _constants(tree)
    found = {}
    for test in named_functions(tree.body):
        for mark in _marks_of(test, tree):
            if last_name(_meant_by(mark, constants)) == mark_name:
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
    omitted = frozenset(id(node) for node in ast.walk(tree) if _is_left_out(node, constants))
    around = [hash_body(part, omitted) for part in tree.body if id(part) not in omitted]
    found = {}
    for test in named_functions(tree.body):
        own = [hash_body(part, omitted) for part in (test.node, *test.classes)]
        found[test.name] = digest(" ".join((*own, *around)).encode())
    return found


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    assigned = (each for each in flat(tree.body) if isinstance(each, ast.Assign))
    return {name: each.value for each in assigned for name in bound_names(each)}


def _meant_by(node: ast.AST, constants: Mapping[str, ast.expr]) -> ast.AST:
    """Return the value of a constant, or else the node itself."""
    return constants.get(node.id, node) if isinstance(node, ast.Name) else node


def _assigned_marks(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the marks of `pytestmark = ...`."""
    for statement in flat(body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and "pytestmark" in bound_names(statement):
            match statement.value:
                case ast.List(elts=marks) | ast.Tuple(elts=marks):
                    yield from marks
                case ast.expr() as mark:
                    yield mark


def _is_left_out(node: ast.AST, constants: Mapping[str, ast.expr]) -> bool:
    """Return whether a node is a test, the mark of a criterion, or a `pytestmark = ...` of nothing else."""
    if isinstance(node, Definition):
        return node.name.lower().startswith("test")
    if isinstance(node, ast.Assign | ast.AnnAssign):
        marks = [*_assigned_marks([node])]
        return bool(marks) and all(_is_criterion(mark, constants) for mark in marks)
    return _is_criterion(node, constants)


def _is_criterion(mark: ast.AST, constants: Mapping[str, ast.expr]) -> bool:
    mark = _meant_by(mark, constants)
    return isinstance(mark, ast.Call) and last_name(mark) == "criterion"


def _ids(mark: ast.expr, constants: Mapping[str, ast.expr]) -> Iterator[str]:
    """Yield the ids in a mark, or in the marks of parameters within it."""
    for node in ast.walk(mark):
        if _is_criterion(node, constants):
            for given in getattr(_meant_by(node, constants), "args", ()):
                match _meant_by(given, constants):
                    case ast.Constant(value=str(identity)):
                        yield identity
