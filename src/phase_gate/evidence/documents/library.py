"""The documents of a project: which files they are, and each of them read and parsed at most once.

A page is its text in pieces, and its blocks. A real parser reads Markdown: what is a fence in a list in a quotation, no
pattern can tell. It is only imported where a document has to be read.
"""

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
from phase_gate.workflow.settings import Configuration, DocumentRules

if TYPE_CHECKING:
    from markdown_it.token import Token

Language = Literal["Mermaid", "PlantUML"]

#: Larger than any text that a person wrote: data, or an output.
MAX_BYTES = 4 * 1024 * 1024

_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}

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


class Catalogue(Value):
    """What counts as what; the rules as they stood when the cycle began, if that is known."""

    docs: tuple[str, ...]
    rules: DocumentRules

    @classmethod
    def of(cls, configuration: Configuration) -> Catalogue:
        return cls(docs=configuration.docs, rules=configuration.documents)


class Seen(Value, kw_only=False):
    """A document at one moment, as hashes: its text as it is, and what a reader gets of it."""

    content: str
    text: str


class Library:
    """Looks the files up once; a text or a page when it is asked for."""

    def __init__(self, context: EvidenceContext, catalogue: Catalogue) -> None:
        rules = catalogue.rules
        self._root = context.root
        self._texts: dict[str, str | None] = {}
        self._pages: dict[str, Page] = {}
        # The project's own choice is taken at its word, whatever a file's suffix.
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
        """Return what stands in a file; None if that is no text."""
        if path not in self._texts:
            self._texts[path] = _read(self._root / path)
        return self._texts[path]

    def page(self, path: str) -> Page:
        """Return a document, parsed. Raises ImportError where the parser is not installed."""
        if path not in self._pages:
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


def see(text: str) -> Seen:
    """Return what a document is compared by; for its reader, blanks, line ends and comments do not matter."""
    return Seen(_hash(text), _hash(" ".join(_COMMENT.sub("", text).split())))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# --- a page. Line numbers count from 1, and speak of the file.


_FRONT_MATTER = re.compile(
    r"\A(?:---[ \t]*\n(?P<yaml>.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\n(?P<toml>.*?)^\+\+\+)[ \t]*$\n?", re.S | re.M
)
_STATUS_ENTRY = re.compile(r"^status\s*[:=][ \t]*(.*)$", re.M | re.I)
#: Options of a directive in MyST, in front of its content.
_OPTIONS = re.compile(r"\A(?::[\w-]+:.*\n)+")
_LANGUAGE = re.compile(r"[\s{.]*([\w+-]*)")


class Piece(Value):
    """A heading, a paragraph, a list item or a cell. Code in it stands between backticks, emphasis is gone."""

    line: int
    text: str
    #: Of a heading, from 1; 0 for everything else.
    level: int = 0


class Block(Value):
    """A fenced or an indented block."""

    #: Of its first line of content.
    line: int
    #: In lower case; empty if it has none.
    language: str
    text: str


class Page(Value):
    pieces: tuple[Piece, ...]
    blocks: tuple[Block, ...] = ()
    #: What the front matter says the status is; None if it does not say.
    status: str | None = None


def read_markdown(text: str) -> Page:
    """Return what stands in a text. Raises ImportError where the parser is not installed."""
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
    """Return the text with its front matter blanked, so that lines keep their numbers, and the status that it names."""
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
