"""Read a YAML mapping key by key: each value by the type that its reader expects, every fault with its place.

Numbers and booleans are what YAML 1.2 calls so, and only without quotes; `on`, `no` and dates are texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, NoReturn, TypeVar, cast, overload

from phase_gate.config.faults import Faults, FaultyError, Place
from phase_gate.config.yaml import YamlMapping, YamlNode, YamlScalar, YamlSequence
from phase_gate.errors import PhaseGateError
from phase_gate.names import find_name_fault
from phase_gate.visible import cut
from phase_gate.workflow.names import SPAN_FORM, parse_duration

Value = int | float | str | bool | None

_D = TypeVar("_D")
_S = TypeVar("_S", bound=str)
_F = TypeVar("_F", bound=Callable[..., Any])


class _Required:
    """Stands for "no default": the key has to be there."""


_REQUIRED = _Required()

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS: Mapping[str, bool] = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
#: As many as a 64-bit integer may need; Python itself refuses to convert thousands of them.
_MAX_DIGITS = 18
#: In a remedy: more than there are metrics and guards, few enough for a screen.
_MAX_NAMES = 100


def _or(stand_in: object) -> Callable[[_F], _F]:
    """Let a reader of one value give its default, or a stand-in, where faults are collected."""

    def decorate(read: _F) -> _F:
        @wraps(read)
        def collect(self: Fields, key: str, default: object = _REQUIRED, **options: Any) -> object:
            try:
                return read(self, key, default, **options)
            except FaultyError as error:
                self.faults.keep(error.fault)
                return stand_in if default is _REQUIRED else default

        return cast(_F, collect)

    return decorate


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

    @overload
    def text(self, key: str) -> str: ...
    @overload
    def text(self, key: str, default: _D) -> str | _D: ...
    @_or("unknown")
    def text(self, key: str, default: object = _REQUIRED) -> object:
        """Return the scalar's text, whatever it looks like; blank and null are no texts."""
        node = self._find(key, default)
        return default if node is None else self._text(node, self.dotted(key))

    @overload
    def name(self, key: str) -> str: ...
    @overload
    def name(self, key: str, default: _D) -> str | _D: ...
    @_or("unknown")
    def name(self, key: str, default: object = _REQUIRED) -> object:
        """Return the name of a person or an agent: one line, with nothing in it that can't be seen."""
        node = self._find(key, default)
        if node is None:
            return default
        text = " ".join(re.split(r"[ \t\r\n]+", self._text(node, self.dotted(key)).strip()))
        if fault := find_name_fault(text):
            self.refuse(key, f"{self.dotted(key)} is no name: {fault}", "type the name anew, in letters that are seen")
        return text

    @overload
    def choice(self, key: str, allowed: Collection[_S]) -> _S: ...
    @overload
    def choice(self, key: str, allowed: Collection[_S], default: _D) -> _S | _D: ...
    def choice(self, key: str, allowed: Collection[str], default: object = _REQUIRED) -> object:
        """Return one of the allowed texts, spelled exactly so."""
        stand_in = next(iter(allowed)) if default is _REQUIRED else default
        try:
            node = self._find(key, default)
            text = "" if node is None else self._text(node, self.dotted(key))
        except FaultyError as error:
            self.faults.keep(error.fault)
            return stand_in
        if node is None or text in allowed:
            return default if node is None else text
        self.report(key, f"{self.dotted(key)} can't be {shorten(text)}", f"use one of: {closest_first(text, allowed)}")
        return find_meant(text, allowed) or stand_in

    @overload
    def boolean(self, key: str) -> bool: ...
    @overload
    def boolean(self, key: str, default: _D) -> bool | _D: ...
    @_or(False)
    def boolean(self, key: str, default: object = _REQUIRED) -> object:
        return self._typed(key, default, (bool,), "a boolean", "write true or false, without quotes")

    @overload
    def integer(self, key: str, *, minimum: int | None = None) -> int: ...
    @overload
    def integer(self, key: str, default: _D, *, minimum: int | None = None) -> int | _D: ...
    @_or(1)
    def integer(self, key: str, default: object = _REQUIRED, *, minimum: int | None = None) -> object:
        return self._typed(key, default, (int,), "a whole number", "write digits, without quotes", minimum)

    @overload
    def number(self, key: str, *, minimum: float | None = None) -> float: ...
    @overload
    def number(self, key: str, default: _D, *, minimum: float | None = None) -> float | _D: ...
    @_or(1)
    def number(self, key: str, default: object = _REQUIRED, *, minimum: float | None = None) -> object:
        return self._typed(key, default, (int, float), "a number", "write a number, without quotes", minimum)

    @_or(1)
    def duration(self, key: str, default: float, *, minimum: float = 1) -> float:
        """Return seconds: a number, or a text like `20m`."""
        node = self._find(key, default)
        if node is None:
            return default
        seconds = parse_duration(self._text(node, self.dotted(key)))
        if seconds is None:
            self._refuse_at(node, f"{self.dotted(key)} has to be a span of time, not {_kind(node)}", SPAN_FORM)
        self._check_minimum(node, key, seconds, minimum)
        return seconds

    @_or(1)
    def value(self, key: str, default: object = _REQUIRED) -> Value:
        """Return a scalar by its look: a number, a boolean, null, else the text; in quotes it is always the text."""
        return self._value(cast(YamlNode, self._find(key, _REQUIRED)), self.dotted(key))

    @overload
    def text_list(self, key: str, *, or_one: bool = False) -> tuple[str, ...]: ...
    @overload
    def text_list(self, key: str, default: _D, *, or_one: bool = False) -> tuple[str, ...] | _D: ...
    @_or(())
    def text_list(self, key: str, default: object = _REQUIRED, *, or_one: bool = False) -> object:
        """Return a list of texts.

        :param or_one: whether a single text may stand for a list of one.
        """
        node = self._find(key, default)
        if node is None:
            return default
        if or_one and isinstance(node, YamlScalar):
            return (self._text(node, self.dotted(key)),)
        if not isinstance(node, YamlSequence):
            self._refuse_at(node, f"{self.dotted(key)} has to be a list, not {_kind(node)}", "write it as [one, two]")
        return tuple(self._text(item, f"an item of {self.dotted(key)}") for item in node.items)

    @overload
    def mapping(self, key: str) -> Fields: ...
    @overload
    def mapping(self, key: str, default: _D) -> Fields | _D: ...
    def mapping(self, key: str, default: object = _REQUIRED) -> object:
        try:
            node = self._find(key, default)
        except FaultyError as error:
            self.faults.keep(error.fault)
            empty = YamlMapping(entries=(), line=self.node.line, column=self.node.column)
            return Fields(empty, file=self.file, error=self.error, path=self.dotted(key), faults=self.faults.aside())
        if node is None:
            return default
        return Fields(node, file=self.file, error=self.error, path=self.dotted(key), faults=self.faults)

    def _find(self, key: str, default: object) -> YamlNode | None:
        node = self.node_of(key)
        if node is None and default is _REQUIRED:
            where = f" in {self.path}" if self.path else ""
            self._refuse_at(self.node, f"the key {key!r} is missing{where}", f"add it: `{key}: …`")
        return node

    def _text(self, node: YamlNode, path: str) -> str:
        if not isinstance(node, YamlScalar):
            self._refuse_at(
                node, f"{path} has to be a text, not {_kind(node)}", "write one text; quotes keep it together"
            )
        if node.is_plain and node.text in _NULLS:
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
        self, key: str, default: object, types: tuple[type, ...], what: str, remedy: str, minimum: float | None = None
    ) -> object:
        node = self._find(key, default)
        if node is None:
            return default
        value = self._value(node, self.dotted(key))
        # Its own type: Python takes a boolean for a number.
        if type(value) not in types:
            self._refuse_at(node, f"{self.dotted(key)} has to be {what}, not {_kind(node)}", remedy)
        self._check_minimum(node, key, cast(float, value), minimum)
        return value

    def _check_minimum(self, node: YamlNode, key: str, value: float, minimum: float | None) -> None:
        if minimum is not None and value < minimum:
            self._refuse_at(node, f"{self.dotted(key)} can't be {value}", f"write {minimum} or more")

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
    if node.is_plain and node.text in _NULLS:
        return "nothing"
    return shorten(node.text)
