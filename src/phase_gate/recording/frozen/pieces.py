"""Pieces of tests in the sources: which there are when tests are frozen, and what has become of them later."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from phase_gate.gate.failures import Failure
from phase_gate.gate.freeze import PieceFile
from phase_gate.gate.pieces import SETUPS, find_piece, hash_piece, hash_rows, is_of_tests, lines_of, tests_of
from phase_gate.gate.support_code import Parts
from phase_gate.recording.reasons import parse_file
from phase_gate.source.check_helpers import has_assertion, is_namesake, says_that_it_checks
from phase_gate.source.fixtures import provided_name
from phase_gate.source.imported import ImportedNames
from phase_gate.storage.ownership import find_owner, is_in_environment
from phase_gate.values import Value

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class PieceFinder:
    """Finds the pieces that a freeze holds, outside of the files that it holds as a whole.

    :param paths: folders that modules are imported from, relative to the root.
    :param frozen: files that are frozen anyway.
    :param failures: how tests failed in this run, by id: what raised for want of code is what is to be written.
    """

    def __init__(
        self, root: Path, paths: Iterable[str], *, frozen: Collection[str], failures: Mapping[str, Failure]
    ) -> None:
        self._root, self._frozen, self._failures = root, frozen, failures
        self._resolver = Resolver(root, paths)
        self._names: dict[str, set[str]] = {}
        self._rows: dict[str, set[str]] = {}

    def see_parts(self, parts: Parts, *, asked: Collection[str], tests: Collection[str]) -> None:
        """Take what a session saw.

        :param asked: fixtures that tests and fixtures ask for.
        :param tests: the files of tests.
        """
        for place in parts.tests:
            self._add(place)
        fixtures = (places for name, places in parts.fixtures.items() if name in asked or name in parts.always)
        for place in (*parts.around, *(place for places in fixtures for place in places)):
            self._add_unless_free(place, tests)

    def see_failures(self) -> None:
        """Take the helpers that checked."""
        for failure in self._failures.values():
            for place in failure.helpers:
                self._add(place)

    def see_hooks(self, plugins: Iterable[str], tests: Collection[str]) -> None:
        """Take what plugins hook into pytest."""
        for path in plugins:
            tree = self._resolver.parse(path)
            for node in [] if tree is None else tree.body:
                if isinstance(node, _Function) and node.name.startswith("pytest_"):
                    self._add_unless_free(f"{path}::{node.name}", tests)

    def see_source(self, path: str, *, asked: Collection[str]) -> None:
        """Take what the source of a file of tests shows: its tests failed, perhaps before they could be collected."""
        tree = self._resolver.parse(path)
        if tree is None:
            return
        names = ImportedNames(tree)
        for definition in self._find(filter(None, names.parts()), path):
            if isinstance(definition.node, ast.ClassDef):
                self._add_class(definition, path)
            elif isinstance(definition.node, _Function) and definition.name.startswith("test"):
                self._add(_place(definition))
            elif isinstance(definition.node, _Function):
                self._add_unless_free(_place(definition), [path])
        imported = (found for name, found in names.things().items() if name in asked)
        for definition in self._find(imported, path):
            if provided_name(definition.node):
                self._add_unless_free(_place(definition), [path])
        for definition in self._find(filter(None, names.statements()), path):
            if self._is_helper(definition, names):
                self._add_unless_free(_place(definition), [path])

    def see_rows(self, references: Iterable[str], path: str) -> None:
        """Take the data that rows of parameters in a file come from."""
        for definition in self._find(references, path):
            if definition.file not in self._frozen and not isinstance(definition.node, _Function | ast.ClassDef):
                self._rows.setdefault(definition.file, set()).add(definition.name)

    def take(self, contents: Callable[[Iterable[str]], Mapping[str, str]]) -> dict[str, PieceFile]:
        """Return all pieces that were seen.

        :param contents: returns the content ids of files.
        """
        files = sorted({*self._names, *self._rows})
        ids = contents(files) if files else {}
        found = {
            path: read_pieces(self._resolver, path, ids[path], self._names.get(path, ()), self._rows.get(path, ()))
            for path in files
            if path in ids
        }
        return {path: file for path, file in found.items() if file.names or file.rows}

    def _find(self, references: Iterable[str], path: str) -> list[Definition]:
        found = (self._resolver.find(reference, path) for reference in sorted(set(references)))
        return [each for each in found if each is not None]

    def _add(self, place: str) -> None:
        file, _, name = place.partition("::")
        if file not in self._frozen and not file.startswith("../"):
            self._names.setdefault(file, set()).add(name)

    def _add_unless_free(self, place: str, tests: Collection[str]) -> None:
        """Add what may be the code under test itself only if nothing says so."""
        file, _, name = place.partition("::")
        if any(is_namesake(file, test) for test in tests):
            return
        tree = self._resolver.parse(file)
        lines = [] if tree is None else lines_of(tree, name)
        raised = {each.line for each in self._failures.values() if each.file == file and not each.by_check}
        if not any(line in each for line in raised if line is not None for each in lines):
            self._add(place)

    def _add_class(self, definition: Definition, test: str, depth: int = 0) -> None:
        node, place = definition.node, _place(definition)
        assert isinstance(node, ast.ClassDef)
        if is_of_tests(node):
            self._add_unless_free(place, [test])
            for name in tests_of(node):
                self._add(f"{place}.{name}")
        else:
            own = {each.name for each in node.body if isinstance(each, _Function)}
            for name in SETUPS & own:
                self._add_unless_free(f"{place}.{name}", [test])
        tree = self._resolver.parse(definition.file)
        if tree is None or depth > 5:
            return
        names = ImportedNames(tree)
        for base in node.bases:
            found = self._resolver.find_name(base, names, definition.file)
            if found is not None and isinstance(found.node, ast.ClassDef):
                self._add_class(found, test, depth + 1)

    def _is_helper(self, definition: Definition, names: ImportedNames) -> bool:
        """Tell whether a function is beyond doubt a check of the tests, and not what they are about."""
        if not isinstance(definition.node, _Function) or not says_that_it_checks(definition.name, definition.file):
            return False
        if not has_assertion(definition.node):
            return False
        own = self._resolver.module_of(definition.file)
        others = (module for module in names.modules() if module.lstrip(".") != own)
        return any(module.startswith(".") or find_owner(module, self._root) == "project" for module in others)


def read_pieces(resolver: Resolver, path: str, content: str, names: Iterable[str], rows: Iterable[str]) -> PieceFile:
    """Return the pieces of a file as they are now; those that are not there are left out."""
    tree = resolver.parse(path)
    if tree is None:
        return PieceFile(content=content)
    hashes = {name: hash_piece(tree, name) for name in sorted(names)}
    data = {name: hash_rows(tree, name) for name in sorted(rows)}
    return PieceFile(
        content=content,
        names={name: found for name, found in hashes.items() if found},
        rows={name: found for name, found in data.items() if found},
    )


def look_again(root: Path, frozen: Mapping[str, PieceFile], contents: Mapping[str, str]) -> dict[str, PieceFile]:
    """Return frozen pieces as they are now; files whose content is the frozen one are not parsed."""
    resolver = Resolver(root)
    return {
        path: file
        if contents.get(path) == file.content
        else read_pieces(resolver, path, contents.get(path, ""), file.names, file.rows)
        for path, file in frozen.items()
    }


def _place(definition: Definition) -> str:
    return f"{definition.file}::{definition.name}"


# --- find what a reference means: the file of the project, and the definition in it, without importing anything


#: Folders below the root that modules are commonly imported from.
_FOLDERS = ("", "src", "lib")
#: A name that is handed on from module to module, at most so often.
_HANDED_ON = 5


class Definition(Value, kw_only=False):
    file: str
    name: str
    node: ast.stmt


class Resolver:
    """Knows one project's files.

    :param paths: more folders that modules are imported from, relative to the root.
    """

    def __init__(self, root: Path, paths: Iterable[str] = ()) -> None:
        self._root = root
        self._folders = tuple(dict.fromkeys((*_FOLDERS, *(posixpath.normpath(path) for path in paths))))

    def parse(self, file: str) -> ast.Module | None:
        return parse_file(str(self._root / file))

    def find(self, reference: str, file: str) -> Definition | None:
        """Return what a reference in a file means; None if that is not the project's, or not plain.

        :param file: relative to the root.
        """
        for _ in range(_HANDED_ON):
            module, _, name = reference.partition(":")
            found = next((each for each in self._files_of(module, file) if self._is_there(each)), None)
            tree = None if found is None else self.parse(found)
            node = None if tree is None else find_piece(tree, name)
            if found is None or node is None:
                return None
            if not isinstance(node, ast.Import | ast.ImportFrom):
                return Definition(found, name, node)
            handed_on = [alias for alias in node.names if (alias.asname or alias.name) == name]
            if isinstance(node, ast.Import) or not handed_on:
                return None
            reference, file = f"{'.' * node.level}{node.module or ''}:{handed_on[0].name}", found
        return None

    def find_name(self, node: ast.expr, names: ImportedNames, file: str) -> Definition | None:
        """Return what an expression in a file means: something that is imported there, or defined at its top."""
        reference = names.reference(node)
        if reference:
            return self.find(reference, file)
        tree = self.parse(file)
        found = find_piece(tree, node.id) if tree is not None and isinstance(node, ast.Name) else None
        return None if found is None or not isinstance(node, ast.Name) else Definition(file, node.id, found)

    def module_of(self, file: str) -> str:
        """Return the name that a file is imported by."""
        folders = sorted((each for each in self._folders if each and file.startswith(f"{each}/")), key=len)
        inner = file.removeprefix(f"{folders[-1]}/") if folders else file
        return inner.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def _files_of(self, module: str, file: str) -> Iterator[str]:
        level = len(module) - len(module.lstrip("."))
        inner = module[level:].replace(".", "/")
        if level:
            package = file
            for _ in range(level):
                package = posixpath.dirname(package)
            folders: tuple[str, ...] = (package,)
        else:
            folders = self._folders
        for folder in folders:
            path = posixpath.join(folder, inner) if inner else folder
            yield from (f"{path}.py", posixpath.join(path, "__init__.py"))

    def _is_there(self, file: str) -> bool:
        path = self._root / file
        return path.is_file() and not is_in_environment(str(path), str(self._root))
