"""What a test's module defines under its name, and whether that is what runs.

Asked only where code of the project could have put something else there.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest

from phase_gate.gate.inventory import bare_name
from phase_gate.storage.ownership import Ownership, is_installed

#: Methods of a test that decide about its outcome.
_DECISIVE = frozenset({"runtest", "setup", "teardown", "ihook", "_getobj", "_getinstance", "repr_failure"})


class TestCode:
    """The code that a test's module defines under its name: as it is called, and below its decorators."""

    __slots__ = ("inner", "outer")
    __test__ = False

    def __init__(self, function: object) -> None:
        self.outer = code_of(function)
        inner = unwrapped_code(function)
        # A decorator of the project's own may run the test elsewhere, in another process for one.
        is_decorated = self.outer is not None and inner is not self.outer
        self.inner = None if is_decorated and not is_installed(self.outer.co_filename) else inner  # type: ignore[union-attr]


def test_codes(items: Iterable[pytest.Item]) -> dict[str, TestCode]:
    """Return what has to run for each test: what its module defines, whatever object is in the list."""
    found, defined_function = {}, Definitions().find
    for item in items:
        function = defined_function(item)
        if function is not None:
            found[item.nodeid] = TestCode(function)
    return found


test_codes.__test__ = False  # type: ignore[attr-defined]


class Definitions:
    """What modules have under the names of tests, for one look at all of them."""

    def __init__(self) -> None:
        self._parent: object = self
        self._owner: object = None

    def find(self, item: pytest.Item) -> object:
        """Return what the test's module has under its name; None where it has nothing."""
        if not isinstance(item, pytest.Function):
            return _find_by_name(item)
        if item.parent is not self._parent:  # tests of a class or a module come one after the other
            self._parent = item.parent
            self._owner = item.cls if item.cls is not None else item.module
        return getattr(self._owner, item.originalname, None)


def _find_by_name(item: pytest.Item) -> object:
    if item.path.suffix != ".py" or "::" not in item.nodeid or type(item).__module__.startswith("_pytest."):
        return None
    # An object of the project's own that bears the name of a function in that file.
    found: object = _module_at(os.path.realpath(item.path))
    for part in bare_name(item.nodeid.partition("::")[2]).split("::"):
        found = getattr(found, part, None)
    return found


def _module_at(path: str) -> ModuleType | None:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and os.path.realpath(file) == path:
            return module
    return None


def code_of(function: object) -> CodeType | None:
    if type(function) is FunctionType:
        return function.__code__
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code if isinstance(code, CodeType) else None


def unwrapped_code(function: object) -> CodeType | None:
    if type(function) is FunctionType and "__wrapped__" not in function.__dict__:
        return function.__code__
    try:
        return code_of(inspect.unwrap(function))  # type: ignore[arg-type]
    except ValueError:
        return None


def are_exchanged(items: Iterable[pytest.Item], before: Mapping[str, TestCode]) -> bool:
    """Tell whether a test is not, wrapped or not, what its module had under its name before the project's hooks."""
    definitions = Definitions()
    return any(_is_exchanged(item, before.get(item.nodeid), definitions) for item in items)


def _is_exchanged(item: pytest.Item, before: TestCode | None, definitions: Definitions) -> bool:
    defined = code_of(definitions.find(item))
    if before is not None and before.outer is not defined:
        return True
    return isinstance(item, pytest.Function) and (defined is None or code_of(item.obj) is not defined)


# --- does each test run what its module defines under its name?


def find_replaced(items: Iterable[pytest.Item], ownership: Ownership) -> Iterator[tuple[pytest.Item, str]]:
    """Yield the tests that run something else, and what is to be said of it."""
    definitions, sources = Definitions(), _Sources()
    for item in items:
        for name in () if _DECISIVE.isdisjoint(vars(item)) else _DECISIVE & vars(item).keys():
            files = ownership.projects_files(vars(item)[name])
            if files:
                yield item, f"its {name} is from {', '.join(files)}"
        if not isinstance(item, pytest.Function):
            continue
        function, runs = definitions.find(item), getattr(item.obj, "__func__", item.obj)
        running = unwrapped_code(runs)
        defined = running if function is runs else unwrapped_code(function)
        if defined is not None and running is not None and defined is not running:
            yield item, "runs other code than its module defines"
            continue
        if running is not None and not sources.has(item, running):
            yield item, f"runs code from {ownership.shown(running.co_filename)}"


#: A definition that begins its line.
_DEFINES = rb"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)"


class _Sources:
    """The files of tests, each read once."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._file = ""
        self._lines: Mapping[str, int] = {}
        self._functions: Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef] | None = None

    def has(self, item: pytest.Function, code: CodeType) -> bool:
        """Tell whether a test's code is at its place in the file, if the source shows it plainly."""
        if item.path is not self._path:  # the tests of a file share its path, and come one after the other
            self._path, self._file, self._functions = item.path, str(item.path), None
            self._lines = _defined_once(item.path)
        name = bare_name(item.nodeid.partition("::")[2])
        is_here = Ownership.is_same_file(code.co_filename, self._file)
        if is_here and self._lines.get(name.rpartition("::")[2]) == code.co_firstlineno:
            return True
        if self._functions is None:
            self._functions = _functions_in(item.path)
        found = self._functions.get(name)
        if found is None or not all("mark" in _dotted(mark) for mark in found.decorator_list):
            return True  # not there, or under a decorator that might stand in for it
        first = min((found.lineno, *(mark.lineno for mark in found.decorator_list)))
        return is_here and code.co_firstlineno == first


def _defined_once(path: Path) -> Mapping[str, int]:
    """Return the lines of functions of which there is one with that name, whatever it stands in.

    A test whose code begins there is that one, and no other is. What begins with a decorator is not among them.
    """
    try:
        source = path.read_bytes()
    except OSError:
        return {}
    if not source.isascii() or b"\f" in source or b"\r" in source:
        return {}
    rows = [*re.finditer(_DEFINES, source)]
    if source.count(b"def") != len(rows) and len(re.findall(rb"\bdef\b", source)) != len(rows):
        return {}  # the syntax tree tells what stands further on in a line
    found: dict[str, int] = {}
    number, counted, after, has_marks = 1, 0, 0, b"@" in source
    for row in rows:
        begin = row.start()
        number, counted = number + source.count(b"\n", counted, begin), begin
        name = row[1].decode()
        is_decorated = has_marks and source.find(b"@", after, begin) >= 0
        found[name] = -1 if name in found or is_decorated else number
        if has_marks:
            after = source.find(b"\n", begin) + 1 or len(source)
    return found


def _functions_in(path: Path) -> Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    from phase_gate.recording.reasons import parse_file
    from phase_gate.source.checks import find_functions

    tree = parse_file(str(path))
    return {} if tree is None else find_functions(tree)


def _dotted(node: ast.expr) -> str:
    inner = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(inner)
