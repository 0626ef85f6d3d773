"""Read XML as text with places, and nothing more: no document type, no entities of its own, no names behind colons.

The result is what `config.yaml` gives for YAML, so that one reader serves both forms.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import NoReturn

from phase_gate.config.yaml import MAX_DEPTH, YamlScalar, find_odd_character
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
    attributes: tuple[YamlScalar, ...]
    names: tuple[str, ...]
    children: tuple[XmlElement, ...]
    text: str
    line: int
    column: int

    def scalar(self) -> YamlScalar:
        """Return the text without its indentation; never a number or a boolean."""
        text = textwrap.dedent(self.text.expandtabs(4)).strip()
        return YamlScalar(text=text, is_plain=False, line=self.line, column=self.column)


class _Open:
    """An element whose end has not come yet."""

    def __init__(self, tag: str, attributes: list[str], *, line: int, column: int) -> None:
        self.tag, self.line, self.column = tag, line, column
        self.names, self.values = tuple(attributes[::2]), attributes[1::2]
        self.children: list[XmlElement] = []
        self.pieces: list[str] = []

    def close(self, refuse: Callable[[int, int, str, str], NoReturn]) -> XmlElement:
        text = "".join(self.pieces)
        for each in (text, *self.values):
            if odd := find_odd_character(each):
                problem = f"the character {odd} can't stand in <{self.tag}>"
                refuse(self.line, self.column, problem, "write printable text only")
        place = {"line": self.line, "column": self.column}
        return XmlElement(
            tag=self.tag,
            attributes=tuple(YamlScalar(text=value, is_plain=True, **place) for value in self.values),
            names=self.names,
            children=tuple(self.children),
            text=text,
            **place,
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
    stack = [_Open("", [], line=1, column=1)]

    def refuse(line: int, column: int, problem: str, remedy: str) -> NoReturn:
        raise TaskFileError(f"{name}:{line}:{max(column, 1)}: {problem}", remedy)

    def place() -> tuple[int, int]:
        line = parser.CurrentLineNumber
        return line, parser.CurrentColumnNumber + 1 - (len(before) if line == 1 else 0)

    def start(tag: str, attributes: list[str]) -> None:
        line, column = place()
        if len(stack) > MAX_DEPTH:
            refuse(line, column, f"nested deeper than {MAX_DEPTH} levels", "flatten the file")
        stack.append(_Open(tag, attributes, line=line, column=column))

    def end(_tag: str) -> None:
        closed = stack.pop().close(refuse)
        stack[-1].children.append(closed)

    def doctype(*_declared: object) -> None:
        refuse(*place(), "a document type is not read", "take the <!DOCTYPE …> out")

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
        line = error.lineno
        column = error.offset + 1 - (len(before) if line == 1 else 0)
        refuse(line, column, f"not XML: {expat.ErrorString(error.code)}", f"close every element, and {_ESCAPES}")
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
