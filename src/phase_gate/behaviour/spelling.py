"""Write a value as source code, so that it can be pasted into a test."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import inspect
import math
import pathlib
import uuid
from typing import Any

from phase_gate.behaviour.forms import form_of

#: Characters of a value that are shown.
SHOWN = 200

#: Levels of a value that are written.
_DEEP = 50

#: Types whose repr is source code once their module is imported, and what that code begins with.
_BY_REPR = {
    decimal.Decimal: "from decimal import Decimal",
    fractions.Fraction: "from fractions import Fraction",
    uuid.UUID: "from uuid import UUID",
    datetime.datetime: "import datetime",
    datetime.date: "import datetime",
    datetime.time: "import datetime",
    datetime.timedelta: "import datetime",
    range: "",
    slice: "",
}


def shorten(text: str) -> str:
    """Return a text that fits into a line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"


class Spelling:
    """One value in source code."""

    def __init__(self) -> None:
        #: Lines that the code needs above it.
        self.imports: set[str] = set()
        #: Whether the code gives the same value again.
        self.is_exact = True
        self._depth = 0

    def write(self, value: Any) -> str:
        self._depth += 1
        try:
            return self._give_up(value) if self._depth > _DEEP else self._write(value)
        except Exception:  # a repr of the project's, or a number with too many digits
            return self._give_up(value)
        finally:
            self._depth -= 1

    def _write(self, value: Any) -> str:
        kind = type(value)
        if kind is float and not math.isfinite(value):
            return f'float("{value}")'
        if kind in (type(None), bool, int, float, str, bytes):
            return repr(value)
        if kind is complex and all(map(math.isfinite, (value.real, value.imag))):
            return repr(value)
        if kind is bytearray:
            return f"bytearray({bytes(value)!r})"
        if kind is list:
            return f"[{self._join(value)}]"
        if kind is tuple:
            return f"({self._join(value)},)" if len(value) == 1 else f"({self._join(value)})"
        if kind is dict:
            return "{" + ", ".join(f"{self.write(key)}: {self.write(each)}" for key, each in value.items()) + "}"
        if kind is set:
            return "{" + self._join(sorted(value, key=repr)) + "}" if value else "set()"
        if kind is frozenset:
            return "frozenset({" + self._join(sorted(value, key=repr)) + "})" if value else "frozenset()"
        if kind in _BY_REPR:
            self.imports |= {_BY_REPR[kind]} - {""}
            return repr(value)
        if isinstance(value, pathlib.PurePath):
            self.imports.add(f"from pathlib import {_public(kind)}")
            return f"{_public(kind)}({str(value)!r})"
        if isinstance(value, enum.Enum) and value.name is not None:
            return f"{self._class(kind)}.{value.name}"
        if isinstance(value, type):
            return self._class(value)
        if hasattr(kind, "_fields") and isinstance(value, tuple):
            return f"{self._class(kind)}({self._join(value)})"
        if dataclasses.is_dataclass(value):
            fields = [each for each in dataclasses.fields(value) if each.init]
            return self._build(value, [each.name for each in fields])
        names = _constructor(value)
        return self._give_up(value) if names is None else self._build(value, names)

    def _build(self, value: Any, names: list[str]) -> str:
        named = ", ".join(f"{each}={self.write(getattr(value, each))}" for each in names)
        return f"{self._class(type(value))}({named})"

    def _join(self, values: Any) -> str:
        return ", ".join(self.write(each) for each in values)

    def _class(self, kind: type) -> str:
        if kind.__module__ != "builtins":
            self.imports.add(f"from {kind.__module__} import {kind.__qualname__.partition('.')[0]}")
        return kind.__qualname__

    def _give_up(self, value: object) -> str:
        self.is_exact = False
        try:
            return repr(value)
        except Exception:
            return f"<{type(value).__qualname__}>"


def public_attributes(value: object) -> list[str] | None:
    """Return the attributes that stand for an object in a test; None: `==` says it all."""
    own = getattr(value, "__dict__", None)
    if type(value).__eq__ is not object.__eq__ or not own:
        return None
    return sorted(name for name in own if not name.startswith("_")) or None


def _constructor(value: object) -> list[str] | None:
    """Return the parameters that give the same object again, each an attribute of it; None: there are none such."""
    try:
        parameters = inspect.signature(type(value)).parameters.values()
        names = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
        given = {name: getattr(value, name) for name in names}
        if len(names) < len(parameters) or not given or form_of(type(value)(**given)) != form_of(value):
            return None
    except Exception:
        return None
    return names


def _public(kind: type) -> str:
    """Return the class that makes such a path: what it makes depends on the system."""
    return {"PosixPath": "Path", "WindowsPath": "Path"}.get(kind.__name__, kind.__name__)
