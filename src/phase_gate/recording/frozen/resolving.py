"""Find what a reference means: the file of the project, and the definition in it, without importing anything."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path

from phase_gate.gate.pieces import find_piece
from phase_gate.recording.reasons import parse_file
from phase_gate.source.imported import ImportedNames
from phase_gate.storage.owners import is_in_environment
from phase_gate.values import Value

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
