"""Which files are documents and diagrams by their names, and what a document is compared by.

Pure, and light: this is all that the beginning of a cycle needs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Literal

from phase_gate.values import Value

Language = Literal["Mermaid", "PlantUML", "Structurizr"]

#: Texts in markup that we can read; what else lies among the documents is no document.
DOCUMENT_SUFFIXES = (".md", ".markdown", ".rst", ".adoc", ".asciidoc")

#: Files that are diagrams. A `.dsl` may be anything: only one that begins with a workspace is.
DIAGRAM_SUFFIXES: Mapping[str, Language] = {
    ".mmd": "Mermaid",
    ".mermaid": "Mermaid",
    ".puml": "PlantUML",
    ".plantuml": "PlantUML",
    ".dsl": "Structurizr",
}

#: One that is never closed goes on to the end, as it does for whoever reads the page.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)


class Seen(Value, kw_only=False):
    """A document at one moment, as hashes: its text as it is, and what a reader gets of it."""

    content: str
    text: str


def see(text: str) -> Seen:
    return Seen(_hash(text), identify(text))


def identify(text: str) -> str:
    """Return a hash of what stands in a document; blanks, line ends and comments do not matter."""
    return _hash(" ".join(drop_comments(text).split()))


def drop_comments(text: str) -> str:
    """Return the text without HTML comments: nobody who reads the document sees them."""
    return _COMMENT.sub("", text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
