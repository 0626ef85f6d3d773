"""Names of nodes in a syntax tree, the names that statements bind or use, and their order.

Pure: nodes in, names and nodes out.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from phase_gate.values import Value

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Definition = FunctionNode | ast.ClassDef


class NamedFunction(Value):
    """A function as pytest names it: `test_x`, `TestC::test_x`."""

    name: str
    node: FunctionNode
    #: The classes around it, outermost first.
    classes: tuple[ast.ClassDef, ...] = ()


def last_name(node: ast.AST | None) -> str:
    """Return what a name, an attribute, a call or `Base[int]` goes by: `fixture` for `pytest.fixture()`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return last_name(inner)
    return ""


#: The branches that lead to a statement: (statement, branch), outermost first.
Branches = tuple[tuple[int, int], ...]


def flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module or class, with those under an `if`, `try` or `with`; not those of functions."""
    return (statement for statement, _ in flat_with_branches(body))


def flat_with_branches(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, Branches]]:
    """Yield the same statements with the branches that lead to them. Those that always run have the same branches."""
    pending: list[tuple[ast.stmt, Branches]] = [(statement, ()) for statement in reversed(body)]
    while pending:  # without recursion: a chain of `elif` may have 5,000 links
        statement, path = pending.pop()
        yield statement, path
        if isinstance(statement, Definition):
            continue
        for block, branch in reversed([*branches(statement)]):
            inside = path if branch is None else (*path, (id(statement), branch))
            pending += [(inner, inside) for inner in reversed(block)]


def branches(statement: ast.stmt) -> Iterator[tuple[list[ast.stmt], int | None]]:
    """Yield the blocks of a statement, each with the number of its branch; None if it always runs."""
    is_sure = isinstance(statement, ast.With | ast.AsyncWith)
    # After the body of a `try` or a loop comes its `else`. That of an `if` comes instead.
    orelse = 1 if isinstance(statement, ast.If) else 0
    yield getattr(statement, "body", []), None if is_sure else 0
    if isinstance(statement, ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.TryStar):
        yield statement.orelse, orelse
    for number, part in enumerate((*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())), 1):
        yield part.body, number
    yield getattr(statement, "finalbody", []), None


def named_functions(
    body: list[ast.stmt], prefix: str = "", classes: tuple[ast.ClassDef, ...] = ()
) -> Iterator[NamedFunction]:
    """Yield the functions of a module and the methods of its classes."""
    for statement in flat(body):
        if isinstance(statement, FunctionNode):
            yield NamedFunction(name=prefix + statement.name, node=statement, classes=classes)
        elif isinstance(statement, ast.ClassDef):
            yield from named_functions(statement.body, f"{prefix}{statement.name}::", (*classes, statement))


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds in its own scope."""
    if isinstance(statement, Definition):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        # Without `as`, `import a.b` binds `a`.
        yield from (each.asname or each.name.partition(".")[0] for each in statement.names)
    elif isinstance(statement, ast.If):
        for inner in (*statement.body, *statement.orelse):
            yield from bound_names(inner)
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def split_import(statement: ast.stmt) -> list[ast.stmt]:
    """Return one import a name: a new test mostly adds a name to a line that is there, and sorters merge lines."""
    match statement:
        case ast.Import(names=names):
            return [ast.Import([alias]) for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            return [ast.ImportFrom(module, [alias], level) for alias in names]
    return [statement]


def flag_of(mark: ast.AST, name: str) -> ast.expr | None:
    """Return the value of a keyword in a decorator's call; None if it is not given."""
    return next((each.value for each in getattr(mark, "keywords", ()) if each.arg == name), None)


# --- fixtures: which names a file asks for, and which name a definition provides. pytest joins the two by name, the
# nearest definition first: a new one between a test and what it has been getting changes it without touching it.


def requested_names(tree: ast.AST, *, tests: Collection[str] = ()) -> frozenset[str]:
    """Return what the tests and fixtures in the tree ask for: by their arguments, by a mark, by a call.

    :param tests: bare names; `TestC::test_x` is a method.
    """
    functions = {name.rpartition("::")[2] for name in tests}
    asked: set[object] = set()
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode) and (node.name in functions or provided_name(node)):
            asked.update(each.arg for each in node.args.posonlyargs)
            asked.update(each.arg for each in node.args.args)
            asked.update(each.arg for each in node.args.kwonlyargs)
        elif isinstance(node, ast.Call) and last_name(node.func) in ("usefixtures", "getfixturevalue"):
            asked.update(each.value for each in node.args if isinstance(each, ast.Constant))
    return frozenset(each for each in asked if isinstance(each, str)) - {"self", "cls", "request"}


def provided_name(statement: ast.stmt) -> str:
    """Return the name of the fixture that a statement defines; empty if it defines none."""
    if isinstance(statement, FunctionNode):
        for mark in statement.decorator_list:
            if last_name(mark) == "fixture":
                given = flag_of(mark, "name")
                return str(given.value) if isinstance(given, ast.Constant) else statement.name
    return ""
