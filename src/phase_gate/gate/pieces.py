"""Pieces of tests that lie outside of the files of tests: inherited tests, fixtures, assert helpers in sources.

Pure: syntax trees in, hashes out. A piece is a function or a class, frozen by itself: the rest of its file is free to
change, for it may well be the code under test.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping

from phase_gate.gate.findings import Change, Finding
from phase_gate.gate.freeze import PieceFile
from phase_gate.source.body_hash import HASH_LENGTH, hash_body

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = list[ast.stmt]

#: Methods that pytest and unittest call by their names, before and after each test.
SETUPS = frozenset(
    (
        *("setup_method", "teardown_method", "setup_class", "teardown_class"),
        *("setUp", "tearDown", "setUpClass", "tearDownClass", "asyncSetUp", "asyncTearDown"),
    )
)


def outer_name(qualified: str) -> str:
    """Return the name of the outermost function: what is defined inside of it is part of it."""
    return qualified.partition(".<locals>")[0]


def hash_piece(tree: ast.Module, name: str) -> str:
    """Return a hash of all that binds a qualified name, `check_total` or `Base.test_total`; empty if nothing does.

    Tests inside a class are left out: each of them is a piece of its own, and new ones may come.
    """
    *classes, last = name.split(".")
    scopes: list[_Scope] = [tree.body]
    rebound: list[str] = []
    for part in classes:
        found = [node for scope in scopes for node in _binding(scope, part)]
        scopes = [node.body for node in found if isinstance(node, ast.ClassDef)]
        rebound += [hash_body(node) for node in found if not isinstance(node, ast.ClassDef)]
    found = [node for scope in scopes for node in _binding(scope, last)]
    if not found:
        return ""
    hashes = [hash_body(node, _tests_in(node)) for node in found]
    if len(hashes) == 1 and not rebound:
        return hashes[0]
    # Whatever binds the name once more may take its place: which one is taken is not for us to say.
    return hashlib.sha256(" ".join((*rebound, *hashes)).encode()).hexdigest()[:HASH_LENGTH]


def hash_rows(tree: ast.Module, name: str) -> tuple[str, ...]:
    """Return a hash for each row of the data that a name is bound to, plainly; of all that binds it where it is not."""
    match list(_binding(tree.body, name)):
        case []:
            return ()
        case [ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value)]:
            rows: list[ast.expr]
            match value:
                case ast.List(elts=rows) | ast.Tuple(elts=rows) | ast.Set(elts=rows):
                    return tuple(_hash_data(tree, row) for row in rows)
                case ast.Dict(keys=keys, values=values):
                    pairs = zip(keys, values, strict=True)
                    return tuple(_hash_data(tree, *filter(None, pair)) for pair in pairs)
            return (_hash_data(tree, value),)
    return (hash_piece(tree, name),)


def _hash_data(tree: ast.Module, *values: ast.expr) -> str:
    """Return a hash of expressions, and of the data of the same file that they name."""
    hashes = [hash_body(value) for value in values]
    pending, seen = list(values), set[str]()
    while pending:
        names = {node.id for node in ast.walk(pending.pop()) if isinstance(node, ast.Name)} - seen
        seen |= names
        for node in (node for name in sorted(names) for node in _binding(tree.body, name)):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                hashes.append(hash_body(node))
                pending.append(node.value)
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest()[:HASH_LENGTH]


def find_piece(tree: ast.Module, name: str) -> ast.stmt | None:
    """Return what binds a name at the module's level; the last one if there are several."""
    found = list(_binding(tree.body, name))
    return found[-1] if found else None


def is_of_tests(node: ast.ClassDef) -> bool:
    """Tell whether a class has tests, or unittest's ways, so that it is no code under test."""
    bases = (getattr(base, "attr", getattr(base, "id", "")) for base in node.bases)
    return bool(_tests_in(node)) or any(base.endswith("TestCase") for base in bases)


def tests_of(node: ast.ClassDef) -> list[str]:
    omitted = _tests_in(node)
    return [each.name for each in node.body if isinstance(each, _Function) and id(each) in omitted]


def lines_of(tree: ast.Module, name: str) -> list[range]:
    """Return the lines on which a piece stands, its tests left out."""
    *classes, last = name.split(".")
    scopes: list[_Scope] = [tree.body]
    for part in classes:
        scopes = [node.body for scope in scopes for node in _binding(scope, part) if isinstance(node, ast.ClassDef)]
    lines: list[range] = []
    for node in (node for scope in scopes for node in _binding(scope, last)):
        omitted = _tests_in(node)
        inner = [each for each in getattr(node, "body", []) if id(each) not in omitted] if omitted else [node]
        lines += [range(each.lineno, (each.end_lineno or each.lineno) + 1) for each in inner]
    return lines


def _tests_in(node: ast.stmt) -> frozenset[int]:
    if not isinstance(node, ast.ClassDef):
        return frozenset()
    return frozenset(id(each) for each in node.body if isinstance(each, _Function) and each.name.startswith("test"))


def _binding(scope: _Scope, name: str) -> Iterator[ast.stmt]:
    """Yield the statements of a scope that bind the name, also below conditions; not those inside functions."""
    for node in scope:
        if isinstance(node, _Function | ast.ClassDef):
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


def find_altered_pieces(frozen: Mapping[str, PieceFile], now: Mapping[str, PieceFile]) -> Iterator[Finding]:
    """Yield the pieces that are not what they were."""
    for path, file in frozen.items():
        present = now.get(path, PieceFile(content=""))
        for name, before in file.names.items():
            found = present.names.get(name, "")
            if found != before:
                detail = f"{name} is {'not what was frozen' if found else 'gone'}, and tests are made of it"
                yield _altered(path, detail, proof=found, change="altered" if found else "gone")
        for name, rows in file.rows.items():
            # More rows may come, as more tests may.
            if Counter(rows) - Counter(present.rows.get(name, ())):
                proof = hashlib.sha256(" ".join(present.rows.get(name, ())).encode()).hexdigest()
                detail = f"rows of {name}, which are parameters of tests, are not what was frozen"
                yield _altered(path, detail, proof=proof, change="altered")


def _altered(path: str, detail: str, *, proof: str, change: Change) -> Finding:
    return Finding(slug="tests-unchanged", tier="hard", file=path, detail=detail, proof=proof, change=change)
