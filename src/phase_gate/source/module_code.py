"""The code around tests: what gives them their meaning, statement by statement, or by names.

Pure. Imports, constants, helpers, fixtures and class code of a file that holds tests, or that tests use. What was there
must stay; what is added may come if it can't change the meaning of what was there. Of a source file that is not frozen
as a whole, only the pieces count that tests are made of: inherited bodies, fixtures and helpers.
"""

from __future__ import annotations

import ast
import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from phase_gate.source.body_hash import digest, hash_alternatives, hash_body, take
from phase_gate.source.syntax_names import (
    Definition,
    FunctionNode,
    bound_names,
    branches,
    flag_of,
    flat,
    last_name,
    provided_name,
    requested_names,
    split_import,
)
from phase_gate.values import Value

#: Names that pytest reads from a module by themselves: binding one changes tests that never mention it.
_READ_BY_PYTEST = frozenset(
    (
        *("pytestmark", "pytest_plugins", "collect_ignore", "collect_ignore_glob", "__test__", "__tracebackhide__"),
        *("setup_module", "teardown_module", "setup_function", "teardown_function", "setUpModule", "tearDownModule"),
    )
)

#: Ways to bind, in passing, what no assignment names.
_CHANGES_OTHERS = frozenset(
    {"setattr", "delattr", "exec", "eval", "globals", "vars", "modules", "__setattr__", "__setitem__", "__dict__"}
)


class ModuleStatement(Value, kw_only=False):
    """One statement at the module's level, its tests left out."""

    hash: str
    line: int
    binds: frozenset[str]
    #: Whether it is of a kind that can come without changing what was there.
    is_harmless: bool
    #: The name of the fixture that it defines.
    provides: str = ""
    #: The fixtures that it asks for itself.
    requests: frozenset[str] = frozenset()


def module_code(tree: ast.Module, *, tests: Collection[str]) -> tuple[ModuleStatement, ...]:
    """Return the statements of a module without its tests, which are given by their bare names."""
    omitted = _test_nodes(tree.body, "", tests)
    found = []
    for statement in tree.body:
        is_docstring = statement is tree.body[0] and _is_text(statement)
        if id(statement) in omitted or is_docstring:
            continue
        for part in split_import(statement):
            binds = frozenset(bound_names(part))
            text = f"{getattr(part, 'name', '')} {hash_body(part, omitted)}"
            found.append(
                ModuleStatement(
                    hash=digest(text.encode()),
                    line=statement.lineno,
                    binds=binds,
                    is_harmless=_is_harmless(part, binds),
                    provides=provided_name(part),
                    requests=requested_names(part),
                )
            )
    return tuple(found)


def _test_nodes(body: list[ast.stmt], prefix: str, tests: Collection[str]) -> set[int]:
    """Return the tests' own nodes, and the classes in which nothing else is: one more of those is no change."""
    omitted: set[int] = set()
    for node in body:
        if isinstance(node, FunctionNode) and f"{prefix}{node.name}" in tests:
            omitted.add(id(node))
        elif isinstance(node, ast.ClassDef):
            inner = _test_nodes(node.body, f"{prefix}{node.name}::", tests)
            omitted |= inner
            rest = [each for each in node.body if id(each) not in inner and not _is_text(each)]
            if inner and not (rest or node.bases or node.keywords or node.decorator_list):
                omitted.add(id(node))
    return omitted


