"""A document as it is read: its text in pieces, and its blocks. Line numbers count from 1, and speak of the file.

A real parser reads Markdown: what is a fence in a list in a quotation, no pattern can tell. It is only imported where a
document has to be read.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from phase_gate.evidence.documents.library import drop_comments
from phase_gate.values import Value

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(
    r"\A(?:---[ \t]*\n(?P<yaml>.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\n(?P<toml>.*?)^\+\+\+)[ \t]*$\n?", re.S | re.M
)
_STATUS_ENTRY = re.compile(r"^status\s*[:=][ \t]*(.*)$", re.M | re.I)


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


class Section(Value):
    """A heading with what stands below it, up to the next heading of any level."""

    #: None for what stands in front of the first heading.
    heading: Piece | None
    pieces: tuple[Piece, ...]
    blocks: tuple[Block, ...]
    #: Whether a deeper heading follows: the section is a frame for others.
    has_children: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.blocks and not any(piece.text.strip() for piece in self.pieces)


def split_sections(page: Page) -> tuple[Section, ...]:
    """Return the page in sections; the first may have no heading."""
    starts = [index for index, piece in enumerate(page.pieces) if piece.level or index == 0]
    sections = []
    for start, end in itertools.pairwise([*starts, len(page.pieces)]):
        heading = page.pieces[start] if page.pieces[start].level else None
        following = page.pieces[end] if end < len(page.pieces) else None
        from_line = 0 if heading is None else heading.line
        to_line = None if following is None else following.line
        section = Section(
            heading=heading,
            pieces=page.pieces[start if heading is None else start + 1 : end],
            blocks=tuple(
                block for block in page.blocks if block.line > from_line and (to_line is None or block.line < to_line)
            ),
            has_children=heading is not None and following is not None and following.level > heading.level,
        )
        if heading is not None or not section.is_empty:
            sections.append(section)
    return tuple(sections)


def take_front_matter(text: str) -> tuple[str, str | None]:
    """Return the text with its front matter blanked, so that lines keep their numbers, and the status that it names."""
    found = _FRONT_MATTER.match(text)
    if found is None:
        return text, None
    matter = found["yaml"] or found["toml"] or ""
    status = _STATUS_ENTRY.search(matter)
    blank = "\n" * found[0].count("\n")
    return blank + text[found.end() :], None if status is None else status[1].partition(" #")[0].strip().strip("\"'")


# --- reading


#: Options of a directive in MyST, in front of its content.
_OPTIONS = re.compile(r"\A(?::[\w-]+:.*\n)+")
_LANGUAGE = re.compile(r"[\s{.]*([\w+-]*)")
_BREAKS = ("softbreak", "hardbreak")


def read_markdown(text: str) -> Page:
    """Return what stands in a text. Raises ImportError where the parser is not installed."""
    from markdown_it import MarkdownIt

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    body, status = take_front_matter(text)
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
            pieces.append(Piece(line=line, text=drop_comments(token.content)))
        elif token.type == "inline":
            pieces.append(Piece(line=line, text=_text(token), level=level))
    return Page(pieces=tuple(pieces), blocks=tuple(blocks), status=status)


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
        elif child.type in _BREAKS:
            rows.append("\n")
        elif child.type in ("text", "image") or (
            child.type == "html_inline" and not child.content.startswith(("<!--", "</"))
        ):
            rows.append(child.content)
    return "".join(rows)
