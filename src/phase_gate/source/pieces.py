"""Parts of tests in source files: inherited bodies, fixtures and helpers in files that are not frozen as a whole.

Pure: syntax trees in, hashes and lines out.
"""

from __future__ import annotations

import ast
import hashlib
import posixpath
from collections.abc import Collection, Iterable, Iterator

from phase_gate.source.body_hash import HASH_LENGTH, hash_body
from phase_gate.source.syntax_names import FunctionNode

#: Methods that pytest and unittest call by their names, before and after each test.
SETUPS = frozenset(
    (
        *("setup_method", "teardown_method", "setup_class", "teardown_class"),
        *("setUp", "tearDown", "setUpClass", "tearDownClass", "asyncSetUp", "asyncTearDown"),
    )
)


def is_under_test(file: str, lines: Iterable[range], *, tests: Iterable[str], raised: Collection[int]) -> bool:
    """Return whether a part may be the code under test: a test file is named after it, or it raised in RED.

    :param tests: `test_testing.py` tests `testing.py`, or that package.
    :param raised: lines of the file that raised, other than in a check.
    """
    source = posixpath.basename(file.removesuffix(".py").removesuffix("/__init__")).strip("_")
    stems = (posixpath.basename(test).removesuffix(".py") for test in tests)
    if source in {stem.removeprefix("test_").removesuffix("_test").strip("_") for stem in stems}:
        return True
    return any(line in each for each in lines for line in raised)


def hash_piece(tree: ast.Module, name: str) -> str:
    """Return a hash of all that binds a qualified name, `given_total` or `Base.test_total`; empty if nothing does.

    Tests inside a class are left out: each of them is a piece of its own, and new ones may come.
    """
    found = _find(tree, name)
    if not any(is_last for _, is_last in found):
        return ""
    # Another binding of the name, or of a class around it, may replace it, and it is unknown which one counts.
    hashes = [hash_body(node, _tests_in(node)) for node, _ in found]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256(" ".join(hashes).encode()).hexdigest()[:HASH_LENGTH]


def lines_of(tree: ast.Module, name: str) -> list[range]:
    """Return the lines of a piece, without its tests."""
    lines: list[range] = []
    for node in (node for node, is_last in _find(tree, name) if is_last):
        omitted = _tests_in(node)
        inner = [each for each in getattr(node, "body", []) if id(each) not in omitted] if omitted else [node]
        lines += [range(each.lineno, (each.end_lineno or each.lineno) + 1) for each in inner]
    return lines


def _find(tree: ast.Module, name: str) -> list[tuple[ast.stmt, bool]]:
    """Return what binds a qualified name, and what binds the name of a class around it without being one."""
    *classes, last = name.split(".")
    scopes: list[list[ast.stmt]] = [tree.body]
    found: list[tuple[ast.stmt, bool]] = []
    for part in classes:
        nodes = [node for scope in scopes for node in _binding(scope, part)]
        scopes = [node.body for node in nodes if isinstance(node, ast.ClassDef)]
        found += [(node, False) for node in nodes if not isinstance(node, ast.ClassDef)]
    return [*found, *((node, True) for scope in scopes for node in _binding(scope, last))]


def _tests_in(node: ast.stmt) -> frozenset[int]:
    if not isinstance(node, ast.ClassDef):
        return frozenset()
    return frozenset(id(each) for each in node.body if isinstance(each, FunctionNode) and each.name.startswith("test"))


def _binding(scope: list[ast.stmt], name: str) -> Iterator[ast.stmt]:
    """Yield the statements of a scope that bind the name, also below conditions; not those inside functions."""
    for node in scope:
        if isinstance(node, FunctionNode | ast.ClassDef):
            if node.name == name:
                yield node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            if any((alias.asname or alias.name.partition(".")[0]) == name for alias in node.names):
                yield node
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (each for target in targets for each in ast.walk(target))
            if any(isinstance(each, ast.Name) and each.id == name for each in names):
                yield node
        else:
            for block in ("body", "orelse", "finalbody"):
                yield from _binding(getattr(node, block, []), name)
            for handler in getattr(node, "handlers", []):
                yield from _binding(handler.body, name)
