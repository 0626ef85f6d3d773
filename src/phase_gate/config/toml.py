"""Read `[tool.phase-gate]` of pyproject.toml as nodes with places, like those of YAML.

`tomllib` reads the values and knows no places. So the lines are gone through for tables and keys: what stands in an
inline table, or in a list, has the place of its key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping

from phase_gate.config.faults import Faults, Place
from phase_gate.config.yaml import YamlMapping, YamlNode, YamlScalar, YamlSequence, decode_text
from phase_gate.errors import ConfigurationError

TABLE = ("tool", "phase-gate")

_WORD = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_KEYS = rf"{_WORD}(?:[ \t]*\.[ \t]*{_WORD})*"
_HEADER = re.compile(rf"[ \t]*\[\[?[ \t]*({_KEYS})[ \t]*\]")
_ENTRY = re.compile(rf"[ \t]*({_KEYS})[ \t]*=[ \t]*")
_QUOTES = re.compile("'''|\"\"\"")

_Path = tuple[str, ...]


class _Spot:
    """Where a key stands, and its value: line and column."""

    def __init__(self, line: int, key: int, value: int) -> None:
        self.key, self.value = (line, key), (line, value)


def read_table(text: str | bytes, *, name: str, limit: int) -> YamlNode | None:
    """Return our table; None if the file has none. Raises ConfigurationError for what is no TOML."""
    faults = Faults(ConfigurationError)
    source = decode_text(text, name=name, limit=limit, faults=faults)
    try:
        found: object = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        problem, _, where = str(error).partition(" (at ")
        lines = source.splitlines() or [""]
        numbers = [int(each) for each in re.findall("[0-9]+", where)]
        line, column = numbers if len(numbers) == 2 else (len(lines), len(lines[-1]) + 1)
        faults.stop(Place.of(name, line, column), f"not TOML: {problem}", "mend the syntax at this place")
    except (ValueError, RecursionError):
        faults.stop(Place.of(name, 1, 1), "a number is too big, or something too deep", "write less of it")
    for key in TABLE:
        found = found.get(key) if isinstance(found, dict) else None
    if found is None:
        return None
    spots: dict[_Path, _Spot] = {}
    for path, spot in _find_spots(source):
        spots.setdefault(path, spot)
    return _make_node(found, TABLE, spots, _Spot(1, 1, 1))


def _make_node(value: object, path: _Path, spots: Mapping[_Path, _Spot], around: _Spot) -> YamlNode:
    """Return the node of a value.

    :param around: where it stands if its own place is not known.
    """
    spot = spots.get(path, around)
    line, column = spot.value
    if isinstance(value, dict):
        entries = []
        for key, inner in value.items():
            at_key = spots.get((*path, key), _Spot(line, column, column)).key
            scalar = YamlScalar(text=key, is_plain=False, line=at_key[0], column=at_key[1])
            entries.append((scalar, _make_node(inner, (*path, key), spots, spot)))
        return YamlMapping(entries=tuple(entries), line=line, column=column)
    if isinstance(value, list):
        items = tuple(_make_node(each, (*path, ""), spots, spot) for each in value)
        return YamlSequence(items=items, line=line, column=column)
    # A number or a boolean reads as one; a text, or a date, as nothing else.
    text = str(value).lower() if isinstance(value, bool) else _spell(value)
    return YamlScalar(text=text, is_plain=isinstance(value, int | float), line=line, column=column)


def _spell(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # an integer that was written with thousands of hexadecimal digits
        return "9" * 1000


def _find_spots(source: str) -> Iterator[tuple[_Path, _Spot]]:
    """Yield the tables and keys of the file with their places; of a text of several lines, the key alone."""
    table: _Path = ()
    closing = ""
    for number, line in enumerate(source.splitlines(), start=1):
        if closing:
            closing = "" if closing in line else closing
            continue
        if (header := _HEADER.match(line)) is not None:
            table = _split(header[1])
            column = len(line) - len(line.lstrip()) + 1
            yield from ((table[:end], _Spot(number, column, column)) for end in range(len(table), 0, -1))
        elif (entry := _ENTRY.match(line)) is not None:
            path = (*table, *_split(entry[1]))
            for end in range(len(path), len(table), -1):
                yield path[:end], _Spot(number, entry.start(1) + 1, entry.end() + 1)
        opened = _QUOTES.search(line)
        if opened is not None and line.count(opened[0]) % 2:
            closing = opened[0]


def _split(keys: str) -> _Path:
    return tuple(each.strip("\"'") for each in re.findall(_WORD, keys))
