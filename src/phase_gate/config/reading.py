"""Convert the nodes of a file to annotated values, and raise the first fault with its line and column.

Nodes are strings, lists and dictionaries with their places. Numbers and booleans follow YAML 1.2, and only without
quotes; `on`, `no` and dates are texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NoReturn, Self, TypeVar

from phase_gate.codec import reader
from phase_gate.errors import ConditionError, PhaseGateError
from phase_gate.values import MISSING, Value, default_of, fields, metadata_of, replace
from phase_gate.visible import cut, find_name_fault
from phase_gate.workflow.condition_parser import normalize
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.names import SPAN_FORM, parse_duration
from phase_gate.workflow.sections import is_phrase

T = TypeVar("T", bound=Value)

#: Fits into a 64-bit integer. Python itself refuses to convert thousands of digits.
_MAX_DIGITS = 18

_FLOAT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")

_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Place(str):
    """`file:line:column`."""

    line: int

    @classmethod
    def of(cls, file: str, line: int, column: int) -> Place:
        place = cls(f"{file}:{line}:{column}")
        place.line = line
        return place


class _Placed:
    at: Place
    #: The keys that lead to it, as in `phases.RED.next`.
    path: str

    @classmethod
    def of(cls, content: Any, at: Place, path: str, **more: Any) -> Self:
        made = cls(content)  # type: ignore[call-arg]
        vars(made).update(at=at, path=path, **more)
        return made

    @classmethod
    def like(cls, node: Node, content: Any) -> Self:
        """Return a content at the place of another node."""
        return cls.of(content, node.at, node.path)


class Text(_Placed, str):
    """One text; `is_plain` if it has no quotes, so that it can be read as a number or a boolean."""

    is_plain: bool = False

    @property
    def is_null(self) -> bool:
        return self.is_plain and _WORDS.get(self, self) is None

    @property
    def value(self) -> MetricValue:
        """The scalar that the text looks like. Raises ValueError for a number that other readers read differently."""
        if not self.is_plain or not self.isascii():
            return str(self)
        if self in _WORDS:
            return _WORDS[self]
        digits = self[1:] if self[:1] in ("-", "+") else str(self)
        if digits.isdigit():
            if len(digits) > _MAX_DIGITS:
                raise ValueError("the number is too big")
            if len(digits) > 1 and digits.startswith("0"):
                raise ValueError("a number with a leading zero is octal to some readers and decimal to others")
            return int(self)
        if not _FLOAT.fullmatch(self):
            return str(self)
        number = float(self)
        if math.isinf(number):
            raise ValueError("the number is too big")
        return number


class Items(_Placed, list["Node"]):
    pass


class Table(_Placed, dict[str, "Node"]):
    """A mapping with its keys in the order of the file, each a `Text`."""


Node = Text | Table | Items


def find(node: Node, *keys: str) -> Node:
    """Return the node at these keys, or the deepest one on the way to it that exists."""
    for key in keys:
        node = node[key] if isinstance(node, Table) and key in node else node
    return node


def plain(value: T) -> T:
    """Return a value with plain strings instead of `Text` nodes, which only checks need."""
    return replace(value, **{name: _plain(getattr(value, name)) for name in fields(type(value))})


def _plain(value: Any) -> Any:
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, dict):
        return {_plain(name): _plain(each) for name, each in value.items()}
    return plain(value) if isinstance(value, Value) else value


# --- text for messages


def closest_first(word: str, known: Iterable[str]) -> str:
    """Return the known words, comma-separated for a remedy, starting with the one that was probably meant."""
    import difflib  # imported here, because only messages need it

    names = list(dict.fromkeys(known))
    # The comparison takes quadratic time, so compare the first characters only.
    near = difflib.get_close_matches(word[:60], names, n=1)
    return ", ".join([*near, *(name for name in names if name not in near)])


def shorten(text: str) -> str:
    """Return the text in quotes, cut to a length that fits in a message."""
    return repr(cut(text))


def show(node: Node) -> str:
    if isinstance(node, Table):
        return "a mapping"
    if isinstance(node, Items):
        return "a list"
    return "nothing" if node.is_null else shorten(node)


# --- values


#: The name of a type, and how to write its values.
_TYPES: Mapping[type, tuple[str, str]] = {
    bool: ("a boolean", "write true or false, without quotes"),
    int: ("a whole number", "write digits, without quotes"),
    float: ("a number", "write a number, without quotes"),
}


class Reader:
    """Reads values from one file.

    :param error: the error to raise for a fault.
    """

    def __init__(self, error: type[PhaseGateError]) -> None:
        self.error = error

    def stop(self, where: object, problem: str, remedy: str) -> NoReturn:
        """Raise a fault.

        :param where: a node, or a place.
        """
        raise self.error(f"{getattr(where, 'at', where)}: {problem}", remedy)

    def read(self, kind: type[T], node: Node, *, beside: Collection[str] = (), **given: Any) -> T:
        """Return a value from a table. Each field is read by its annotation; missing fields have their defaults.

        The options of a field refine this: `key`, its name in the file, empty for none; `short`, a text means a table
        with only this key; `minimum` and `maximum`; `most`, the keys of a mapping with their maximums; `span`, a span
        of time; `or_one`, a single text is accepted as a list; `below_root`, a path in the project, returned without
        `./`, and the remedy for other paths; `phrases`, each item is one; `name`, of a person or an agent; `prose`,
        joined into one line; `blank`, null or blank text means the default; `strip`, surrounding blanks are removed;
        `named`, the kind of name that the keys of a mapping are; `is_condition`, written in canonical form.

        :param beside: keys that are read elsewhere.
        :param given: fields that the caller has already read.
        """
        table = self.table(node)
        keys = {metadata_of(kind, name).get("key", name): name for name in fields(kind)}
        if (name := keys.pop("", "")) and default_of(kind, name) is MISSING:
            given.setdefault(name, node.path.rpartition(".")[2])  # the key of this table
        where = f" in {node.path}" if node.path else ""
        for key, row in table.items():
            self.check_known(key, (*keys, *beside), f"unknown key {shorten(key)}{where}")
            if key in keys and keys[key] not in given:
                given[keys[key]] = self._field(kind, keys[key], row)
        for key, name in keys.items():
            if name not in given and key not in table and default_of(kind, name) is MISSING:
                self.stop(node, f"the key {key!r} is missing{where}", f"add it: `{key}: …`")
        return kind(**given)

    def table(self, node: Node) -> Table:
        if not isinstance(node, Table):
            problem = f"{node.path or 'the file'} has to be a mapping, not {show(node)}"
            self.stop(node, problem, "write `key: value` lines")
        return node

    def _field(self, kind: type[Value], name: str, row: Node) -> Any:
        """Return the value of a field, checked against its options."""
        metadata = metadata_of(kind, name)
        if "blank" in metadata and isinstance(row, Text) and (row.is_null or not row.strip()):
            return default_of(kind, name)
        if "short" in metadata and isinstance(row, Text):
            row = Table.like(row, {Text.like(row, metadata["short"]): row})
        if "or_one" in metadata:
            row = _as_list(row)
        value: Any = self._span(row) if "span" in metadata else reader(kind, name)(row, self)
        rows: list[tuple[Node, Any]] = [(row, value)]
        if isinstance(row, Items):
            rows = list(zip(row, value, strict=True))
        elif isinstance(row, Table) and isinstance(value, dict):
            for key in row:
                if "named" in metadata:
                    self.check_name(key, *metadata["named"])
                self.check_known(key, metadata.get("most", (key,)), f"unknown key {shorten(key)} in {row.path}")
            rows = [(row[key], each) for key, each in value.items()]
        for node, each in rows:
            self._check(metadata, node, each)
        if "name" in metadata:
            value = " ".join(value.split())
            if fault := find_name_fault(value):
                self.stop(row, f"{row.path} is not a name: {fault}", "retype the name with visible letters")
        if "is_condition" in metadata and value is not None:
            try:
                return Text.like(row, normalize(self.text(row)))  # whose names are not checked yet
            except ConditionError as error:
                self.stop(row, f"{row.path}: {error.problem}", error.remedy)
        if "blank" in metadata or "strip" in metadata:
            return value.strip()
        if "below_root" in metadata and isinstance(value, str):
            return value.removeprefix("./")
        return " ".join(value.split()) if "prose" in metadata else value

    def _span(self, row: Node) -> float:
        value = parse_duration(self.text(row))
        if value is None:
            self.stop(row, f"{row.path} has to be a span of time, not {show(row)}", SPAN_FORM)
        return value

    def _check(self, metadata: Mapping[str, Any], row: Node, value: Any) -> None:
        maximum = metadata.get("most", {}).get(row.path.rpartition(".")[2], metadata.get("maximum"))
        if "minimum" in metadata and isinstance(value, int | float) and value < metadata["minimum"]:
            self.stop(row, f"{row.path} can't be {value}", f"write {metadata['minimum']} or more")
        if maximum is not None and value > maximum:
            self.stop(row, f"{row.path} can't be {value:g}", f"write {maximum:g} or less")
        if "below_root" in metadata and value is not None:
            self.check_path(value, row, otherwise=metadata["below_root"])
        if "phrases" in metadata and not is_phrase(value):
            problem = f"{row.path} can't be {shorten(value)}: a phrase is no regular expression"
            self.stop(row, problem, "write words, with `.*` for anything in between")

    def check_known(
        self, word: str, known: Collection[str], problem: str, *, where: object = None, otherwise: str = "remove it"
    ) -> None:
        """Refuse a word that is not among the known ones.

        :param where: the place; by default that of the word.
        :param otherwise: the remedy if nothing is known.
        """
        if word not in known:
            remedy = f"use one of: {closest_first(word, known)}" if known else otherwise
            self.stop(word if where is None else where, problem, remedy)

    def check_name(self, key: str, what: str, joint: str = "_") -> None:
        if not re.fullmatch(f"[a-z][a-z0-9{joint}]*", key):
            self.stop(key, f"{what} can't be named {shorten(key)}", f"use lower case, digits and `{joint}`")

    def check_path(self, path: str, where: Node, *, otherwise: str = "") -> None:
        """Refuse a path outside of the project.

        :param otherwise: how to name such a path, for the remedy.
        """
        is_absolute = path.startswith(("/", "~")) or path[1:2] == ":"
        if is_absolute or ".." in path.split("/") or "\\" in path or "\0" in path:
            remedy = f"write it from the root, with `/`{otherwise and f'; or {otherwise}'}"
            self.stop(where, f"{shorten(path)} is not a path below the root", remedy)

    # --- called by the codec

    def text(self, row: Node) -> str:
        """Return the text, even if it looks like a number. Refuse blank and null."""
        if not isinstance(row, Text):
            remedy = "write one text; quotes keep it together"
            self.stop(row, f"{row.path} has to be a text, not {show(row)}", remedy)
        if row.is_null:
            self.stop(row, f"{row.path} has no value", "give it a text, in quotes if need be, or take the key out")
        if not row.strip():
            self.stop(row, f"{row.path} is blank", "give it a text, or take the key out")
        return row

    def convert(self, row: Node, types: tuple[type, ...]) -> MetricValue:
        """Return a scalar of one of these types."""
        if types == (str,):
            return self.text(row)
        if not isinstance(row, Text):
            self.stop(row, f"{row.path} has to be one value, not {show(row)}", "write one number, boolean or text")
        try:
            value = row.value
        except ValueError as error:
            self.stop(row, f"{row.path}: {error}", "write it shorter, or in quotes if it is a text")
        if value is None and type(None) in types:
            self.stop(row, f"{row.path} has no value", "give it a number, a boolean or a text")
        # Not isinstance: a bool is an int in Python.
        if type(value) not in types:
            what, remedy = _TYPES[types[0]]
            self.stop(row, f"{row.path} has to be {what}, not {show(row)}", remedy)
        return str(self.text(row)) if isinstance(value, str) else value

    def choose(self, row: Node, choices: tuple[str, ...]) -> str:
        """Return the text if it is exactly one of the choices."""
        text = self.text(row)
        self.check_known(text, choices, f"{row.path} can't be {shorten(text)}")
        return str(text)

    def refuse_list(self, row: Node) -> NoReturn:
        self.stop(row, f"{row.path} has to be a list, not {show(row)}", "write it as [one, two]")

    def read_each(self, row: Node, read: Callable[[Any, Any], Any]) -> dict[str, Any]:
        """Return the values of a table with arbitrary keys."""
        return {key: read(each, self) for key, each in self.table(row).items()}


def _as_list(row: Node) -> Node:
    """Return a text as a list with one item; in a table, each of its texts."""
    if isinstance(row, Table):
        return Table.like(row, {key: _as_list(each) for key, each in row.items()})
    return Items.like(row, [row]) if isinstance(row, Text) else row
