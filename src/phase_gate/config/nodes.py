"""The nodes of a configuration file: strings, lists and dictionaries with their line and column.

Pure. Numbers and booleans follow YAML 1.2, and only without quotes; `on`, `no` and dates are texts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Self, TypeVar

from phase_gate.values import Value, fields, replace
from phase_gate.visible import cut

T = TypeVar("T", bound=Value)
Scalar = int | float | str | bool | None

#: Far more than any readable set of rules needs.
MAX_BYTES = 1024 * 1024
#: Fits into a 64-bit integer. Python itself refuses to convert thousands of digits.
_MAX_DIGITS = 18
#: The number of names in a remedy: more than there are metrics and guards, but few enough for a screen.
_MAX_NAMES = 100

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


class Text(_Placed, str):
    """One text; `is_plain` if it has no quotes, so that it can be read as a number or a boolean."""

    is_plain: bool = False

    @property
    def is_null(self) -> bool:
        return self.is_plain and _WORDS.get(self, self) is None

    @property
    def value(self) -> Scalar:
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
        try:
            number = math.nan if set(self) - set("0123456789.eE+-") else float(self)
        except ValueError:
            return str(self)
        if math.isinf(number):
            raise ValueError("the number is too big")
        return str(self) if math.isnan(number) else number


class Items(_Placed, list["Node"]):
    pass


class Table(_Placed, dict[str, "Node"]):
    """A mapping with its keys in the order of the file, each a `Text`."""

    def only(self, keys: Collection[str]) -> Table:
        return Table.of({key: row for key, row in self.items() if key in keys}, self.at, self.path)


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
    ordered = [*near, *(name for name in names if name not in near)]
    return ", ".join(ordered[:_MAX_NAMES] + ["…"] * (len(ordered) > _MAX_NAMES))


def shorten(text: str) -> str:
    """Return the text in quotes, cut to a length that fits in a message."""
    return repr(cut(text))


def show(node: Node) -> str:
    if isinstance(node, Table):
        return "a mapping"
    if isinstance(node, Items):
        return "a list"
    return "nothing" if node.is_null else shorten(node)