def find_changes(
    frozen: Iterable[str],
    now: Sequence[ModuleStatement],
    tests: Collection[str] = frozenset(),
    requested: Collection[str] = frozenset(),
) -> tuple[int, ...]:
    """Return the lines that change the meaning of frozen tests; 0 if something is missing, and nothing else changed.

    :param tests: names of the frozen tests or their classes in the module.
    :param requested: fixtures that frozen tests request: another one of that name would replace them.
    """
    missing = Counter(frozen)
    added = [statement for statement in now if not take(missing, statement.hash)]
    bound = Counter(name for statement in now for name in statement.binds)
    lines = [
        statement.line
        for statement in added
        # A second binding of a name replaces what tests have been using under it, or a test itself.
        if not statement.is_harmless
        or statement.provides in requested
        or any(bound[name] > 1 or name in tests for name in statement.binds)
    ]
    if +missing and not lines:
        return (0,)
    return tuple(lines)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_harmless(statement: ast.stmt, binds: frozenset[str]) -> bool:
    if any(name in _READ_BY_PYTEST or name.startswith("pytest_") for name in binds) or _reaches_out(statement):
        return False
    if isinstance(statement, ast.Import):
        return True
    if isinstance(statement, ast.ImportFrom):
        return "*" not in binds
    if isinstance(statement, FunctionNode):
        return not _is_autouse(statement)
    if isinstance(statement, ast.ClassDef):
        # Its body runs at import, too.
        return all(
            isinstance(inner, ast.Pass | FunctionNode)
            or _is_text(inner)
            or _is_harmless(inner, frozenset(f".{name}" for name in bound_names(inner)))
            for inner in statement.body
        )
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        # A value under a new name; not an attribute or item of something that is there already.
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return all(isinstance(target, ast.Name | ast.Tuple | ast.List) for target in targets) and bool(binds)
    if isinstance(statement, ast.If):
        # `if TYPE_CHECKING:` and the like, as long as nothing else happens inside.
        return all(_is_harmless(inner, frozenset(bound_names(inner))) for inner in (*statement.body, *statement.orelse))
    return False


def _reaches_out(statement: ast.stmt) -> bool:
    """Return whether the definition or assignment has side effects: `_ = setattr(price, ...)`."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name | ast.Attribute) and last_name(node) in _CHANGES_OTHERS:
            return True
        # A function's effects come when it is called.
        deferred = {id(inner) for inner in node.body} if isinstance(node, FunctionNode) else set()
        if isinstance(node, ast.Lambda):
            deferred = {id(node.body)}
        pending += [inner for inner in ast.iter_child_nodes(node) if id(inner) not in deferred]
    return False


def _is_autouse(function: FunctionNode) -> bool:
    given = [flag_of(mark, "autouse") for mark in function.decorator_list]
    return any(each is not None and not (isinstance(each, ast.Constant) and not each.value) for each in given)


# --- pieces of a source, by their names


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
    pieces, others = _find(tree, name)
    if not pieces:
        return ""
    # Another binding of the name, or of a class around it, may replace it, and it is unknown which one counts.
    nodes = [*others, *pieces]
    return hash_alternatives(nodes, frozenset[int]().union(*map(_tests_in, nodes)))


def lines_of(tree: ast.Module, name: str) -> list[range]:
    """Return the lines of a piece, without its tests."""
    lines: list[range] = []
    for node in _find(tree, name)[0]:
        omitted = _tests_in(node)
        inner = [each for each in getattr(node, "body", []) if id(each) not in omitted] if omitted else [node]
        lines += [range(each.lineno, (each.end_lineno or each.lineno) + 1) for each in inner]
    return lines


def _find(tree: ast.Module, name: str) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Return what binds a qualified name, and what binds the name of a class around it without being one."""
    *classes, last = name.split(".")
    scopes: list[list[ast.stmt]] = [tree.body]
    others: list[ast.stmt] = []
    for part in classes:
        nodes = [node for scope in scopes for node in _binding(scope, part)]
        scopes = [node.body for node in nodes if isinstance(node, ast.ClassDef)]
        others += [node for node in nodes if not isinstance(node, ast.ClassDef)]
    return [node for scope in scopes for node in _binding(scope, last)], others


def _tests_in(node: ast.stmt) -> frozenset[int]:
    if not isinstance(node, ast.ClassDef):
        return frozenset()
    return frozenset(id(each) for each in node.body if isinstance(each, FunctionNode) and each.name.startswith("test"))


def _binding(scope: list[ast.stmt], name: str) -> Iterator[ast.stmt]:
    """Yield the statements of a scope that bind the name, also below conditions; not those inside functions."""
    for node in flat(scope):
        is_block = not isinstance(node, Definition) and any(block for block, _ in branches(node))
        if not is_block and name in bound_names(node):
            yield node
