"""Values as JSON, and back: one codec over the fields that `Value` knows.

Pure. A field that holds its default is left out, so additions stay readable. Reading is strict: an unknown field, a
missing one or another type raises ValueError or TypeError. How a field is read follows from its annotation; that is
worked out when the first document names the field, so nothing is paid for at import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from json import loads

from phase_gate.values import Value, annotation_of, as_dict, fields, without_defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T", bound=Value)
    #: Receives a node and its file; None: JSON, which is read strictly.
    Read = Callable[[Any, Any], Any]


def to_json(value: Value) -> dict[str, Any]:
    """Return the fields that do not hold their defaults, as plain JSON."""
    kept = without_defaults(value)
    return {name: held if type(held) in _SIMPLE else _plain(held, to_json) for name, held in kept.items()}


def spell_out(value: Value) -> dict[str, Any]:
    """Return all fields as plain JSON, for documents that others read, too."""
    return {name: _plain(held, spell_out) for name, held in as_dict(value).items()}


def spell_out_each(values: Iterable[Value]) -> list[dict[str, Any]]:
    return [spell_out(value) for value in values]


#: What JSON has as it is.
_SIMPLE = frozenset({str, int, bool, float, type(None)})


def _plain(value: Any, of_value: Callable[[Value], Any]) -> Any:
    """Return what JSON knows: lists for tuples and sets, texts for members of an enumeration, objects for values."""
    if type(value) in _SIMPLE:
        return value
    if isinstance(value, Value):
        return of_value(value)
    # Suites have thousands of tests: where all items are simple, nothing is called for each.
    if isinstance(value, dict | Mapping):
        is_simple = _SIMPLE.issuperset(map(type, value.values()))
        return dict(value) if is_simple else {str(name): _plain(each, of_value) for name, each in value.items()}
    if isinstance(value, tuple | list):
        is_simple = _SIMPLE.issuperset(map(type, value))
        return list(value) if is_simple else [_plain(each, of_value) for each in value]
    if isinstance(value, frozenset):
        return sorted(value)
    # A member of an enumeration, or a text with a position in its file.
    return str(value) if isinstance(value, str) else value


def from_json(kind: type[T], document: object) -> T:
    """Return the value that `to_json` wrote."""
    if not isinstance(document, dict):
        raise TypeError(f"{kind.__name__}: {_name(document)} instead of an object")
    held = {}
    for name, row in document.items():
        try:
            held[name] = reader(kind, name)(row, None)
        except (TypeError, ValueError) as error:
            sort = TypeError if isinstance(error, TypeError) else ValueError
            raise sort(f"{kind.__name__}.{name}: {error}") from None
    return kind(**held)


#: Levels of lists and objects in the JSON of others. No honest document has more.
_MAX_DEPTH = 100


def parse_foreign(text: str | bytes, **options: Any) -> Any:
    """Return a JSON document that others wrote. Raises ValueError if it is not JSON, or nested too deep.

    The parser may take some thousand levels, which nothing can walk or print that calls itself for each.
    """
    try:
        document = loads(text, **options)
    except RecursionError:
        raise ValueError("nested too deep") from None
    level = [document]
    for _ in range(_MAX_DEPTH):
        holders = [each for each in level if isinstance(each, dict | list)]
        level = [inner for each in holders for inner in (each.values() if isinstance(each, dict) else each)]
        if not level:
            return document
    raise ValueError("nested too deep")


# --- what an annotation means


@cache
def reader(kind: type[Value], name: str) -> Read:
    """Return what reads a field."""
    if name not in fields(kind):
        raise ValueError(f"unknown field {name!r}")
    return _reader(*annotation_of(kind, name))


@cache
def _reader(text: str, module: str) -> Read:
    """Return what reads an annotation in a module."""
    options = _split(text, "|")
    if "None" in options:
        inner = _reader(" | ".join(each for each in options if each != "None"), module)
        return lambda row, within: None if row is None else inner(row, within)
    if all(each in _PLAIN for each in options):
        return _read_plain(tuple([kind for each in options for kind in _PLAIN[each]]))
    base, _, inside = text.removesuffix("]").partition("[")
    arguments = _split(inside, ",")
    if base == "tuple" and arguments[-1] == "...":
        return _read_list(arguments[0], module)
    if base == "tuple":
        return _read_tuple([_reader(each, module) for each in arguments])
    if base == "frozenset":
        read_list = _read_list(arguments[0], module)
        return lambda row, within: frozenset(read_list(row, within))
    if base == "Mapping":
        return _read_mapping(arguments[1], module)
    return _read_named(vars(sys.modules[module])[text])


def _read_named(found: Any) -> Read:
    """Return what reads a type by its name: a value, an enumeration or a literal."""
    if isinstance(found, type) and issubclass(found, Value):
        return lambda row, within: from_json(found, row) if within is None else within.read(found, row)
    if isinstance(found, type):
        return lambda row, _within: found(row)
    choices: tuple[str, ...] = found.__args__

    def read(row: Any, within: Any) -> Any:
        if within is not None:
            return within.choose(row, choices)
        if type(row) is not str or row not in choices:
            raise ValueError(f"{row!r} is none of {', '.join(choices)}")
        return row

    return read


#: Types of JSON by the names of annotations; none: any value.
_PLAIN: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": (float, int),
    "None": (type(None),),
    "MetricValue": (str, int, bool, float, type(None)),
    "Json": (dict,),
    "Any": (),
}


def _read_plain(types: tuple[type, ...]) -> Read:
    def read(row: Any, within: Any) -> Any:
        if type(row) in types or not types:
            return row
        if within is not None:
            return within.convert(row, types)
        raise TypeError(f"{_name(row)} instead of {types[0].__name__}")

    return read


def _read_list(text: str, module: str) -> Read:
    read_item = _reader(text, module)
    types = _plain_types(text)

    def read(row: Any, within: Any) -> Any:
        if not isinstance(row, list | tuple):
            if within is not None:
                within.refuse_list(row)
            raise TypeError(f"{_name(row)} instead of a list")
        return tuple(row) if types.issuperset(map(type, row)) else tuple([read_item(each, within) for each in row])

    return read


def _plain_types(text: str) -> frozenset[type]:
    """Return the types that need no reading; none where some do."""
    options = _split(text, "|")
    if not all(each in _PLAIN for each in options):
        return frozenset()
    return frozenset(kind for each in options for kind in _PLAIN[each])


def _read_tuple(items: list[Read]) -> Read:
    def read(row: Any, within: Any) -> Any:
        if not isinstance(row, list | tuple) or len(row) != len(items):
            raise TypeError(f"{_name(row)} instead of a list of {len(items)}")
        return tuple([each(part, within) for each, part in zip(items, row, strict=True)])

    return read


def _read_mapping(text: str, module: str) -> Read:
    read_item = _reader(text, module)
    types = _plain_types(text)

    def read(row: Any, within: Any) -> Any:
        if within is not None:
            return within.read_each(row, read_item)
        if not isinstance(row, dict):
            raise TypeError(f"{_name(row)} instead of an object")
        if types.issuperset(map(type, row.values())):
            return row
        return {name: read_item(each, None) for name, each in row.items()}

    return read


def _split(text: str, mark: str) -> list[str]:
    """Split a text at marks outside of brackets."""
    if mark not in text:
        return [text]
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == mark and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _name(row: object) -> str:
    return type(row).__name__
