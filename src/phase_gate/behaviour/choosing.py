"""Which functions to compare: those whose code changed, and those that lead to code that changed. Pure: texts in.

A function is found again by its name, in its file or, where it moved, in another one.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from phase_gate.source.body_hash import hash_body
from phase_gate.source.functions import Function, FunctionNode, walk_functions
from phase_gate.values import Value

#: Constants of one type that are tried, besides others; characters of a text among them.
_MOST, _LONG = 60, 40

T = TypeVar("T", int, float)
#: Methods that Python calls, and that are public all the same.
_PUBLIC = frozenset({"__init__", "__call__"})


class Chosen(Value):
    """A function that was there, and is there now."""

    name: str
    #: Its file as it was, and as it is.
    then: str
    now: str
    #: The line that it stands in now.
    line: int
    #: Why it can't be compared; empty: it can.
    left_out: str = ""
    #: The hints of the code as it was are whole: inputs are made from them. Else from those of now.
    is_hinted_then: bool = True

    @property
    def shown(self) -> str:
        return f"{self.now}:{self.line} {self.name}"


def choose(then: Mapping[str, str], now: Mapping[str, str], names: Iterable[str] = ()) -> list[Chosen]:
    """Return the functions to compare, those that changed themselves first.

    :param then: path -> text of the sources as they were; `now` likewise. Files that are not sources are left out.
    :param names: functions to compare, changed or not, as `name`, `module:name` or `path::name`; else all that changed.
    """
    after = {path: Reading.of(text) for path, text in now.items()}
    before = {path: after[path] if now.get(path) == text else Reading.of(text) for path, text in then.items()}
    wanted = tuple(names)
    dirty = _spread(_changed(before, after), after)
    found: list[tuple[int, Chosen]] = []
    for path, reading in after.items():
        for name, function in reading.functions.items():
            place = _find_then(path, name, before, after)
            if place is None:
                continue
            is_changed = before[place].functions[name].hash != function.hash
            if wanted:
                is_chosen = any(_is_meant(each, path, name) for each in wanted)
            else:
                is_chosen = (is_changed or (path, name) in dirty) and is_public(name)
            if is_chosen:
                found.append((not is_changed, _describe(name, place, path, before[place].functions[name], function)))
    return [each for _, each in sorted(found, key=lambda row: (row[0], row[1].now, row[1].line))]


def is_public(name: str) -> bool:
    return all(not part.startswith("_") or part in _PUBLIC for part in name.split("."))


def _is_meant(word: str, path: str, name: str) -> bool:
    where, _, last = word.rpartition("::") if "::" in word else word.rpartition(":")
    if last != name:
        return False
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return not where or where == path or f".{module}".endswith(f".{where}")


def _describe(name: str, place: str, path: str, then: _Function, now: _Function) -> Chosen:
    left_out = "" if then.is_hinted or now.is_hinted else now.unhinted
    return Chosen(
        name=name,
        then=place,
        now=path,
        line=now.line,
        left_out=now.left_out or left_out,
        is_hinted_then=then.is_hinted,
    )


def _find_then(path: str, name: str, before: Mapping[str, Reading], after: Mapping[str, Reading]) -> str | None:
    """Return the file that had the function: the same one, or the only one that has it no longer."""
    if path in before and name in before[path].functions:
        return path
    left = [
        place
        for place, reading in before.items()
        if name in reading.functions and (place not in after or name not in after[place].functions)
    ]
    return left[0] if len(left) == 1 else None


# --- what leads to changed code


def _changed(before: Mapping[str, Reading], after: Mapping[str, Reading]) -> set[tuple[str, str]]:
    """Return the names, by file, whose definition is not what it was."""
    return {
        (path, name)
        for path, reading in after.items()
        for name, each in reading.definitions.items()
        if path not in before
        or name not in before[path].definitions
        or before[path].definitions[name].hash != each.hash
    }


def _spread(dirty: set[tuple[str, str]], after: Mapping[str, Reading]) -> set[tuple[str, str]]:
    """Return the names with those whose definition mentions one of them, over any number of steps."""
    modules = _Modules(after)
    mentioned_by: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for path, reading in after.items():
        for name, definition in reading.definitions.items():
            for each in _meant(path, reading, definition.mentions, modules):
                mentioned_by.setdefault(each, []).append((path, name))
    found, waiting = set(dirty), list(dirty)
    while waiting:
        for each in mentioned_by.get(waiting.pop(), ()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found


def _meant(path: str, reading: Reading, mentions: Iterable[str], modules: _Modules) -> Iterator[tuple[str, str]]:
    for mention in mentions:
        first, _, rest = mention.partition(".")
        if mention in reading.definitions:
            yield path, mention
        if first in reading.definitions:
            yield path, first
        module, original = reading.imports.get(first, ("", ""))
        if not module:
            continue
        if original:
            yield modules.find(module, path), original
            yield modules.find(f"{module}.{original}", path), rest
        elif rest:
            yield modules.find(module, path), rest


class _Modules:
    """The files of modules, by the names that imports have for them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._files: dict[str, str] = {}
        for path in paths:
            name = _module(path)
            while name:  # whatever folder it is imported from
                self._files.setdefault(name, path)
                name = name.partition(".")[2]

    def find(self, module: str, path: str) -> str:
        """Return the file of a module that is imported in another one; empty: it is none of the project's."""
        if not module.startswith("."):
            return self._files.get(module, "")
        folder, name = posixpath.dirname(path), module.lstrip(".")
        for _ in range(len(module) - len(name) - 1):
            folder = posixpath.dirname(folder)
        return self._files.get(".".join(filter(None, (folder.replace("/", "."), name))), "")


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class _Function(Value):
    """A function as the source has it."""

    line: int
    hash: str
    #: Every parameter that a call has to give has a hint, and there is a hint at all.
    is_hinted: bool
    #: What is wrong with it, if not.
    unhinted: str = ""
    left_out: str = ""


