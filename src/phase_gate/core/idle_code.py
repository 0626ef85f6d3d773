"""Whether a line of code on a command line can fail: `python -c "pass"` can't.

Pure. Only what plainly does nothing is idle; an import, a call or an assert may be a check.
"""

from __future__ import annotations

import ast
import re

#: Of JavaScript, Ruby, Perl and PHP: nothing, a constant, or a text that is printed. It never looks back: blanks
#: could be shared out in too many ways.
_IDLE = re.compile(
    r"(?>\s|;|[0-9]|true|null|(?:console\.log|puts|print|echo|process\.exit|exit)\b\s*"
    r"(?:\(\s*(?:\"[^\"()]*\"|'[^'()]*'|0)?\s*\)|\"[^\"]*\"|'[^']*')?)*+"
)
#: Nobody hides a check in less; and the pattern above need not be patient.
_MAX_LENGTH = 500
_HARMLESS = frozenset({"print", "exit", "quit", "sys.exit"})


def is_idle(code: str, *, is_python: bool) -> bool:
    """Tell whether this code ends with 0 whatever is the case."""
    if len(code) > _MAX_LENGTH:
        return False
    if not is_python:
        return _IDLE.fullmatch(code) is not None
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(_is_idle_statement(each) for each in body)


def _is_idle_statement(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.Import):
        return all(each.name == "sys" for each in node.names)
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and bool(node.test.value)
    return isinstance(node, ast.Expr) and _is_idle_value(node.value)


def _is_idle_value(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if not isinstance(node, ast.Call) or node.keywords or ast.unparse(node.func) not in _HARMLESS:
        return False
    if ast.unparse(node.func) == "print":
        return all(_is_idle_value(each) for each in node.args)
    return all(isinstance(each, ast.Constant) and each.value in (0, None) for each in node.args)
