"""Read `[tool.phase-gate]` of pyproject.toml as nodes with places, like those of YAML.

`tomllib` returns values without places, so the lines are searched for tables and keys. Values in an inline table or a
list have the place of its key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping

from phase_gate.config.nodes import Items, Node, Place, Table, Text
from phase_gate.config.reading import Reader
from phase_gate.config.yaml import decode_text
from phase_gate.errors import ConfigurationError

TABLE = ("tool", "phase-gate")

_WORD = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_KEYS = rf"{_WORD}(?:[ \t]*\.[ \t]*{_WORD})*"
_HEADER = re.compile(rf"[ \t]*\[\[?[ \t]*({_KEYS})[ \t]*\]")
_ENTRY = re.compile(rf"[ \t]*({_KEYS})[ \t]*=[ \t]*")
_QUOTES = re.compile("'''|\"\"\"")

_Path = tuple[str, ...]
#: The places of a key and of its value.
_Spot = tuple[Place, Place]


def read_table(text: str | bytes, *, name: str, limit: int) -> Node | None:
    """Return our table; None if the file has none. Raises ConfigurationError for invalid TOML."""
    faults = Reader(ConfigurationError)
    source = decode_text(text, name=name, limit=limit, faults=faults)
    try:
        found: object = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        problem, _, where = str(error).partition(" (at ")
        lines = source.splitlines() or [""]
        numbers = [int(each) for each in re.findall("[0-9]+", where)]
        line, column = numbers if len(numbers) == 2 else (len(lines), len(lines[-1]) + 1)
        faults.stop(Place.of(name, line, column), f"not TOML: {problem}", "fix the syntax here")
    except (ValueError, RecursionError):
        faults.stop(Place.of(name, 1, 1), "a number is too big, or the nesting too deep", "simplify the file")
    for key in TABLE:
        found = found.get(key) if isinstance(found, dict) else None
    if found is None:
        return None
    spots: dict[_Path, _Spot] = {}
    for path, spot in _find_spots(source, name):
        spots.setdefault(path, spot)
    return _make_node(found, TABLE, spots, Place.of(name, 1, 1))


def _make_node(value: object, path: _Path, spots: Mapping[_Path, _Spot], around: Place) -> Node:
    """Return the node of a value.

    :param around: the place to use if its own is unknown.
    """
    at, dotted = spots.get(path, (around, around))[1], ".".join(path[len(TABLE) :])
    if isinstance(value, dict):
        entries: dict[str, Node] = {}
        for key, inner in value.items():
            below = (*path, key)
            name = Text.of(key, spots.get(below, (at, at))[0], f"{dotted}.{key}" if dotted else key)
            entries[name] = _make_node(inner, below, spots, at)
        return Table.of(entries, at, dotted)
    if isinstance(value, list):
        items = [_make_node(each, (*path, ""), spots, at) for each in value]
        for item in items:
            item.path = f"an item of {dotted}"
        return Items.of(items, at, dotted)
    # Only numbers and booleans are plain: texts and dates stay texts.
    text = str(value).lower() if isinstance(value, bool) else _spell(value)
    return Text.of(text, at, dotted, is_plain=isinstance(value, int | float))


def _spell(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # an integer with thousands of hexadecimal digits
        return "9" * 1000


def _find_spots(source: str, name: str) -> Iterator[tuple[_Path, _Spot]]:
    """Yield the tables and keys of the file with their places, skipping the lines of multi-line strings."""
    table: _Path = ()
    closing = ""
    for number, line in enumerate(source.splitlines(), start=1):
        if closing:
            closing = "" if closing in line else closing
            continue
        if (header := _HEADER.match(line)) is not None:
            table = _split(header[1])
            at = Place.of(name, number, len(line) - len(line.lstrip()) + 1)
            yield from ((table[:end], (at, at)) for end in range(len(table), 0, -1))
        elif (entry := _ENTRY.match(line)) is not None:
            path = (*table, *_split(entry[1]))
            spot = Place.of(name, number, entry.start(1) + 1), Place.of(name, number, entry.end() + 1)
            yield from ((path[:end], spot) for end in range(len(path), len(table), -1))
        opened = _QUOTES.search(line)
        if opened is not None and line.count(opened[0]) % 2:
            closing = opened[0]


def _split(keys: str) -> _Path:
    return tuple(each.strip("\"'") for each in re.findall(_WORD, keys))
