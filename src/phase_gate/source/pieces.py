"""Parts of tests in source files: inherited bodies, fixtures and helpers in files that are not frozen as a whole.

Pure: syntax trees in, hashes and lines out.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Collection, Iterable, Iterator

from phase_gate.source.body_hash import hash_alternatives
from phase_gate.source.syntax_names import Definition, FunctionNode, blocks, bound_names, flat

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
    nodes = [node for node, _ in found]
    return hash_alternatives(nodes, frozenset[int]().union(*map(_tests_in, nodes)))


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
    for node in flat(scope):
        is_block = not isinstance(node, Definition) and any(blocks(node))
        if not is_block and name in bound_names(node):
            yield node
