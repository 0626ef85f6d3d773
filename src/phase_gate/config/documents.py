"""Read YAML, and our table in pyproject.toml, as text nodes with places.

YAML is read from the parser's events: scalars stay texts, no objects are constructed, and features that can hide the
meaning of a file (anchors, tags, merge keys, duplicate keys) are refused with their place.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, NoReturn, cast

from phase_gate.config.reading import Items, Node, Place, Reader, Table, Text
from phase_gate.errors import ConfigurationError, DocumentError, PhaseGateError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    import yaml

#: Our table in pyproject.toml.
TABLE = ("tool", "phase-gate")

_FAULTS, _TOML_FAULTS = Reader(DocumentError), Reader(ConfigurationError)

#: Far more than any readable set of rules needs.
MAX_BYTES = 1024 * 1024
#: The deepest shipped file has 5 levels.
MAX_DEPTH = 32

#: Matches characters that YAML calls unprintable, and those that make a line look different from what it is: line
#: separators that editors do not show, and marks that change the direction of the text. Escapes in quoted text are
#: checked too: otherwise a NUL or an escape sequence could reach a path or the terminal.
_ODD_CHARACTER = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)

_TOML_WORD = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
#: The header of a table, or a key.
_TOML_LINE = re.compile(rf"\s*(?P<header>\[+\s*)?(?P<keys>{_TOML_WORD}(?:\s*\.\s*{_TOML_WORD})*)\s*[\]=]")


def read_document(text: str | bytes, *, name: str, limit: int = MAX_BYTES) -> Node:
    """Return the only document in the text."""
    documents = read_documents(text, name=name, limit=limit)
    if len(documents) > 1:
        _FAULTS.stop(documents[1], "a second document begins here", "keep one document in this file")
    return documents[0]


def read_documents(text: str | bytes, *, name: str, limit: int = MAX_BYTES) -> list[Node]:
    """Return the documents in the text, at least one.

    :param name: the file name, for messages.
    :param limit: the maximum size in bytes.
    """
    source = decode_text(text, name=name, limit=limit)
    import yaml  # imported here, because it takes 12 ms and most runs read no YAML

    start = Place.of(name, 1, 1)
    try:
        # A generator, although its annotation is less specific: it keeps the parser until it is closed.
        parsed = cast("Generator[yaml.Event]", yaml.parse(source, Loader=choose_loader()))
        with closing(parsed) as events:
            documents = _Builder(name).read(events)
    except yaml.YAMLError as error:
        _refuse(error, name=name, source=source)
    except (ValueError, OverflowError):
        # The pure Python loader converts escapes and version numbers without checking their size.
        _FAULTS.stop(start, "a number is out of range", "remove the invalid escape or directive")
    if not documents:
        _FAULTS.stop(start, "the file is empty", "fill it, or delete it")
    return documents


def choose_loader() -> type[yaml.SafeLoader | yaml.CSafeLoader]:
    """Return libyaml's loader, or the equivalent pure Python one if PyYAML was built without libyaml."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Builder:
    """Builds nodes from the parser's events."""

    def __init__(self, file: str) -> None:
        self._file = file

    def read(self, events: Iterator[yaml.Event]) -> list[Node]:
        import yaml

        self._yaml, self._events = yaml, events
        documents: list[Node] = []
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if event.version or event.tags:
                    _FAULTS.stop(self._place(event), "directives are not read", "take the line with % out")
                node = self._node(next(events), "")
                if isinstance(node, Text) and node.is_plain and not node:
                    _FAULTS.stop(node, "the document is empty", "fill it, or take its --- line out")
                documents.append(node)
        return documents

    def _node(self, event: yaml.Event, path: str, depth: int = 0, key: Text | None = None) -> Node:
        """Return the node that begins with an event.

        :param key: its key, if it is a value of a mapping.
        """
        at = self._check(event)
        if isinstance(event, self._yaml.ScalarEvent):
            # The two loaders disagree on the place of an omitted value, so use the place of its key.
            if key is not None and not (event.style or event.value):
                at = key.at
            return self._text(event, at, path)
        if depth == MAX_DEPTH:
            _FAULTS.stop(at, f"nested deeper than {MAX_DEPTH} levels", "flatten the file")
        if isinstance(event, self._yaml.SequenceStartEvent):
            inner = f"an item of {path}"
            return Items.of([self._node(each, inner, depth + 1) for each in self._until("SequenceEndEvent")], at, path)
        entries: dict[str, Node] = {}
        for each in self._until("MappingEndEvent"):
            place = self._check(each)
            if not isinstance(each, self._yaml.ScalarEvent):
                _FAULTS.stop(place, "a key has to be a text", "write a plain word before the colon")
            name = self._text(each, place, f"{path}.{each.value}" if path else each.value)
            if name == "<<" and name.is_plain:
                _FAULTS.stop(place, "merge key <<", "write the merged keys out")
            if name in entries:
                first = next(each.at.line for each in entries if isinstance(each, Text) and each == name)
                _FAULTS.stop(place, f"key {name[:60]!r} again, first in line {first}", "keep one of the two")
            entries[name] = self._node(next(self._events), name.path, depth + 1, name)
        return Table.of(entries, at, path)

    def _until(self, end: str) -> Iterator[yaml.Event]:
        while not isinstance(event := next(self._events), getattr(self._yaml, end)):
            yield event

    def _text(self, event: yaml.ScalarEvent, at: Place, path: str) -> Text:
        _check_characters(event.value, at, _FAULTS)
        return Text.of(event.value, at, path, is_plain=not event.style)

    def _check(self, event: yaml.Event) -> Place:
        """Return the place of an event. Refuse aliases, anchors and tags, which can hide the meaning of a value."""
        place = self._place(event)
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if isinstance(event, self._yaml.AliasEvent):
            _FAULTS.stop(place, f"alias *{anchor}", "write the value out in full")
        if anchor is not None:
            _FAULTS.stop(place, f"anchor &{anchor}", "write the value out wherever it is needed")
        if tag is not None:
            _FAULTS.stop(place, f"tag {tag}", "remove the tag; quotes turn any value into a text")
        return place

    def _place(self, event: yaml.Event) -> Place:
        mark = event.start_mark
        assert mark is not None  # parsed events always have one
        return Place.of(self._file, mark.line + 1, mark.column + 1)


