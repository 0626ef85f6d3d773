"""The documents of a project, each read and parsed at most once."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from phase_gate.evidence.context import EvidenceContext
from phase_gate.storage.tree.fingerprint import compile_globs
from phase_gate.values import Value
from phase_gate.workflow.names import REPORT_TITLE
from phase_gate.workflow.settings import Configuration

if TYPE_CHECKING:
    from phase_gate.evidence.documents.pages import Page


#: Larger than any text that a person wrote: data, or an output.
MAX_BYTES = 4 * 1024 * 1024

_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


class Catalogue(Value):
    """What counts as what; the rules as they stood when the cycle began, if that is known."""

    include: tuple[str, ...]
    #: Whether `include` is the project's own: then it is taken at its word, whatever a file's suffix.
    is_own: bool
    exclude: tuple[str, ...]
    minimum_words: int
    decisions: tuple[str, ...]

    @classmethod
    def of(cls, configuration: Configuration) -> Catalogue:
        rules = configuration.documents
        return cls(
            include=configuration.docs if rules.include is None else rules.include,
            is_own=rules.include is not None,
            exclude=rules.exclude,
            minimum_words=rules.minimum_words,
            decisions=rules.decisions,
        )


class Library:
    """Looks the files up once; a text or a page when it is asked for."""

    def __init__(self, context: EvidenceContext, catalogue: Catalogue) -> None:
        self._root = context.root
        self._texts: dict[str, str | None] = {}
        self._pages: dict[str, Page] = {}
        included, excluded = compile_globs(catalogue.include), compile_globs(catalogue.exclude)
        is_decision = compile_globs(catalogue.decisions)

        def is_document(path: str) -> bool:
            return included(path) and (catalogue.is_own or path.lower().endswith(DOCUMENT_SUFFIXES))

        def is_wanted(path: str) -> bool:
            return not excluded(path) and (is_document(path) or is_diagram(path) or is_decision(path))

        found = [path for path in context.list_files(is_wanted) if self._is_text(path)]
        self.documents = [path for path in found if is_document(path) and not is_diagram(path)]
        self.diagrams = [path for path in found if is_diagram(path)]
        self.decisions = [path for path in found if is_decision(path) and not is_diagram(path)]

    def text(self, path: str) -> str | None:
        """Return what stands in a file; None if that is no text."""
        if path not in self._texts:
            self._texts[path] = _read(self._root / path)
        return self._texts[path]

    def page(self, path: str) -> Page:
        """Return a document, parsed. Raises ImportError where the parser is not installed."""
        if path not in self._pages:
            from phase_gate.evidence.documents.pages import read_markdown

            self._pages[path] = read_markdown(self.text(path) or "")
        return self._pages[path]

    def seen(self) -> dict[str, Seen]:
        """Return the documents as they are now."""
        return {path: see(self.text(path) or "") for path in self.documents}

    def _is_text(self, path: str) -> bool:
        text = self.text(path)
        return text is not None and not text.startswith(REPORT_TITLE)


def is_diagram(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in DIAGRAM_SUFFIXES


def _read(path: Path) -> str | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    encoding = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    text = content.decode(encoding, "replace")
    return None if "\0" in text else text


# --- which files are documents and diagrams by their names, and what a document is compared by


Language = Literal["Mermaid", "PlantUML"]

#: Texts in markup that we can read; what else lies among the documents is no document.
DOCUMENT_SUFFIXES = (".md", ".markdown")

#: Files that are diagrams.
DIAGRAM_SUFFIXES: Mapping[str, Language] = {
    ".mmd": "Mermaid",
    ".mermaid": "Mermaid",
    ".puml": "PlantUML",
    ".plantuml": "PlantUML",
}

#: One that is never closed goes on to the end, as it does for a reader of the page.
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
    """Return the text without HTML comments: readers of the document do not see them."""
    return _COMMENT.sub("", text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
