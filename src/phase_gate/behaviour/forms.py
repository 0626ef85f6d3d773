"""What a value is, as plain JSON, so that values of two processes can be compared without either of them.

A form is a list: what kind of form it is, the name of the value's type, and what is in it. Types are named without
their modules: a class that moved is still the same one. What is private in an object is not looked at.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import io
import pickle
import re
import types
from collections import OrderedDict
from collections.abc import ItemsView, Iterator, KeysView, Set, ValuesView
from typing import Any

#: A value in plain JSON.
Form = list[Any]

PLAIN, ITEMS, UNORDERED, PAIRS, OBJECT, OTHER, OPAQUE, ITERATOR, CYCLE = "vlsdox?ic"

#: What is taken from an iterator at most: it may never end.
MOST_ITEMS = 100
#: Parts of one value that are looked at; of larger ones only what they are pickled as.
MOST_PARTS = 20_000

#: How an iterator ended.
EXHAUSTED, GOES_ON = "exhausted", "goes on"

#: Where an object lies in memory says nothing about it.
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")

_SIMPLE = (type(None), bool, int, float, complex, str, bytes, bytearray)
_CODE = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodWrapperType,
    types.ModuleType,
    types.CodeType,
    types.FrameType,
    types.TracebackType,
)


class _TooLargeError(Exception):
    """There are too many parts to compare."""


def form_of(value: object) -> Form:
    """Return the form of a value. Takes items out of an iterator."""
    try:
        return _Writer().write(value)
    except Exception:  # too large, or it does not let itself be looked at
        return _other(value, public=[])


def is_opaque(form: Form) -> bool:
    """Tell whether nothing of a value can be compared but its type."""
    return bool(form[0] == OPAQUE)


class _Writer:
    def __init__(self) -> None:
        self._parts = 0
        self._above: list[int] = []

    def write(self, value: object) -> Form:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise _TooLargeError
        kind = type(value)
        if kind in _SIMPLE:
            return [PLAIN, kind.__name__, _text(value)]
        if id(value) in self._above:
            return [CYCLE, len(self._above) - self._above.index(id(value))]
        self._above.append(id(value))
        try:
            return self._write(value, kind.__qualname__)
        finally:
            self._above.pop()

    def _write(self, value: Any, name: str) -> Form:
        if isinstance(value, enum.Enum):
            return [PLAIN, name, value.name if value.name is not None else repr(value)]
        if isinstance(value, type):
            return [PLAIN, "type", value.__qualname__]
        if isinstance(value, _CODE):
            return [OPAQUE, "code"]
        if isinstance(value, OrderedDict):
            return [ITEMS, name, [[ITEMS, "tuple", [self.write(a), self.write(b)]] for a, b in value.items()]]
        if isinstance(value, dict):
            return [PAIRS, name, _sorted([self.write(key), self.write(each)] for key, each in value.items())]
        if isinstance(value, list | tuple):
            return [ITEMS, name, [self.write(each) for each in value]]
        if isinstance(value, KeysView | ItemsView):
            return [UNORDERED, name, _sorted(self.write(each) for each in value)]
        if isinstance(value, ValuesView):
            return [ITEMS, name, [self.write(each) for each in value]]
        if isinstance(value, set | frozenset) or (isinstance(value, Set) and not _has_own_eq(value)):
            return [UNORDERED, name, _sorted(self.write(each) for each in value)]
        if isinstance(value, _SIMPLE):  # a class of the project's on top of one of these
            return [OBJECT, name, [["", [PLAIN, "", _text(value)]], *self._public(value)]]
        if isinstance(value, Iterator) and not isinstance(value, io.IOBase):
            return self._iterate(value)
        if isinstance(value, BaseException):
            return [OBJECT, name, [["args", self.write(value.args)]]]
        if dataclasses.is_dataclass(value) and not _has_written_eq(value):
            fields = [each.name for each in dataclasses.fields(value) if each.compare]
            return [OBJECT, name, [[each, self.write(getattr(value, each, None))] for each in fields]]
        if _has_own_eq(value):
            return _other(value, public=self._public(value))
        public = self._public(value)
        if public:
            return [OBJECT, name, public]
        return _other(value, public=[]) if _has_own_repr(value) or _is_built_in(value) else [OPAQUE, name]

    def _public(self, value: object) -> list[list[Any]]:
        """Return the public attributes that an object has of its own."""
        found: dict[str, object] = dict(getattr(value, "__dict__", {}))
        for kind in type(value).__mro__:
            slots = vars(kind).get("__slots__", ())
            for each in (slots,) if isinstance(slots, str) else slots:
                if hasattr(value, each):
                    found[each] = getattr(value, each)
        return [[each, self.write(found[each])] for each in sorted(found) if not each.startswith("_")]

    def _iterate(self, values: Iterator[object]) -> Form:
        items: list[Form] = []
        ended = GOES_ON
        try:
            while len(items) < MOST_ITEMS:
                items.append(self.write(next(values)))
        except StopIteration:
            ended = EXHAUSTED
        except (_TooLargeError, RecursionError):
            raise
        except Exception as error:
            ended = type(error).__qualname__
        return [ITERATOR, "iterator", items, ended]


def _text(value: object) -> str:
    if isinstance(value, float):
        return (value + 0.0).hex()  # 0.0 and -0.0 are equal to every test; one nan is like another
    if isinstance(value, complex):
        return f"{(value.real + 0.0).hex()} {(value.imag + 0.0).hex()}"
    if isinstance(value, int) and not isinstance(value, bool):
        return hex(value)  # decimal refuses more than 4,300 digits
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, str):
        return str.__str__(value)
    return repr(value)


def _sorted(forms: Any) -> list[Any]:
    return sorted(forms, key=repr)


def _other(value: object, *, public: list[list[Any]]) -> Form:
    """Return the form of a value that only its own `==` can compare: as it is pickled, and as it shows itself."""
    try:
        packed = base64.b64encode(pickle.dumps(value)).decode("ascii")
    except Exception:
        packed = ""
    try:
        shown = _ADDRESS.sub("0x", repr(value)) if _has_own_repr(value) else ""
    except Exception:
        shown = ""
    return [OTHER, type(value).__qualname__, packed, shown, public]


def unpack(packed: str) -> object:
    """Return the value that the form of another process has in it."""
    return pickle.loads(base64.b64decode(packed))


def _has_own_eq(value: object) -> bool:
    return type(value).__eq__ is not object.__eq__


def _has_own_repr(value: object) -> bool:
    return type(value).__repr__ is not object.__repr__


def _has_written_eq(value: object) -> bool:
    """Tell whether a data class has an `__eq__` that was written by hand."""
    code = getattr(type(value).__eq__, "__code__", None)
    return code is not None and code.co_filename != "<string>"


def _is_built_in(value: object) -> bool:
    return type(value).__module__ == "builtins"
