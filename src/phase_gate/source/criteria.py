"""What the source of a module says about criteria: which tests are marked, and which are copies of each other.

Pure: syntax trees in, values out. Marks are read here only where pytest can't: of modules that failed to import. What
a module takes from another one is out of sight, but for its name.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping

from phase_gate.source.body_hash import hash_body
from phase_gate.source.names import (
    Definition,
    FunctionNode,
    NamedFunction,
    bound_names,
    flat,
    last_name,
    named_functions,
    provided_name,
    requested_names,
    split_import,
)

#: The mark of a test that guards what works already.
PASSES_ALREADY = "passes_already"


def criteria_in_source(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return the ids that each function is marked with, by itself, its classes or the module; by bare name.

    A mark of one parameter counts for the function: without an import its parameters are unknown.
    """
    constants = _constants(tree)
    guards = guards_in_source(tree)
    found = {}
    for test in named_functions(tree.body):
        if test.name in guards:
            continue  # what works already shows nothing new
        marks = _marks_of(test, tree)
        ids = dict.fromkeys(name for mark in marks for name in _ids(mark, constants))
        if ids:
            found[test.name] = tuple(ids)
    return found


def guards_in_source(tree: ast.Module) -> dict[str, str]:
    """Return the functions that are marked as passing already, by bare name, and why; empty where it is not said."""
    found = {}
    for test in named_functions(tree.body):
        for mark in _marks_of(test, tree):
            match mark:
                case ast.Call(func=ast.Attribute(attr=name), args=args, keywords=keywords) if name == PASSES_ALREADY:
                    said = [*args[:1], *(each.value for each in keywords if each.arg == "reason")]
                    why = [each.value for each in said if isinstance(each, ast.Constant)]
                    found[test.name] = str(why[0]).strip() if why else ""
                case ast.Attribute(attr=name) if name == PASSES_ALREADY:
                    found[test.name] = ""
    return found


def _marks_of(test: NamedFunction, tree: ast.Module) -> list[ast.expr]:
    """Return the marks of a function: its own, its classes', the module's."""
    marks = [*test.node.decorator_list, *_assigned_marks(tree.body)]
    for each in test.classes:
        marks += [*each.decorator_list, *_assigned_marks(each.body)]
    return marks


def likeness_in_source(tree: ast.Module) -> dict[str, str]:
    """Return a hash of what each function checks, by bare name.

    Its own name and its criteria are left out. What its global names stand for is part of it, and what those use in
    turn: the same words about another import are another test.
    """
    bindings = _bindings(tree.body)
    constants = _constants(tree)
    # What the module does to all of its tests.
    common: list[ast.AST] = [mark for mark in _assigned_marks(tree.body) if not _is_criterion(mark, constants)]
    common += [each for each in flat(tree.body) if provided_name(each) and _is_automatic(each)]
    found = {}
    for test in named_functions(tree.body):
        parts = [*common, *_without_criteria(test.node, constants)]
        for each in test.classes:
            parts += _without_criteria(each, constants)
        meanings = [f"{name}={hash_body(each)}" for name in _used_names(parts, bindings) for each in bindings[name]]
        text = " ".join((*map(hash_body, parts), *meanings))
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
    """Yield the parts of a definition that say what is tested: of a class those beside its tests."""
    yield from (mark for mark in node.decorator_list if not _is_criterion(mark, constants))
    if isinstance(node, ast.ClassDef):
        yield from node.bases
        for statement in node.body:
            if "pytestmark" in _assigned_names(statement):
                yield from (mark for mark in _assigned_marks([statement]) if not _is_criterion(mark, constants))
            elif not _is_test(statement):
                yield statement
    else:
        # As a module, so that its docstring is left out.
        yield ast.Lambda(node.args, ast.Constant(None))
        yield ast.Module(node.body, [])


def _is_automatic(fixture: ast.stmt) -> bool:
    return any(isinstance(node, ast.keyword) and node.arg == "autouse" for node in ast.walk(fixture))


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


def _bindings(body: list[ast.stmt]) -> Mapping[str, list[ast.AST]]:
    """Return what gives the names of a module their meaning: imports and definitions."""
    found: dict[str, list[ast.AST]] = {}
    for statement in flat(body):
        for name, meaning in _bound_by(statement):
            found.setdefault(name, []).append(meaning)
    return found


def _bound_by(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(statement, Definition):
        yield provided_name(statement) or statement.name, statement
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from ((name, part) for part in split_import(statement) for name in bound_names(part))
    else:
        yield from ((name, statement) for name in _assigned_names(statement))


def _used_names(nodes: Iterable[ast.AST], bindings: Mapping[str, list[ast.AST]]) -> list[str]:
    """Return the names of the module that these nodes use, and those that their definitions use; sorted."""
    used = {"*"} & bindings.keys()  # from there any name may come
    pending = list(nodes)
    while pending:
        node = pending.pop()
        # An argument of a test or a fixture is the name of a fixture.
        named = {
            each.arg if isinstance(each, ast.arg) else each.id
            for each in ast.walk(node)
            if isinstance(each, ast.arg | ast.Name)
        }
        for name in (named | requested_names(node)) & bindings.keys() - used:
            used.add(name)
            pending += bindings[name]
    return sorted(used)
