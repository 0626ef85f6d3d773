"""Find the tests in Python source, doctests too.

Pure: text in, values out; nothing is imported or run. It follows pytest's rules as far as one file shows them: bases
from other files, `import *` and names made at run time are out of sight. Of doctests only the examples count.
"""

from __future__ import annotations

import ast
import fnmatch
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence

from phase_gate.source.body_hash import digest, hash_alternatives
from phase_gate.source.syntax_names import Branches, Definition, FunctionNode, flat, flat_with_branches, last_name
from phase_gate.values import Value

#: What makes a function with a test's name something else.
NOT_TESTS = frozenset(("fixture", "yield_fixture", "property", "cached_property"))


class SourceTest(Value):
    """A test as the source has it: `test_x`, `TestC::test_x` or `TestC::TestD::test_x`."""

    name: str
    line: int
    body: str


def parse_source(source: str | bytes) -> ast.Module:
    """Return the syntax tree; raise SyntaxError if the text can't be parsed."""
    with warnings.catch_warnings():
        # "\d" warns. Under `-W error` that would be a syntax error, and pytest reports it anyway.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (ValueError, RecursionError, MemoryError) as error:  # NUL, lone surrogates, too deep a nesting
            raise SyntaxError(str(error) or "too deeply nested") from error


def find_tests(
    source: str | bytes | ast.Module, *, functions: Sequence[str] = ("test",), classes: Sequence[str] = ("Test",)
) -> tuple[SourceTest, ...]:
    """Return the tests in the order of their lines.

    :param functions: as in pytest's `python_functions`: prefixes or globs; `classes` likewise.
    """
    tree = source if isinstance(source, ast.Module) else parse_source(source)
    found = _Finder(tree, functions, classes).find()
    tests = [SourceTest(name=name, line=live[-1].lineno, body=hash_alternatives(live)) for name, live in found.items()]
    return tuple(sorted(tests, key=lambda test: (test.line, test.name)))


# --- which functions are tests


#: A definition, and the branches that lead to it. None: the name is taken away again.
_Binding = tuple[Definition | None, Branches]


class _Scope:
    """What the body of a module or a class binds, in order."""

    def __init__(self, body: list[ast.stmt], outer: _Scope | None) -> None:
        self.outer = outer
        self.bindings: dict[str, list[_Binding]] = {}
        self.flag: bool | None = None  # `__test__`
        for statement, path in flat_with_branches(body):
            if isinstance(statement, Definition):
                self._bind(statement.name, statement, path)
            elif isinstance(statement, ast.Delete):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self._bind(target.id, None, path)
            elif isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Constant):
                for target in statement.targets if isinstance(statement, ast.Assign) else (statement.target,):
                    self._assign(target, statement.value.value, path)

    def _bind(self, name: str, node: Definition | None, path: Branches) -> None:
        self.bindings.setdefault(name, []).append((node, path))

    def _assign(self, target: ast.expr, value: object, path: Branches) -> None:
        match target:
            case ast.Name(id="__test__"):
                self.flag = bool(value)
            case ast.Name(id=name) if value is None:  # how a subclass drops a test that it inherits
                self._bind(name, None, path)
            case ast.Attribute(value=ast.Name(id=name), attr="__test__") if not value:
                self._bind(name, None, path)

    def find_class(self, name: str, before: int) -> ast.ClassDef | None:
        """Return the class that the name meant above a line; a later `del` does not matter to its subclasses."""
        for node, _ in reversed(self.bindings.get(name, ())):
            if isinstance(node, ast.ClassDef) and node.lineno < before:
                return node
        return None


