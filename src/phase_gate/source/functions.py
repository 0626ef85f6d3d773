"""The functions and statements of sources: names, lines, and which are new or changed.

Pure: texts in, values out.
"""

from __future__ import annotations

import ast
import io
from collections import Counter
from collections.abc import Iterator, Mapping

from phase_gate.source.body_hash import hash_body, take
from phase_gate.source.syntax_names import FunctionNode, branches, last_name, named_functions
from phase_gate.source.tests import parse_source
from phase_gate.values import Value

#: Methods that Python asks for values of certain types, and that tests of something else use all the time.
_ASKED_BY_PYTHON = frozenset(
    {"__repr__", "__str__", "__hash__", "__eq__", "__ne__", "__bool__", "__len__", "__format__", "__bytes__"}
    | {"__new__", "__init_subclass__", "__class_getitem__", "__set_name__", "__post_init__", "__del__", "__dir__"}
    | {"__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__index__", "__int__", "__float__"}
)
#: Decorators of functions that have no body of their own worth emptying, or that are parts of tests.
_LEFT_OUT = frozenset({"abstractmethod", "overload", "fixture", "abstractproperty"})


class Function(Value):
    """A function or method of a source, its lines, and whether emptying it makes sense."""

    name: str
    line: int
    #: Of its `def` and its decorators: what Python calls the first line of its code.
    first_line: int
    hash: str
    #: It can't be emptied: Python itself calls it, or it has no body of its own.
    left_out: bool = False
    #: It is of interest who calls it: it can be emptied, or is left out although a test may be about it.
    is_watched: bool = True


def find_functions(source: bytes | str | None) -> dict[str, Function]:
    """Return the functions by qualified name; of two with one name, the last. A source that can't be read has none."""
    try:
        return {function.name: function for function, _ in walk_functions(parse_source(source or b""))}
    except SyntaxError:
        return {}


def find_changed(before: bytes | str | None, now: bytes | str) -> list[Function]:
    """Return the functions that are new or have another body."""
    known = find_functions(before)
    return [each for name, each in find_functions(now).items() if name not in known or known[name].hash != each.hash]


def walk_functions(tree: ast.Module) -> Iterator[tuple[Function, FunctionNode]]:
    """Yield the functions and methods of a module, those in functions left out."""
    for each in named_functions(tree.body):
        name, node = each.name.replace("::", "."), each.node
        is_protocol = bool(each.classes) and "Protocol" in map(last_name, each.classes[-1].bases)
        is_asked_by_python = name.rpartition(".")[2] in _ASKED_BY_PYTHON
        is_marked = not _LEFT_OUT.isdisjoint(map(last_name, node.decorator_list))
        has_body = not (is_protocol or is_marked or all(map(_is_no_op, node.body)))
        function = Function(
            name=name,
            line=node.lineno,
            first_line=_first_line(node),
            hash=hash_body(node),
            left_out=is_asked_by_python or not has_body,
            is_watched=is_asked_by_python or has_body,
        )
        yield function, node


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _is_no_op(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.Raise):
        return last_name(node.exc) == "NotImplementedError"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# --- new statements, compared by content, not by position. Code that was moved, within a file or to another one, or
# reformatted is not new.


class Statement(Value):
    """One statement; of one with a body, its head."""

    #: Of its meaning.
    hash: str
    #: Its line in the source.
    text: str
    line: int
    #: The last line of it, or of its head.
    end: int


def find_new(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[Statement, ...]]:
    """Return the new statements, by file; files without any are left out.

    :param before: the earlier texts of files, including deleted files.
    :param after: their current texts; unchanged files may be left out.
    """
    import difflib  # here, not above: proofs need the functions only

    added: dict[str, list[Statement]] = {}
    gone: Counter[str] = Counter()
    for path in sorted({*before, *after}):
        old, new = (list(_statements(texts.get(path, ""))) for texts in (before, after))
        matcher = difflib.SequenceMatcher(None, [each.hash for each in old], [each.hash for each in new], False)
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind != "equal":
                gone.update(each.hash for each in old[a:b])
                added.setdefault(path, []).extend(new[c:d])
    found = {path: tuple(each for each in rows if not take(gone, each.hash)) for path, rows in added.items()}
    return {path: rows for path, rows in found.items() if rows}


def _statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a source in their order; none of what can't be parsed, for nothing of it runs."""
    try:
        nodes = [node for node in ast.walk(parse_source(text)) if isinstance(node, ast.stmt)]
    except SyntaxError:
        return
    lines = [*io.StringIO(text, newline=None)]  # as Python has them: a form feed ends no line
    for node in sorted(nodes, key=lambda each: (each.lineno, each.col_offset)):
        inner = [each for block, _ in branches(node) for each in block]
        first = _first_line(node)
        end = max(first, min(each.lineno for each in inner) - 1) if inner else node.end_lineno or first
        yield Statement(
            hash=hash_body(node, frozenset(map(id, inner))), text=lines[node.lineno - 1].strip(), line=first, end=end
        )
