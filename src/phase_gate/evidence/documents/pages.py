"""A document as it was read: its text in pieces, its blocks, its links. The same for whatever it is written in.

Pure values. Line numbers count from 1, and speak of the file.
"""

from __future__ import annotations

import itertools
import re

from phase_gate.values import Value

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
    """A fenced block, or what other languages have for it."""

    #: Of its first line of content.
    line: int
    #: In lower case; empty if it has none.
    language: str
    text: str


class Link(Value, kw_only=False):
    line: int
    #: As written, percent-encoded.
    target: str


class Page(Value):
    pieces: tuple[Piece, ...]
    blocks: tuple[Block, ...] = ()
    links: tuple[Link, ...] = ()
    #: What a link may name behind `#`.
    anchors: frozenset[str] = frozenset()
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
