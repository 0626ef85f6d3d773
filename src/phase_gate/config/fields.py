"""Read a YAML mapping key by key: each value by the type that its reader expects, every fault with its place.

Numbers and booleans are what YAML 1.2 calls so, and only without quotes; `on`, `no` and dates are texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Never, NoReturn, cast

from phase_gate.config.faults import Faults, FaultyError, Place
from phase_gate.config.yaml import YamlMapping, YamlNode, YamlScalar, YamlSequence
from phase_gate.errors import PhaseGateError
from phase_gate.names import find_name_fault
from phase_gate.values import MISSING
from phase_gate.visible import cut
from phase_gate.workflow.names import SPAN_FORM, parse_duration

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    #: What a default is; without one, a reader returns nothing but its own type.
    D = TypeVar("D", default=Never)
    S = TypeVar("S", bound=str)
    R = TypeVar("R")

Value = int | float | str | bool | None

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
#: As many as a 64-bit integer may need; Python itself refuses to convert thousands of them.
_MAX_DIGITS = 18
#: In a remedy: more than there are metrics and guards, few enough for a screen.
_MAX_NAMES = 100


class Fields:
    """A mapping that remembers which keys were asked for, so that `finish` can refuse the others.

    :param file: what stands in front of the line in messages.
    :param error: what to raise.
    :param path: where the mapping stands in its file, as in `phases.RED`.
    :param faults: where faults go; the first is raised if it is left out.
    """

    def __init__(
        self,
        node: YamlNode,
        *,
        file: str,
        error: type[PhaseGateError],
        path: str = "",
        faults: Faults | None = None,
    ) -> None:
        self.file, self.error, self.path = file, error, path
        self.faults = Faults(error) if faults is None else faults
        if not isinstance(node, YamlMapping):
            problem = f"{path or 'the file'} has to be a mapping, not {_kind(node)}"
            self.faults.report(self._place(node), problem, "write `key: value` lines")
            self.faults = self.faults.aside()
            node = YamlMapping(entries=(), line=node.line, column=node.column)
        self.node = node
        self._entries = {key.text: (key, value) for key, value in node.entries}
        self._asked: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        """Go through the keys that are there, in the order of the file."""
        return iter(self._entries)

    def place(self, key: str = "") -> Place:
        """Return `file:line:column` of the key's value, or of the mapping if the key is not there."""
        return self._place(self._entries[key][1] if key in self._entries else self.node)

    def key_place(self, key: str) -> Place:
        """Return `file:line:column` of the key itself."""
        return self._place(self._entries[key][0])

    def item_place(self, key: str, index: int) -> Place:
        """Return `file:line:column` of one item of a list, or of what stands for a list of one."""
        node = self._entries[key][1]
        return self._place(node.items[index] if isinstance(node, YamlSequence) else node)

    def dotted(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def refuse(self, key: str, problem: str, remedy: str) -> NoReturn:
        """Raise for the value of that key."""
        self.faults.stop(self.place(key), problem, remedy)

    def refuse_key(self, key: str, problem: str, remedy: str) -> NoReturn:
        """Raise for the key itself."""
        self.faults.stop(self.key_place(key), problem, remedy)

    def report(self, key: str, problem: str, remedy: str) -> None:
        """Raise for the value of that key, or go on where faults are collected."""
        self.faults.report(self.place(key), problem, remedy)

    def report_key(self, key: str, problem: str, remedy: str) -> None:
        """Raise for the key itself, or go on where faults are collected."""
        self.faults.report(self.key_place(key), problem, remedy)

    def finish(self) -> None:
        """Refuse unknown keys."""
        for key in self._entries:
            if key not in self._asked:
                where = f" in {self.path}" if self.path else ""
                self.report_key(
                    key, f"unknown key {shorten(key)}{where}", f"use one of: {closest_first(key, self._asked)}"
                )

    def node_of(self, key: str) -> YamlNode | None:
        """Return the value as it was read; None if the key is not there."""
        self._asked[key] = None
        return self._entries[key][1] if key in self._entries else None

    def text(self, key: str, default: D = MISSING) -> str | D:
        """Return the scalar's text, whatever it looks like; blank and null are no texts."""
        return self._read(key, default, "unknown", self._text)

    def name(self, key: str, default: D = MISSING) -> str | D:
        """Return the name of a person or an agent: one line, with nothing in it that can't be seen."""

        def read(node: YamlNode, path: str) -> str:
            text = " ".join(re.split(r"[ \t\r\n]+", self._text(node, path).strip()))
            if fault := find_name_fault(text):
                self._refuse_at(node, f"{path} is no name: {fault}", "type the name anew, in letters that are seen")
            return text

        return self._read(key, default, "unknown", read)

    def choice(self, key: str, allowed: Collection[S], default: D = MISSING) -> S | D:
        """Return one of the allowed texts, spelled exactly so."""
        stand_in = next(iter(allowed)) if default is MISSING else default

        def read(node: YamlNode, path: str) -> S | D:
            text = self._text(node, path)
            if text not in allowed:
                remedy = f"use one of: {closest_first(text, allowed)}"
                self.faults.report(self._place(node), f"{path} can't be {shorten(text)}", remedy)
                return cast("S", find_meant(text, allowed)) or stand_in
            return cast("S", text)

        return self._read(key, default, stand_in, read)

    def boolean(self, key: str, default: D = MISSING) -> bool | D:
        typed = self._typed(bool, "a boolean", "write true or false, without quotes")
        return self._read(key, default, False, typed)

    def integer(self, key: str, default: D = MISSING, *, minimum: int | None = None) -> int | D:
        typed = self._typed(int, "a whole number", "write digits, without quotes", minimum)
        return self._read(key, default, 1, typed)

    def number(self, key: str, default: D = MISSING, *, minimum: float | None = None) -> float | D:
        typed = self._typed(float, "a number", "write a number, without quotes", minimum)
        return self._read(key, default, 1, typed)

    def duration(self, key: str, default: float, *, minimum: float = 1) -> float:
        """Return seconds: a number, or a text like `20m`."""

        def read(node: YamlNode, path: str) -> float:
            seconds = parse_duration(self._text(node, path))
            if seconds is None:
                self._refuse_at(node, f"{path} has to be a span of time, not {_kind(node)}", SPAN_FORM)
            self._check_minimum(node, path, seconds, minimum)
            return seconds

        return self._read(key, default, 1, read)

    def value(self, key: str) -> Value:
        """Return a scalar by its look: a number, a boolean, null, else the text; in quotes it is always the text."""
        usual: Value = 1
        return self._read(key, MISSING, usual, self._value)

    def text_list(self, key: str, default: D = MISSING, *, or_one: bool = False) -> tuple[str, ...] | D:
        """Return a list of texts.

        :param or_one: whether a single text may stand for a list of one.
        """

        def read(node: YamlNode, path: str) -> tuple[str, ...]:
            if or_one and isinstance(node, YamlScalar):
                return (self._text(node, path),)
            if not isinstance(node, YamlSequence):
                self._refuse_at(node, f"{path} has to be a list, not {_kind(node)}", "write it as [one, two]")
            return tuple(self._text(item, f"an item of {path}") for item in node.items)

        return self._read(key, default, (), read)

    def mapping(self, key: str, default: D = MISSING) -> Fields | D:
        def read(node: YamlNode, path: str, faults: Faults | None = None) -> Fields:
            return Fields(node, file=self.file, error=self.error, path=path, faults=faults or self.faults)

        empty = YamlMapping(entries=(), line=self.node.line, column=self.node.column)
        return self._read(key, default, read(empty, self.dotted(key), self.faults.aside()), read)

    def _read(self, key: str, default: D, stand_in: R | D, read: Callable[[YamlNode, str], R]) -> R | D:
        """Return what `read` makes of the value; the default, or a stand-in, where a fault of it is collected."""
        try:
            node = self.node_of(key)
            if node is not None:
                return read(node, self.dotted(key))
            if default is MISSING:
                where = f" in {self.path}" if self.path else ""
                self._refuse_at(self.node, f"the key {key!r} is missing{where}", f"add it: `{key}: …`")
        except FaultyError as error:
            self.faults.keep(error.fault)
            return stand_in if default is MISSING else default
        return default

    def _text(self, node: YamlNode, path: str) -> str:
        if not isinstance(node, YamlScalar):
            self._refuse_at(
                node, f"{path} has to be a text, not {_kind(node)}", "write one text; quotes keep it together"
            )
        if is_null(node):
            self._refuse_at(node, f"{path} has no value", "give it a text, in quotes if need be, or take the key out")
        if not node.text.strip():
            self._refuse_at(node, f"{path} is blank", "give it a text, or take the key out")
        return node.text

    def _value(self, node: YamlNode, path: str) -> Value:
        if not isinstance(node, YamlScalar):
            self._refuse_at(node, f"{path} has to be one value, not {_kind(node)}", "write one number, boolean or text")
        try:
            return scalar_value(node)
        except ValueError as error:
            self._refuse_at(node, f"{path}: {error}", "write it shorter, or in quotes if it is a text")

    def _typed(
        self, kind: type[R], what: str, remedy: str, minimum: float | None = None
    ) -> Callable[[YamlNode, str], R]:
        """Return what reads a value of a type."""

        def read(node: YamlNode, path: str) -> R:
            value: Any = self._value(node, path)
            # Its own type: Python takes a boolean for a number.
            if type(value) is not kind and not (kind is float and type(value) is int):
                self._refuse_at(node, f"{path} has to be {what}, not {_kind(node)}", remedy)
            self._check_minimum(node, path, cast(float, value), minimum)
            return cast("R", value)

        return read

    def _check_minimum(self, node: YamlNode, path: str, value: float, minimum: float | None) -> None:
        if minimum is not None and value < minimum:
            self._refuse_at(node, f"{path} can't be {value}", f"write {minimum} or more")

    def _place(self, node: YamlNode) -> Place:
        return Place.of(self.file, node.line, node.column)

    def _refuse_at(self, node: YamlNode, problem: str, remedy: str) -> NoReturn:
        self.faults.stop(self._place(node), problem, remedy)


def is_null(scalar: YamlScalar) -> bool:
    return scalar.is_plain and scalar.text in _NULLS


def scalar_value(scalar: YamlScalar) -> Value:
    """Return the scalar by its look; ValueError if it is a number that other readers take for another one."""
    text = scalar.text
    if not scalar.is_plain:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        digits = text.lstrip("-+")
        if len(digits) > _MAX_DIGITS:
            raise ValueError("the number is too big")
        if len(digits) > 1 and digits.startswith("0"):
            raise ValueError("a number with a leading zero is octal to some readers and decimal to others")
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise ValueError("the number is too big")
        return number
    return text


def closest_first(word: str, known: Iterable[str]) -> str:
    """Return the known words for a remedy, the one that was probably meant first."""
    import difflib  # here, not above: only a message needs it

    names = list(dict.fromkeys(known))
    # Cut: the comparison is quadratic, and a word of a megabyte is no slip of a finger.
    near = difflib.get_close_matches(word[:60], names, n=1)
    ordered = [*near, *(name for name in names if name not in near)]
    return ", ".join(ordered[:_MAX_NAMES] + ["…"] * (len(ordered) > _MAX_NAMES))


def find_meant(word: str, known: Iterable[str]) -> str:
    """Return the known word that was probably meant; empty if none looks like it."""
    import difflib

    return next(iter(difflib.get_close_matches(word[:60], list(known), n=1)), "")


def shorten(text: str) -> str:
    """Return the text in quotes, cut where it would flood a message."""
    return repr(cut(text))


def _kind(node: YamlNode) -> str:
    if isinstance(node, YamlMapping):
        return "a mapping"
    if isinstance(node, YamlSequence):
        return "a list"
    return "nothing" if is_null(node) else shorten(node.text)