class _Definition(Value):
    """What a name at the top of a module, or of a class in it, stands for."""

    hash: str
    #: Names that it mentions, with what stands behind a dot.
    mentions: frozenset[str]


class Reading:
    """What one source defines and imports."""

    def __init__(self) -> None:
        self.functions: dict[str, _Function] = {}
        self.definitions: dict[str, _Definition] = {}
        #: Name -> module and what is called so in it; empty: the module itself.
        self.imports: dict[str, tuple[str, str]] = {}

    @classmethod
    def of(cls, text: str) -> Reading:
        reading = cls()
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return reading
        for function, node in walk_functions(tree):
            reading.functions[function.name] = _read_function(function, node)
            owner = function.name.rpartition(".")[0]
            reading.definitions[function.name] = _Definition(hash=function.hash, mentions=_mentions(node, owner))
        for statement in _statements(tree.body):
            reading._read(statement)
        return reading

    def _read(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.ClassDef):
            self.definitions[statement.name] = _Definition(
                hash=hash_body(statement), mentions=_mentions(statement, statement.name)
            )
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            definition = _Definition(hash=hash_body(statement), mentions=_mentions(statement, ""))
            self.definitions |= {each.id: definition for each in targets if isinstance(each, ast.Name)}
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                first = alias.name.partition(".")[0]
                self.imports[alias.asname or first] = (alias.name if alias.asname else first, "")
        elif isinstance(statement, ast.ImportFrom):
            module = "." * statement.level + (statement.module or "")
            self.imports |= {alias.asname or alias.name: (module, alias.name) for alias in statement.names}


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        for name in ("body", "orelse", "finalbody"):
            if isinstance(statement, ast.If | ast.Try | ast.With):
                yield from _statements(getattr(statement, name, []))


def _mentions(root: ast.AST, owner: str) -> frozenset[str]:
    """Return the names in a node; what a method calls on its own object is named with its class."""
    found = set()
    for node in ast.walk(root):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_own = owner and node.value.id in ("self", "cls")
            found.add(f"{owner if is_own else node.value.id}.{node.attr}")
    return frozenset(found)


def _read_function(function: Function, node: FunctionNode) -> _Function:
    given = node.args
    decorators = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    fixed = [*given.posonlyargs, *given.args]
    needed = fixed[: len(fixed) - len(given.defaults)]
    if "." in function.name and "staticmethod" not in decorators:
        needed = needed[1:]
    needed += [each for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None]
    bare = next((each.arg for each in needed if each.annotation is None), "")
    everything = [*fixed, *given.kwonlyargs, given.vararg, given.kwarg]
    has_hint = node.returns is not None or any(each is not None and each.annotation is not None for each in everything)
    unhinted = f"{bare} has no type hint" if bare else "" if has_hint else "it has no type hints"
    return _Function(
        line=function.line,
        hash=function.hash,
        is_hinted=not unhinted,
        unhinted=unhinted,
        left_out="" if function.has_body else "it has no body of its own",
    )


# --- constants


class Constants(Value):
    """Numbers and texts that stand in code, the smallest first: the search for a small input goes that way."""

    ints: tuple[int, ...] = ()
    floats: tuple[float, ...] = ()
    texts: tuple[str, ...] = ()


def find_constants(text: str, function: str) -> tuple[Constants, Constants]:
    """Return what stands in a function, and what else stands in its module; each number with its neighbours."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return Constants(), Constants()
    nodes = [node for each, node in walk_functions(tree) if each.name == function]
    return _constants(nodes), _constants([tree])


def join_constants(many: Iterable[Constants]) -> Constants:
    found = tuple(many)
    return Constants(
        ints=_smallest(each for one in found for each in one.ints),
        floats=_smallest(each for one in found for each in one.floats),
        texts=tuple(sorted({each for one in found for each in one.texts}, key=lambda each: (len(each), each))[:_MOST]),
    )


def _smallest(numbers: Iterable[T]) -> tuple[T, ...]:
    return tuple(sorted(set(numbers), key=lambda each: (abs(each), each < 0))[:_MOST])


def _constants(nodes: Iterable[ast.AST]) -> Constants:
    ints: list[int] = []
    floats: list[float] = []
    texts: list[str] = []
    for node in (inner for each in nodes for inner in _without_docstrings(each)):
        value = node.value
        if type(value) is int and abs(value) < 1 << 64:
            ints += (value, value - 1, value + 1, -value)
        elif type(value) is float:
            floats += (value, -value)
        elif type(value) is str and value.isprintable() and len(value) <= _LONG:
            texts.append(value)
    return join_constants([Constants(ints=tuple(ints), floats=tuple(floats), texts=tuple(texts))])


def _without_docstrings(root: ast.AST) -> Iterator[ast.Constant]:
    nodes = list(ast.walk(root))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    yield from (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in alone)
