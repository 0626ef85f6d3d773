"""Change a JSON file by inserting and cutting text: the user's order, comments and spaces stay.

Pure. Reads comments and trailing commas, which editors and agents allow in their settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from phase_gate.values import Value, field

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*", re.S)
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_INDENT = re.compile(r"^([ \t]+)[\"{\[]", re.M)
_STRINGS = json.JSONDecoder()
#: Settings are flat; what nests deeper is none.
_DEPTH = 100


class Node(Value):
    """A value, and where it stands in the text."""

    start: int
    end: int
    value: Any
    #: Of an object, by key; and where each key begins.
    members: Mapping[str, Node] = field(default_factory=dict)
    keys: Mapping[str, int] = field(default_factory=dict)
    #: Of an array.
    items: tuple[Node, ...] = ()

    @property
    def children(self) -> list[tuple[int, int]]:
        """Where its parts begin and end, keys included."""
        spans = [(self.keys[key], node.end) for key, node in self.members.items()]
        return sorted([*spans, *((item.start, item.end) for item in self.items)])


class Insertion(Value, kw_only=False):
    offset: int
    text: str


def parse(text: str) -> Node:
    """Return the document. Raises ValueError with the line for what is none."""
    node = _Parser(text).value(_skip(text, 0), _DEPTH)
    if _skip(text, node.end) != len(text):
        raise ValueError(f"line {_line(text, node.end)}: more than one value")
    return node


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None, "it matches nothing, too"
    return found.end()


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, at: int, depth: int) -> Node:
        sign = self.text[at : at + 1]
        if sign in ("{", "[") and depth:
            return self.container(at, depth, is_object=sign == "{")
        if sign == '"':
            value, end = self.string(at)
            return Node(start=at, end=end, value=value)
        found = _PLAIN.match(self.text, at)
        if found is None:
            raise self.error(at, "a value is missing")
        return Node(start=at, end=found.end(), value=json.loads(found[0]))

    def container(self, at: int, depth: int, *, is_object: bool) -> Node:
        closing = "}" if is_object else "]"
        members: dict[str, Node] = {}
        keys: dict[str, int] = {}
        items: list[Node] = []
        here = _skip(self.text, at + 1)
        while self.text[here : here + 1] != closing:
            if is_object:
                start = here
                key, here = self.string(here)
                here = self.expect(":", _skip(self.text, here))
                members[key], keys[key] = self.value(_skip(self.text, here), depth - 1), start
                here = members[key].end
            else:
                items.append(self.value(here, depth - 1))
                here = items[-1].end
            here = _skip(self.text, here)
            if self.text[here : here + 1] != closing:
                here = _skip(self.text, self.expect(",", here))
        value = {key: node.value for key, node in members.items()} if is_object else [node.value for node in items]
        return Node(start=at, end=here + 1, value=value, members=members, keys=keys, items=tuple(items))

    def string(self, at: int) -> tuple[str, int]:
        if self.text[at : at + 1] != '"':
            raise self.error(at, "a text in double quotes is missing")
        value, end = _STRINGS.raw_decode(self.text, at)
        return str(value), end

    def expect(self, sign: str, at: int) -> int:
        if self.text[at : at + 1] != sign:
            raise self.error(at, f"{sign!r} is missing")
        return at + 1

    def error(self, at: int, problem: str) -> ValueError:
        return ValueError(f"line {_line(self.text, at)}: {problem}")


def insert_item(text: str, keys: Sequence[str], item: object) -> list[Insertion]:
    """Return what to insert so that the array under these keys ends with the item; what is missing is made.

    Raises ValueError where something else stands in the way.
    """
    node = parse(text)
    for depth, key in enumerate(keys):
        if not isinstance(node.value, dict):
            raise ValueError(f"line {_line(text, node.start)}: this is no object")
        if key not in node.members:
            value: object = [item]
            for outer in reversed(keys[depth + 1 :]):
                value = {outer: value}
            return _insert(text, node, depth + 1, f"{json.dumps(key)}: ", value)
        node = node.members[key]
    if not isinstance(node.value, list):
        raise ValueError(f"line {_line(text, node.start)}: this is no array")
    return _insert(text, node, len(keys) + 1, "", item)


def insert_member(text: str, key: str, value: object) -> list[Insertion]:
    """Return what to insert so that the outermost object has the member."""
    return _insert(text, parse(text), 1, f"{json.dumps(key)}: ", value)


def _insert(text: str, node: Node, depth: int, label: str, value: object) -> list[Insertion]:
    newline = "\r\n" if "\r\n" in text else "\n"
    found = _INDENT.search(text)
    unit = found[1] if found else "  "
    indent = newline + unit * depth
    shown = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", indent)
    closing = node.end - 1
    children = node.children
    # Behind whatever stands in it last, a comment too.
    at = len(text[:closing].rstrip())
    inserted = f"{indent}{label}{shown}"
    if "\n" not in text[at:closing]:
        inserted += newline + unit * (depth - 1)
    if not children or _has_comma(text, children[-1][1], closing):
        return [Insertion(at, inserted)]
    end = children[-1][1]
    return [Insertion(at, f",{inserted}")] if at == end else [Insertion(end, ","), Insertion(at, inserted)]


def _has_comma(text: str, at: int, closing: int) -> bool:
    return text[_skip(text, at) : closing].startswith(",")


def apply_insertions(text: str, insertions: Sequence[Insertion]) -> str:
    for each in sorted(insertions, key=lambda each: each.offset, reverse=True):
        text = text[: each.offset] + each.text + text[each.offset :]
    return text


def cut_child(text: str, node: Node, index: int) -> str:
    """Return the text without one part of an object or an array, and without the comma that it leaves."""
    spans = node.children
    start, end = spans[index]
    if index > 0:
        return text[: spans[index - 1][1]] + text[end:]
    if len(spans) > 1:
        return text[:start] + text[spans[1][0] :]
    after = _skip(text, end)
    end = after + 1 if text[after : after + 1] == "," else end
    return text[: node.start + 1] + text[end:].lstrip()
