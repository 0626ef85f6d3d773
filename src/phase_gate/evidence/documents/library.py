"""Find the documents of a project, and read and parse each of them at most once.

A page consists of pieces of text, and blocks. It needs a real Markdown parser, because patterns can't recognize a
fence in a list in a quotation. The parser is imported only when a document has to be parsed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from phase_gate.evidence.context import EvidenceContext
from phase_gate.storage.fingerprint import compile_globs
from phase_gate.values import Value
from phase_gate.workflow.names import REPORT_TITLE
from phase_gate.workflow.settings import Configuration, DocumentRules

if TYPE_CHECKING:
    from markdown_it.token import Token

Language = Literal["Mermaid", "PlantUML"]

#: A larger file is data or output, not written text.
MAX_BYTES = 4 * 1024 * 1024

#: Supported markup. Other files in the folders of documents are not documents.
DOCUMENT_SUFFIXES = (".md", ".markdown")

#: Files that are diagrams.
DIAGRAM_SUFFIXES: Mapping[str, Language] = {
    ".mmd": "Mermaid",
    ".mermaid": "Mermaid",
    ".puml": "PlantUML",
    ".plantuml": "PlantUML",
}

#: A comment that is never closed extends to the end, as it does on the rendered page.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)


class Catalogue(Value):
    """The settings that determine which files are documents, diagrams and decision records."""

    docs: tuple[str, ...]
    rules: DocumentRules

    @classmethod
    def of(cls, configuration: Configuration) -> Catalogue:
        return cls(docs=configuration.docs, rules=configuration.evidence.documents)


class Library:
    """Lists the files once. Reads a text, and parses a page, when it is needed."""

    def __init__(self, context: EvidenceContext, catalogue: Catalogue) -> None:
        rules = catalogue.rules
        self._root = context.root
        self._texts: dict[str, str | None] = {}
        self._pages: dict[str, Page] = {}
        # If the project has its own globs, files with any suffix match.
        included = compile_globs(catalogue.docs if rules.include is None else rules.include)
        suffixes = DOCUMENT_SUFFIXES if rules.include is None else ("",)
        excluded, is_decision = compile_globs(rules.exclude), compile_globs(rules.decisions)

        def is_document(path: str) -> bool:
            return included(path) and path.lower().endswith(suffixes)

        def is_wanted(path: str) -> bool:
            return not excluded(path) and (is_document(path) or is_diagram(path) or is_decision(path))

        found = [path for path in context.list_files(is_wanted) if self._is_text(path)]
        self.documents = [path for path in found if is_document(path) and not is_diagram(path)]
        self.diagrams = [path for path in found if is_diagram(path)]
        self.decisions = [path for path in found if is_decision(path) and not is_diagram(path)]

    def text(self, path: str) -> str | None:
        """Return the text of a file. None if it is not a text file."""
        if path not in self._texts:
            self._texts[path] = _read(self._root / path)
        return self._texts[path]

    def page(self, path: str) -> Page:
        """Return a parsed document. Raises ImportError if the parser is not installed."""
        if path not in self._pages:
            self._pages[path] = read_markdown(self.text(path) or "")
        return self._pages[path]

    def seen(self) -> dict[str, str]:
        """Return document -> a hash of its visible text, which ignores whitespace and comments."""
        return {path: _hash(self.text(path) or "") for path in self.documents}

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
    text = content.decode("utf-8-sig", "replace")
    return None if "\0" in text else text


def _hash(text: str) -> str:
    visible = " ".join(_COMMENT.sub("", text).split())
    return hashlib.sha256(visible.encode("utf-8", "surrogatepass")).hexdigest()


# --- a page. Line numbers start at 1, and refer to the file.


_FRONT_MATTER = re.compile(
    r"\A(?:---[ \t]*\n(?P<yaml>.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\n(?P<toml>.*?)^\+\+\+)[ \t]*$\n?", re.S | re.M
)
_STATUS_ENTRY = re.compile(r"^status\s*[:=][ \t]*(.*)$", re.M | re.I)
#: Options of a MyST directive, before its content.
_OPTIONS = re.compile(r"\A(?::[\w-]+:.*\n)+")
_LANGUAGE = re.compile(r"[\s{.]*([\w+-]*)")


class Piece(Value):
    """A heading, a paragraph, a list item or a cell. Code in it is in backticks, and emphasis is removed."""

    line: int
    text: str
    #: The level of a heading, from 1. 0 for other pieces.
    level: int = 0


class Block(Value):
    """A fenced or an indented block."""

    #: The number of its first line of content.
    line: int
    #: In lower case. Empty if the block has no language.
    language: str
    text: str


class Page(Value):
    pieces: tuple[Piece, ...]
    blocks: tuple[Block, ...] = ()
    #: The status in the front matter, or None.
    status: str | None = None


def read_markdown(text: str) -> Page:
    """Parse a text. Raises ImportError if the parser is not installed."""
    from markdown_it import MarkdownIt

    body, status = _take_front_matter(text.replace("\r\n", "\n").replace("\r", "\n"))
    blocks: list[Block] = []
    pieces: list[Piece] = []
    level = 0
    for token in MarkdownIt("commonmark").enable("table").parse(body):
        line = (token.map or [0])[0] + 1
        if token.type == "heading_open":
            level = int(token.tag[1:])
        elif token.type == "heading_close":
            level = 0
        elif token.type == "fence":
            blocks.append(_fence(token, line))
        elif token.type == "code_block":
            blocks.append(Block(line=line, language="", text=token.content))
        elif token.type == "html_block":
            pieces.append(Piece(line=line, text=_COMMENT.sub("", token.content)))
        elif token.type == "inline":
            pieces.append(Piece(line=line, text=_text(token), level=level))
    return Page(pieces=tuple(pieces), blocks=tuple(blocks), status=status)


def _take_front_matter(text: str) -> tuple[str, str | None]:
    """Return the text with its front matter replaced by blank lines, and the status in the front matter."""
    found = _FRONT_MATTER.match(text)
    if found is None:
        return text, None
    status = _STATUS_ENTRY.search(found["yaml"] or found["toml"] or "")
    blank = "\n" * found[0].count("\n")
    return blank + text[found.end() :], None if status is None else status[1].partition(" #")[0].strip().strip("\"'")


def _fence(token: Token, line: int) -> Block:
    found = _LANGUAGE.match(token.info)
    assert found is not None, "the pattern may be empty"
    options = _OPTIONS.match(token.content) if token.info.lstrip().startswith("{") else None
    skipped = "" if options is None else options[0]
    text = token.content.removeprefix(skipped)
    return Block(line=line + 1 + skipped.count("\n"), language=found[1].lower(), text=text)


def _text(token: Token) -> str:
    rows = []
    for child in token.children or ():
        if child.type == "code_inline":
            rows.append(f"`{child.content}`")
        elif child.type in ("softbreak", "hardbreak"):
            rows.append("\n")
        elif child.type in ("text", "image") or (
            child.type == "html_inline" and not child.content.startswith(("<!--", "</"))
        ):
            rows.append(child.content)
    return "".join(rows)