class _Finder:
    """One pass over one module."""

    def __init__(self, tree: ast.Module, functions: Sequence[str], classes: Sequence[str]) -> None:
        self._functions, self._classes = functions, classes
        self._module = _Scope(tree.body, None)
        self._scopes: dict[int, _Scope] = {}
        self._lines: dict[int, list[ast.ClassDef]] = {}

    def find(self) -> dict[str, list[FunctionNode]]:
        return {} if self._module.flag is False else self._find_in([self._module], "")

    def _find_in(self, scopes: list[_Scope], prefix: str, *, unittest: bool = False) -> dict[str, list[FunctionNode]]:
        """Return name -> live definitions. The first scope that binds a name decides, as in a class's bases."""
        found: dict[str, list[FunctionNode]] = {}
        seen: set[str] = set()
        for scope in scopes:
            for name, bindings in scope.bindings.items():
                if name in seen:
                    continue
                seen.add(name)
                for node in _in_force(bindings):
                    for test, nodes in self._tests_of(node, prefix, scope, unittest).items():
                        found.setdefault(test, []).extend(nodes)
        return found

    def _tests_of(self, node: Definition, prefix: str, scope: _Scope, unittest: bool) -> dict[str, list[FunctionNode]]:
        if isinstance(node, ast.ClassDef):
            # unittest's loader looks into no nested class.
            return {} if unittest else self._tests_of_class(node, f"{prefix}{node.name}::", scope)
        if not _matches(node.name, ("test",) if unittest else self._functions):
            return {}
        if any(last_name(mark) in NOT_TESTS for mark in node.decorator_list):
            return {}
        return {prefix + node.name: [node]}

    def _tests_of_class(self, node: ast.ClassDef, prefix: str, outer: _Scope) -> dict[str, list[FunctionNode]]:
        line = self._linearise(node, outer)
        scopes = [self._scopes[id(one)] for one in line]
        flag = next((scope.flag for scope in scopes if scope.flag is not None), None)
        if flag is False:
            return {}
        if any(self._has_unittest_base(one) for one in line):
            return self._find_in(scopes, prefix, unittest=True)
        if not (flag or _matches(node.name, self._classes)):
            return {}
        if any(name in scope.bindings for scope in scopes for name in ("__init__", "__new__")):
            return {}  # pytest can't create one, and reports that
        return self._find_in(scopes, prefix)

    def _linearise(self, node: ast.ClassDef, outer: _Scope) -> list[ast.ClassDef]:
        """Return the class and its bases as far as this file has them, in the order in which Python asks them."""
        if id(node) not in self._lines:
            self._scopes[id(node)] = _Scope(node.body, outer)
            line = [node]
            for base in node.bases:
                found = self._resolve(base, node, outer)
                if found is not None:
                    line += self._linearise(*found)
            # A base that is reached twice comes after all that derive from it.
            self._lines[id(node)] = list(dict.fromkeys(reversed(line)))[::-1]
        return self._lines[id(node)]

    def _resolve(self, base: ast.expr, user: ast.ClassDef, outer: _Scope) -> tuple[ast.ClassDef, _Scope] | None:
        match base:
            case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):  # Base, Base[int]
                for scope in (outer, self._module):  # a class's body sees no other scope
                    if (node := scope.find_class(name, user.lineno)) is not None:
                        return node, scope
        return None

    def _has_unittest_base(self, node: ast.ClassDef) -> bool:
        outer = self._scopes[id(node)].outer or self._module
        return any(
            last_name(base).endswith("TestCase") and self._resolve(base, node, outer) is None for base in node.bases
        )


def _in_force(bindings: list[_Binding]) -> list[Definition]:
    """Return the definitions that may be in force at the end."""
    live: list[_Binding] = []
    for node, path in bindings:
        # It replaces definitions on its own path, but not those in another branch, or above an `if`.
        live = [earlier for earlier in live if earlier[1][: len(path)] != path]
        live.append((node, path))
    return [node for node, _ in live if node is not None]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    # pytest's rule: a prefix, or a glob. What is no glob matches itself only, as a prefix does.
    return any(name.startswith(pattern) or fnmatch.fnmatch(name, pattern) for pattern in patterns)


# --- doctests: pytest names them by module and object, `shop.price.total` in `src/shop/price.py`


def find_doctests(tree: ast.Module, path: str) -> dict[str, str]:
    """Return hashes of examples, by every name that pytest may have for them: that depends on how it imports a file."""
    bodies = {name: hash_examples(text) for name, text in _docstrings(tree, "") if ">>>" in text}
    return {
        ".".join(filter(None, (module, name))): body
        for module in module_names(path)
        for name, body in bodies.items()
        if body
    }


def module_names(path: str) -> list[str]:
    """Return the names that a file may be imported by: dotted, from as far up as one likes."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return [".".join(parts[start:]) for start in range(len(parts))]


def are_doctests(names: Iterable[str], path: str, tests: Collection[str]) -> bool:
    """Return whether a Python file is collected only for its doctests.

    :param names: bare names of what is collected.
    :param tests: names of the functions in it that can be tests.
    """
    modules = module_names(path)
    return all(
        name not in tests and any(name == module or name.startswith(f"{module}.") for module in modules)
        for name in names
    )


def _docstrings(node: ast.Module | Definition, prefix: str) -> Iterator[tuple[str, str]]:
    text = ast.get_docstring(node, clean=False)
    if text:
        yield prefix, text
    if isinstance(node, FunctionNode):
        return
    for inner in flat(node.body):
        if isinstance(inner, Definition):
            yield from _docstrings(inner, f"{prefix}.{inner.name}" if prefix else inner.name)


def hash_examples(text: str) -> str:
    """Return a hash of the examples in a docstring or a text; empty if it has none, or none that can be read."""
    import doctest  # slow to load, and rarely needed

    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return ""
    rows = [(each.source, each.want, sorted(each.options.items())) for each in examples]
    return digest(repr(rows).encode("utf-8", "surrogatepass")) if rows else ""
