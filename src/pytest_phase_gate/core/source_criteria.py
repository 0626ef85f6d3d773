"""What the source of a module says about criteria: which tests are marked, and which are copies of each other.

Pure: syntax trees in, values out. Marks are read here only where pytest can't: of modules that failed to import.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping

from pytest_phase_gate.core.body_hash import hash_body
from pytest_phase_gate.core.values import Value

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Test(Value):
    name: str
    node: _Function
    #: The classes that it stands in, outermost first.
    classes: tuple[ast.ClassDef, ...]


def criteria_in_source(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return the ids that each function is marked with, by itself, its classes or the module; by bare name."""
    found = {}
    for test in _functions(tree.body):
        marks = [*test.node.decorator_list, *_assigned_marks(tree.body)]
        for each in test.classes:
            marks += [*each.decorator_list, *_assigned_marks(each.body)]
        ids = dict.fromkeys(name for mark in marks for name in _ids(mark))
        if ids:
            found[test.name] = tuple(ids)
    return found


def likeness_in_source(tree: ast.Module) -> dict[str, str]:
    """Return a hash of what each function checks, by bare name.

    Its own name and its criteria are left out, and what its global names stand for is part of it: the same words about
    another import are another test.
    """
    globals_of_module = _bindings(tree.body)
    found = {}
    for test in _functions(tree.body):
        own = hash_body(test.node, {id(mark) for mark in test.node.decorator_list if _is_criterion(mark)})
        around = [_class_code(each) for each in test.classes]
        names = sorted({node.id for node in ast.walk(test.node) if isinstance(node, ast.Name)})
        meanings = [f"{name}={globals_of_module[name]}" for name in names if name in globals_of_module]
        text = " ".join((own, *around, *meanings))
        found[test.name] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return found


def _functions(body: list[ast.stmt], prefix: str = "", classes: tuple[ast.ClassDef, ...] = ()) -> Iterator[_Test]:
    for statement in body:
        if isinstance(statement, _Function):
            yield _Test(name=prefix + statement.name, node=statement, classes=classes)
        elif isinstance(statement, ast.ClassDef):
            yield from _functions(statement.body, f"{prefix}{statement.name}::", (*classes, statement))


def _assigned_marks(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the marks of `pytestmark = ...`."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=ast.List(elts=marks) | ast.Tuple(elts=marks)):
                yield from marks
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=mark):
                yield mark


def _is_criterion(mark: ast.expr) -> bool:
    match mark:
        case ast.Call(func=ast.Attribute(attr="criterion") | ast.Name(id="criterion")):
            return True
    return False


def _ids(mark: ast.expr) -> Iterator[str]:
    if isinstance(mark, ast.Call) and _is_criterion(mark):
        for argument in mark.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value


def _class_code(node: ast.ClassDef) -> str:
    """Return a hash of what a class has beside its tests."""
    omitted = {id(mark) for mark in node.decorator_list if _is_criterion(mark)}
    omitted |= {id(each) for each in node.body if isinstance(each, _Function) and each.name.startswith("test")}
    return hash_body(node, omitted)


def _bindings(body: list[ast.stmt]) -> Mapping[str, str]:
    """Return what the names of a module stand for: where they come from, or a hash of their definition."""
    found: dict[str, str] = {}
    for statement in body:
        match statement:
            case ast.Import(names=names):
                found |= {(each.asname or each.name.partition(".")[0]): each.name for each in names}
            case ast.ImportFrom(module=module, names=names, level=level):
                found |= {(each.asname or each.name): f"{'.' * level}{module or ''}.{each.name}" for each in names}
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = hash_body(statement)
            case ast.Assign(targets=targets):
                found |= {each.id: hash_body(statement) for each in targets if isinstance(each, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = hash_body(statement)
    return found
