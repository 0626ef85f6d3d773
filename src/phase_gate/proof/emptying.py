"""Which functions are new or changed, and a source in which some of them do nothing.

Pure: texts in, texts out. Signature, decorators, async and generator nature stay; only the body goes.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Literal

from phase_gate.source.body_hash import hash_body
from phase_gate.values import Value

#: What an emptied function gives: something false, or something true.
Stub = Literal["false", "true"]

_MODULE = "phase_gate.proof.nothing"
_Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Methods that Python asks for values of certain types, and that tests of something else use all the time.
_ASKED_BY_PYTHON = frozenset(
    {"__repr__", "__str__", "__hash__", "__eq__", "__ne__", "__bool__", "__len__", "__format__", "__bytes__"}
    | {"__new__", "__init_subclass__", "__class_getitem__", "__set_name__", "__post_init__", "__del__", "__dir__"}
    | {"__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__index__", "__int__", "__float__"}
)
#: Decorators of functions that have no body of their own worth emptying, or that are parts of tests.
_LEFT_OUT = frozenset({"abstractmethod", "overload", "fixture", "abstractproperty"})


class Function(Value):
    """A function or method of a source, where it stands, and whether emptying it makes sense."""

    name: str
    line: int
    #: Of its `def` and its decorators: what Python calls the first line of its code.
    first_line: int
    last_line: int
    hash: str
    #: Why it is left out; empty: it can be emptied.
    left_out: str = ""
    #: It is of interest who calls it: it can be emptied, or is left out although a test may be about it.
    is_watched: bool = True


def find_functions(source: bytes | str) -> dict[str, Function]:
    """Return the functions by qualified name; of two with one name, the last. Raises SyntaxError."""
    return {function.name: function for function, _ in _walk(ast.parse(source))}


def find_changed(before: bytes | str | None, now: bytes | str) -> list[Function]:
    """Return the functions that are new or have another body. A source that can't be read has none."""
    try:
        present = find_functions(now)
    except (SyntaxError, ValueError):
        return []
    try:
        known = {} if before is None else find_functions(before)
    except (SyntaxError, ValueError):
        known = {}
    return [each for name, each in present.items() if name not in known or known[name].hash != each.hash]


def empty(source: str, names: Collection[str], stub: Stub) -> str:
    """Return the source with these functions emptied."""
    lines = source.splitlines(keepends=True)
    # From the end, so that what is still to be replaced stays where it is.
    found = [(function, node) for function, node in _walk(ast.parse(source)) if function.name in names]
    for function, node in sorted(found, key=lambda each: each[1].lineno, reverse=True):
        # The examples in a docstring are tests of it.
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        first, last = body[0], body[-1]
        start, begin = first.lineno - 1, _column(lines[first.lineno - 1], first.col_offset)
        decorators = getattr(first, "decorator_list", None)
        if decorators:
            start, begin = decorators[0].lineno - 1, _column(lines[decorators[0].lineno - 1], first.col_offset)
        end = (last.end_lineno or last.lineno) - 1
        rest = lines[end][_column(lines[end], last.end_col_offset or 0) :]
        text = "; ".join(_body(function, node, stub))
        lines[start : end + 1] = [lines[start][:begin] + text + rest]
    return "".join(lines)


def put_back(source: str, before: str, names: Collection[str]) -> str:
    """Return the source with these functions as they were; what was not there before stays as it is."""
    lines, old = source.splitlines(keepends=True), before.splitlines(keepends=True)
    then = {function.name: function for function, _ in _walk(ast.parse(before))}
    found = [function for function, _ in _walk(ast.parse(source)) if function.name in names and function.name in then]
    for function in sorted(found, key=lambda each: each.first_line, reverse=True):
        was = then[function.name]
        lines[function.first_line - 1 : function.last_line] = old[was.first_line - 1 : was.last_line]
    return "".join(lines)


def _column(line: str, offset: int) -> int:
    """Return the place in the text of a place in its UTF-8."""
    return len(line.encode("utf-8")[:offset].decode("utf-8", "ignore"))


def _body(function: Function, node: _Function, stub: Stub) -> list[str]:
    value = f"__import__({_MODULE!r}, fromlist=['x']).{stub.upper()}"
    if _is_generator(node):
        # What is iterated over is empty, or has the value in it: a test may want that nothing comes.
        return ["return", "yield"] if stub == "false" else [f"yield {value}"]
    last = function.name.rpartition(".")[2]
    if last == "__init__":
        # With its attributes, so that methods find something, and the test's own line fails.
        return [*(f"{each} = {value}" for each in _attributes(node)), "return None"]
    if last in ("__exit__", "__aexit__"):
        return ["return None"]
    return [f"return {value}"]


def _attributes(node: _Function) -> list[str]:
    """Return what a constructor gives its object: `self.name`, each once."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    own = parameters[0].arg if parameters else ""
    found = [
        f"{own}.{each.attr}"
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, ast.Store)
        and isinstance(each.value, ast.Name)
        and each.value.id == own
    ]
    return list(dict.fromkeys(found))


def _walk(tree: ast.Module) -> Iterator[tuple[Function, _Function]]:
    waiting: list[tuple[str, ast.AST, bool]] = [("", tree, False)]
    while waiting:
        prefix, parent, is_protocol = waiting.pop()
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.ClassDef):
                bases = {_last_name(base) for base in node.bases}
                waiting.append((f"{prefix}{node.name}.", node, "Protocol" in bases))
            elif isinstance(node, _Function):
                yield _describe(prefix + node.name, node, is_protocol=is_protocol), node
            elif isinstance(node, (ast.If, ast.Try, ast.With)) or type(node).__name__ in ("ExceptHandler", "TryStar"):
                waiting.append((prefix, node, is_protocol))


def _describe(name: str, node: _Function, *, is_protocol: bool) -> Function:
    decorators = [each.lineno for each in node.decorator_list]
    left_out = _why_left_out(name, node, is_protocol=is_protocol)
    return Function(
        name=name,
        line=node.lineno,
        first_line=min([*decorators, node.lineno]),
        last_line=node.end_lineno or node.lineno,
        hash=hash_body(node),
        left_out=left_out,
        is_watched=not left_out or _is_asked_by_python(name),
    )


def _why_left_out(name: str, node: _Function, *, is_protocol: bool) -> str:
    marks = {_last_name(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list}
    if is_protocol or marks & _LEFT_OUT:
        return "it has no body of its own"
    if _is_asked_by_python(name):
        return "Python itself calls it"
    if all(_says_nothing(each) for each in node.body):
        return "it is empty already"
    return ""


def _is_asked_by_python(name: str) -> bool:
    return name.rpartition(".")[2] in _ASKED_BY_PYTHON


def _says_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.Raise):
        return _last_name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc) == "NotImplementedError"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _last_name(node: ast.AST | None) -> str:
    if isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_generator(node: _Function) -> bool:
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        each = waiting.pop()
        if isinstance(each, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(each))
    return False
