"""Functions of the sources that check on behalf of tests: assert helpers that lie outside of the test folders.

Pure. The shell describes how an exception came out of the sources, or how a test would call them; which of them are
helpers follows. A cautious rule: what raises in RED is mostly the code that is to be written, and must stay free to
change.
"""

from __future__ import annotations

import ast
import posixpath
import re

from phase_gate.values import Value

#: Words in the name of a function that is there for nothing but a check.
_ASSERTING = frozenset({"assert", "asserts", "expect", "expects", "should"})
#: Words that stand in the names of other functions, too.
_CHECKING = frozenset({"check", "checks", "compare", "ensure", "must", "verify"})
#: Words in the path of a source that is there for tests.
_TESTING = frozenset({"test", "tests", "testing", "assert", "asserts", "assertions"})


class Called(Value):
    """One function of the sources on the way from a test to the line that raised."""

    name: str
    file: str
    #: The caller does nothing with what it returns.
    is_statement: bool
    #: What is handed over: one that is to be compared has something to compare it with.
    arguments: int = 0


class Raised(Value):
    """How an exception came out of sources that a test called."""

    #: From the test inwards; the last one raised it.
    chain: tuple[Called, ...]
    #: By an assertion that is not constant: not by code that went wrong.
    is_check: bool
    #: The test, or the first of them, works with code of another source: that one is under test.
    looks_at_others: bool
    test_file: str


def find_helpers(raised: Raised) -> tuple[Called, ...]:
    """Return the functions that checked on behalf of a test; mostly none.

    A helper is called for nothing but its check, says so by its name or its place, and looks at what others give.
    """
    if not raised.chain or not raised.is_check or not raised.looks_at_others:
        return ()
    first = raised.chain[0]
    if not all(called.is_statement for called in raised.chain) or is_namesake(first.file, raised.test_file):
        return ()
    compares = first.arguments > 1 and bool(_CHECKING & _words(_last(first.name)))
    return raised.chain if compares or says_that_it_checks(first.name, first.file) else ()


def says_that_it_checks(name: str, file: str) -> bool:
    """Tell whether a function says so beyond doubt, by its own name or by that of its file."""
    return bool(_ASSERTING & _words(_last(name)) or _TESTING & _words(file.removesuffix(".py")))


def has_assertion(function: ast.AST) -> bool:
    """Tell whether a function asserts by itself, in any way."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Raise) and node.exc is not None and _name_of(node.exc) == "AssertionError":
            return True
        if isinstance(node, ast.Call) and (_ASSERTING & _words(_name_of(node)) or _name_of(node) == "fail"):
            return True
    return False


def is_namesake(file: str, test_file: str) -> bool:
    """Tell whether a file of tests is named after a source: `test_testing.py` tests `testing.py`, or that package."""
    stem = posixpath.basename(test_file).removesuffix(".py")
    named = stem.removeprefix("test_").removesuffix("_test").strip("_")
    source = file.removesuffix(".py").removesuffix("/__init__")
    return named == posixpath.basename(source).strip("_")


def _name_of(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner):
            return _name_of(inner)
    return ""


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _words(name: str) -> set[str]:
    """Return the words of `assertEqual`, `check_total` and `app/testing`."""
    return set(re.split(r"[_/.]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()))
