"""What a file of tests imports from sources and is made of: rows of parameters, base classes, tests, decorators.

Pure: a syntax tree in, references out. A reference is `module:name`, with leading dots as in a relative import; which
file that is, and whether it is the project's own, is for the shell to say.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Mapping

from phase_gate.source.fixtures import provided_name

#: Calls that give back what is in their arguments. What any other function computes may differ from run to run.
_PASSES_ON = frozenset(
    {"dict", "enumerate", "items", "keys", "list", "param", "reversed", "sorted", "tuple", "values", "zip"}
)

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = ast.Module | ast.ClassDef


class ImportedNames:
    """What the names of a file stand for, as far as they are imported."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._modules: dict[str, str] = {}
        self._things: dict[str, str] = {}
        self._values: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    # `import a.b` binds a; `import a.b as c` binds b.
                    self._modules[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                self._things |= {alias.asname or alias.name: f"{module}:{alias.name}" for alias in node.names}
        for statement in tree.body:
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    self._values[name] = value

    def reference(self, node: ast.expr) -> str:
        """Return what a name or an attribute stands for; empty if it is not imported, or came with Python."""
        path: list[str] = []
        while isinstance(node, ast.Attribute):
            path.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        if node.id in self._things:
            module, _, name = self._things[node.id].partition(":")
            # `from shop import data` may bind a module: then its attribute is what is meant.
            found = f"{module}:{name}" if not path else f"{module}{'' if module.endswith('.') else '.'}{name}:{path[0]}"
        elif node.id in self._modules and path:
            found = ".".join((self._modules[node.id], *path[:-1])) + f":{path[-1]}"
        else:
            return ""
        return "" if _is_pythons(found) else found

    def rows(self, tests: Collection[str]) -> Iterator[str]:
        """Yield the data that rows of parameters come from: those of these tests, by bare names, and of fixtures."""
        for name, marks in _tests(self._tree, "", []):
            if name in tests:
                yield from (each for mark in marks for rows in _rows_of(mark) for each in self._data(rows))
        yield from (each for node in self._tree.body for each in self.rows_of(node))

    def rows_of(self, statement: ast.stmt) -> Iterator[str]:
        """Yield the data that the parameters of a fixture come from, or of those in a class."""
        if isinstance(statement, ast.ClassDef):
            yield from (each for inner in statement.body for each in self.rows_of(inner))
        elif isinstance(statement, _Function) and provided_name(statement):
            words = (word for mark in statement.decorator_list for word in getattr(mark, "keywords", ()))
            yield from (each for word in words if word.arg == "params" for each in self._data(word.value))

    def _data(self, rows: ast.expr, seen: frozenset[str] = frozenset()) -> Iterator[str]:
        """Yield the references in an expression that only hands on data."""
        nodes = list(ast.walk(rows))
        if any(isinstance(node, ast.Call) and _last_name(node.func) not in _PASSES_ON for node in nodes):
            return
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            if isinstance(node, ast.Attribute) and _last_name(node) in _PASSES_ON:
                inner.discard(id(node.value))  # `TABLE.items()`: the table is meant
            elif isinstance(node, ast.Name | ast.Attribute) and id(node) not in called | inner:
                found = self.reference(node)
                if found:
                    yield found
                elif isinstance(node, ast.Name) and node.id in self._values.keys() - seen:
                    yield from self._data(self._values[node.id], seen | {node.id})

    def things(self) -> Mapping[str, str]:
        """Return the references of all names that are imported from a module, by name; without Python's own."""
        return {name: found for name, found in self._things.items() if not _is_pythons(found)}

    def modules(self) -> set[str]:
        """Return the modules that are imported, or imported from; without Python's own."""
        found = {each.partition(":")[0] for each in self._things.values()} | set(self._modules.values())
        return {module for module in found if not _is_pythons(module)}

    def statements(self) -> Iterator[str]:
        """Yield what tests call for nothing but what it does: its value is not used."""
        for node in ast.walk(self._tree):
            if isinstance(node, _Function) and node.name.startswith("test"):
                for each in ast.walk(node):
                    match each:
                        case ast.Expr(value=ast.Call(func=called) | ast.Await(value=ast.Call(func=called))):
                            yield self.reference(called)

    def parts(self) -> Iterator[str]:
        """Yield what the tests of the file are made of, as far as its source shows it: bases and decorators."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ClassDef):
                yield from map(self.reference, node.bases)
            elif isinstance(node, _Function) and node.name.startswith("test"):
                yield from (
                    self.reference(mark.func if isinstance(mark, ast.Call) else mark) for mark in node.decorator_list
                )
        yield from (found for name, found in self.things().items() if name.startswith("test"))


def _is_pythons(reference: str) -> bool:
    """Tell whether a module is pytest, or came with Python."""
    top = reference.partition(":")[0].partition(".")[0]
    return top == "pytest" or top in sys.stdlib_module_names


def _tests(scope: _Scope, prefix: str, outer: list[ast.expr]) -> Iterator[tuple[str, list[ast.expr]]]:
    """Yield every function that may be a test, with the marks that hold for it: its own, its classes', its module's."""
    marks = [*outer, *_given(scope)]
    for node in scope.body:
        if isinstance(node, _Function):
            yield f"{prefix}{node.name}", [*marks, *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            yield from _tests(node, f"{prefix}{node.name}::", [*marks, *node.decorator_list])


def _given(scope: _Scope) -> Iterator[ast.expr]:
    for node in scope.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id="pytestmark")], value=ast.List(elts=several) | ast.Tuple(elts=several)
            ):
                yield from several
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=one):
                yield one


def _rows_of(mark: ast.expr) -> Iterator[ast.expr]:
    if isinstance(mark, ast.Call) and _last_name(mark.func) == "parametrize":
        yield from mark.args[1:2]
        yield from (word.value for word in mark.keywords if word.arg == "argvalues")


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
