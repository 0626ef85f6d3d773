"""Read XML as text with places, and nothing more: no document type, no entities of its own, no names behind colons.

The result is what `config.yaml` gives for YAML, so that one reader serves both forms.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import NoReturn

from phase_gate.config.reading import Node, Place, Table, Text
from phase_gate.config.yaml import MAX_DEPTH, find_odd_character
from phase_gate.errors import TaskFileError
from phase_gate.values import Value

#: Around a text that has no root of its own; nothing in a file is called so.
_ROOT = "tasks-of-this-file"

#: How a sign is written that XML has a meaning for.
_ESCAPES = "write &amp; for & and &lt; for <, or put the text between <![CDATA[ and ]]>"

#: Where markup begins, or where it would if it were any.
_SIGN = re.compile(r"<!\[CDATA\[|<!--|<\?|&(?!(?:[A-Za-z_][\w.-]*|#[0-9]+|#x[0-9A-Fa-f]+);)|<(?![A-Za-z_/!?])")
_ENDS = {"<![CDATA[": "]]>", "<!--": "-->", "<?": "?>"}


class XmlElement(Value):
    """One element: attributes, the elements in it, and the text that stands between them."""

    tag: str
    attributes: Table
    children: tuple[XmlElement, ...]
    text: str
    at: Place

    @property
    def key(self) -> Text:
        """The tag, as the key of a table."""
        return Text.of(self.tag, self.at, self.tag)

    @property
    def inner_text(self) -> Text:
        """The text without its indentation; never a number or a boolean."""
        return Text.of(textwrap.dedent(self.text.expandtabs(4)).strip(), self.at, self.tag)


class _Open:
    """An element whose end has not come yet."""

    def __init__(self, tag: str, attributes: list[str], at: Place) -> None:
        self.tag, self.at = tag, at
        self.attributes = dict(zip(attributes[::2], attributes[1::2], strict=True))
        self.children: list[XmlElement] = []
        self.pieces: list[str] = []

    def close(self, refuse: Callable[[Place, str, str], NoReturn]) -> XmlElement:
        text = "".join(self.pieces)
        for each in (text, *self.attributes.values()):
            if odd := find_odd_character(each):
                problem = f"the character {odd} can't stand in <{self.tag}>"
                refuse(self.at, problem, "write printable text only")
        rows: dict[str, Node] = {
            Text.of(key, self.at, key): Text.of(value, self.at, key, is_plain=True)
            for key, value in self.attributes.items()
        }
        return XmlElement(
            tag=self.tag,
            attributes=Table.of(rows, self.at, self.tag),
            children=tuple(self.children),
            text=text,
            at=self.at,
        )


def read_xml(text: str, *, name: str) -> tuple[XmlElement, ...]:
    """Return the elements at the top: one root, or several tasks without one."""
    from xml.parsers import expat  # here, not above: few files are XML

    # A head has to come first; what follows it has a root, or is refused for having none.
    has_head = text.lstrip().startswith(("<?xml", "<!DOCTYPE"))
    before = "" if has_head else f"<{_ROOT}>"
    # With an encoding of ours, whatever the file says of its own: the text is decoded already.
    parser = expat.ParserCreate("utf-8")
    parser.ordered_attributes = True
    parser.buffer_text = True
    stack = [_Open("", [], Place.of(name, 1, 1))]

    def refuse(at: Place, problem: str, remedy: str) -> NoReturn:
        raise TaskFileError(f"{at}: {problem}", remedy)

    def place(line: int, offset: int) -> Place:
        return Place.of(name, line, max(1, offset + 1 - (len(before) if line == 1 else 0)))

    def here() -> Place:
        return place(parser.CurrentLineNumber, parser.CurrentColumnNumber)

    def start(tag: str, attributes: list[str]) -> None:
        if len(stack) > MAX_DEPTH:
            refuse(here(), f"nested deeper than {MAX_DEPTH} levels", "flatten the file")
        stack.append(_Open(tag, attributes, here()))

    def end(_tag: str) -> None:
        closed = stack.pop().close(refuse)
        stack[-1].children.append(closed)

    def doctype(*_declared: object) -> None:
        refuse(here(), "a document type is not read", "take the <!DOCTYPE …> out")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda data: stack[-1].pieces.append(data)
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = doctype
    try:
        parser.Parse(before.encode(), False)
        parser.Parse(escape_loose_signs(text).encode(), False)
        parser.Parse(before.replace("<", "</").encode(), True)
    except expat.ExpatError as error:
        problem = f"not XML: {expat.ErrorString(error.code)}"
        refuse(place(error.lineno, error.offset), problem, f"close every element, and {_ESCAPES}")
    (root,) = stack[0].children
    return (root,) if has_head else root.children


def escape_loose_signs(text: str) -> str:
    """Return the text with `&` and `<` escaped where they can't be markup, as in `tsc --noEmit && npm test`."""
    pieces: list[str] = []
    at = 0
    while (found := _SIGN.search(text, at)) is not None:
        sign = found.group()
        pieces.append(text[at : found.start()])
        if (closing := _ENDS.get(sign)) is not None:
            end = text.find(closing, found.end())
            stop = len(text) if end < 0 else end + len(closing)
            pieces.append(text[found.start() : stop])
            at = stop
        else:
            pieces.append("&amp;" if sign == "&" else "&lt;")
            at = found.end()
    pieces.append(text[at:])
    return "".join(pieces)
