"""Tell a change that only adds stubs from one that adds code.

Pure: two texts in, an answer out.
"""

from __future__ import annotations

import ast

from phase_gate.source.tests import parse_source

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def only_adds_stubs(before: str, after: str) -> bool:
    """Tell whether the new text has everything that the old one has, and else nothing but imports and stubs."""
    try:
        return _adds_only_stubs(parse_source(before).body, parse_source(after).body)
    except SyntaxError:
        return False


def _adds_only_stubs(before: list[ast.stmt], after: list[ast.stmt]) -> bool:
    left = [ast.dump(statement) for statement in before]
    named = {each.name: each for each in before if isinstance(each, _Function | ast.ClassDef)}
    for statement in after:
        text = ast.dump(statement)
        if text in left:
            left.remove(text)
            continue
        known = named.get(statement.name) if isinstance(statement, _Function | ast.ClassDef) else None
        if known is None:
            if not _is_harmless(statement):
                return False
        elif _is_grown(known, statement) and ast.dump(known) in left:
            left.remove(ast.dump(known))
        else:
            return False
    # A docstring, or a `pass` that a class no longer needs, may go.
    return all(_is_empty(statement) for statement in before if ast.dump(statement) in left)


def _is_grown(known: ast.stmt, now: ast.stmt) -> bool:
    """Tell whether a class got stubs, or a stub got another head."""
    if isinstance(known, ast.ClassDef) and isinstance(now, ast.ClassDef):
        return _head(known) == _head(now) and _adds_only_stubs(known.body, now.body)
    return isinstance(known, _Function) and isinstance(now, _Function) and _is_stub(known) and _is_stub(now)


def _head(node: ast.ClassDef) -> list[str]:
    return [ast.dump(each) for each in (*node.bases, *node.keywords, *node.decorator_list)]


def _is_harmless(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ClassDef):
        return all(_is_harmless(each) or isinstance(each, ast.AnnAssign) for each in statement.body)
    return isinstance(statement, ast.Import | ast.ImportFrom) or _is_empty(statement) or _is_stub(statement)


def _is_stub(statement: ast.stmt) -> bool:
    return isinstance(statement, _Function) and all(_is_empty(each) for each in statement.body)


def _is_empty(statement: ast.stmt) -> bool:
    """Tell whether a statement does nothing: a text, `...`, `pass`, or what says that it is not written yet."""
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False