def _refuse(error: yaml.YAMLError, *, name: str, source: str) -> NoReturn:
    """Raise the fault that a parser has found."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "unreadable"
    if mark is None:
        _FAULTS.stop(Place.of(name, 1, 1), f"not YAML: {problem}", "fix the syntax")
    # libyaml reports "end of file" one line after the text.
    lines = source.splitlines() or [""]
    row = min(mark.line, len(lines) - 1)
    column = mark.column if row == mark.line else len(lines[row])
    remedy = "fix the syntax here, or just before it"
    if "\t" in lines[row][: column + 1]:
        remedy = "indent with spaces: YAML allows no tab there"
    elif "mapping values" in problem:
        remedy = "put the text in quotes if it contains a colon; otherwise check the indentation"
    _FAULTS.stop(Place.of(name, row + 1, column + 1), f"not YAML: {problem}", remedy)


# --- TOML


def read_toml_table(text: str | bytes, *, name: str) -> Node | None:
    """Return our table of a TOML text; None if it has none. Raises ConfigurationError for invalid TOML.

    `tomllib` returns values without places, so the lines are searched: a value has the place of its key.
    """
    import tomllib  # imported here, because most projects keep their settings elsewhere

    source = decode_text(text, name=name, faults=_TOML_FAULTS)
    try:
        found: object = tomllib.loads(source)
        for key in TABLE:
            found = found.get(key) if isinstance(found, dict) else None
        return None if found is None else _make_node(found, TABLE, _find_places(source, name), Place.of(name, 1, 1))
    except tomllib.TOMLDecodeError as error:
        problem, _, where = str(error).partition(" (at ")
        lines = source.splitlines() or [""]
        numbers = [int(each) for each in re.findall("[0-9]+", where)]
        line, column = numbers if len(numbers) == 2 else (len(lines), len(lines[-1]) + 1)
        _TOML_FAULTS.stop(Place.of(name, line, column), f"not TOML: {problem}", "fix the syntax here")
    except (ValueError, RecursionError):
        _TOML_FAULTS.stop(Place.of(name, 1, 1), "a number is too big, or the nesting too deep", "simplify the file")


def _make_node(value: object, path: tuple[str, ...], places: Mapping[tuple[str, ...], Place], around: Place) -> Node:
    """Return the node of a value.

    :param around: the place to use if its own is unknown.
    """
    at, dotted = places.get(path, around), ".".join(path[len(TABLE) :])
    if isinstance(value, dict):
        nodes = {key: _make_node(inner, (*path, key), places, at) for key, inner in value.items()}
        return Table.of({Text.like(node, key): node for key, node in nodes.items()}, at, dotted)
    if isinstance(value, list):
        items = [_make_node(each, (*path, ""), places, at) for each in value]
        for item in items:
            item.path = f"an item of {dotted}"
        return Items.of(items, at, dotted)
    # Only numbers and booleans are plain: texts and dates stay texts.
    text = str(value).lower() if isinstance(value, bool) else str(value)
    _check_characters(dotted + text, at, _TOML_FAULTS)
    return Text.of(text, at, dotted, is_plain=isinstance(value, int | float))


def _find_places(source: str, name: str) -> dict[tuple[str, ...], Place]:
    """Return the first places of tables and keys. A line in a text of several lines may be taken for one, too."""
    places: dict[tuple[str, ...], Place] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(source.splitlines(), start=1):
        found = _TOML_LINE.match(line)
        if found is not None:
            path = tuple(each.strip("\"'") for each in re.findall(_TOML_WORD, found["keys"]))
            table, path = (path, path) if found["header"] else (table, (*table, *path))
            at = Place.of(name, number, found.start("keys") + 1)
            for end in range(len(path), 0, -1):
                places.setdefault(path[:end], at)
    return places


# --- reading and decoding files


def read_bytes(
    path: Path,
    *,
    name: str,
    error: type[PhaseGateError],
    if_missing: str = "check the path; it starts at the project's root",
) -> bytes:
    """Return the file's content, or its beginning, which is enough for the reader to refuse a bigger file.

    :param if_missing: the remedy if there is no such file.
    """
    try:
        # Check before opening: opening a named pipe would block forever.
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise error(f"{name}: this is a folder, not a file", "put a file there, or take the folder away")
        if not stat.S_ISREG(mode):
            raise error(f"{name}: this is not a regular file", "put a regular file there")
        with open(path, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise error(f"{name}: there is no such file", if_missing) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error(f"{name}: can't be read: {reason}", "make it a file that you may read") from None


def decode_text(text: str | bytes, *, name: str, limit: int = MAX_BYTES, faults: Reader = _FAULTS) -> str:
    """Return the text without its byte order mark; raise the reader's error if it is too long, or not plain UTF-8."""
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > limit:
        faults.stop(Place.of(name, 1, 1), f"bigger than {limit} bytes", "remove content that phase-gate does not use")
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode()
            faults.stop(Place.of(name, *_place(before)), "not UTF-8 text", "save the file as UTF-8")
    text = text.removeprefix("\ufeff")
    if odd := _ODD_CHARACTER.search(text):
        faults.stop(
            Place.of(name, *_place(text[: odd.start()])),
            f"the character U+{ord(odd.group()):04X} is not allowed in a text file",
            "save the file as plain UTF-8 text without control characters",
        )
    return text


def _check_characters(text: str, at: Place, faults: Reader) -> None:
    if odd := find_odd_character(text):
        faults.stop(at, f"the escape makes the character {odd}", "write printable text only")


def find_odd_character(text: str) -> str | None:
    """Return the first character that is not allowed in our files, as in `U+202E`; None if there is none."""
    odd = _ODD_CHARACTER.search(text)
    return None if odd is None else f"U+{ord(odd.group()):04X}"


def _place(before: str) -> tuple[int, int]:
    """Return the line and column right after the text."""
    lines = (before.removeprefix("\ufeff") + "|").splitlines()
    return len(lines), len(lines[-1])
