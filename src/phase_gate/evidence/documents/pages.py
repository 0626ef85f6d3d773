"""A document as it was read: its text in pieces, its blocks, its links. The same for whatever it is written in.

Pure values. Line numbers count from 1, and speak of the file.
"""

from __future__ import annotations

import itertools
import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from urllib.parse import unquote

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


# --- where a link of a document points to


_TAG = re.compile(r"<[^<>]*>")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.I)
#: What a site's builder fills in.
_TEMPLATED = ("{{", "{%", "%7B", "<", "%3C")
#: How files end that documents link to. Without a slash, anything else may be a name that a builder looks up: some
#: write `[frozen](attrs.frozen)` for a class.
_FILES = frozenset(
    (
        *("md", "markdown", "mdx", "rst", "adoc", "asciidoc", "txt", "html", "htm", "pdf", "ipynb"),
        *("png", "jpg", "jpeg", "gif", "svg", "webp", "puml", "plantuml", "mmd", "mermaid", "dsl", "drawio"),
        *("py", "json", "yaml", "yml", "toml", "ini", "cfg", "csv", "xml", "js", "ts", "css", "sh", "sql"),
    )
)
#: What a link to a folder, or to a page without its suffix, may stand for.
_ENDINGS = ("", ".md", ".markdown", ".mdx", ".rst", ".adoc", "/index.md", "/README.md", "/index.rst", "/_index.md")
_PAGES = (".md", ".markdown")


class Target(Value):
    """What a link inside the project means."""

    #: Paths from the root; one of them has to be there. Empty: the page itself.
    candidates: tuple[str, ...]
    #: What stands behind `#`; empty for nothing.
    anchor: str

    def has_anchors(self, path: str) -> bool:
        """Tell whether anchors can be looked up there: those of a source, or of a page in HTML, mean something else."""
        return path.endswith(_PAGES)


def resolve(target: str, page: str) -> Target | None:
    """Return what a link on a page leads to; None if it leads outside, or that is unknown.

    :param page: its path from the root.
    """
    if _SCHEME.match(target) or target.startswith(("/", "\\", "@")) or any(mark in target for mark in _TEMPLATED):
        return None
    path, _, anchor = target.partition("#")
    path = unquote(path.partition("?")[0])
    anchor = "" if anchor.startswith(":~:") else unquote(anchor)
    if not path:
        return Target(candidates=(), anchor=anchor)
    if "/" not in path and path.rpartition(".")[2].lower() not in _FILES:
        return None
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    if whole == ".." or whole.startswith("../"):
        return None  # forges have pages above the root: issues, releases
    names = [whole if ending == "" else posixpath.normpath(f"{whole}{ending}") for ending in _ENDINGS]
    if whole.endswith((".html", ".htm")):
        names += [f"{whole.rpartition('.')[0]}{ending}" for ending in (*_PAGES, ".rst", ".adoc")]
    return Target(candidates=tuple(names), anchor=anchor)


def has_anchor(anchors: frozenset[str], anchor: str) -> bool:
    """Tell whether a page has it. `#` and `#top` every page has."""
    wanted = anchor.lower().removeprefix("user-content-")
    return wanted in ("", "top") or any(wanted == name.lower() for name in anchors)


def name_headings(headings: Iterable[str]) -> frozenset[str]:
    """Return the anchors of headings, in the ways of GitHub and of Python-Markdown."""
    names: set[str] = set()
    seen: Counter[str] = Counter()
    for heading in (_TAG.sub("", each) for each in headings):
        for name in {_as_on_github(heading), _as_by_python(heading, True), _as_by_python(heading, False)}:
            number = seen[name]
            seen[name] += 1
            names |= {name} if not number else {f"{name}-{number}", f"{name}_{number}"}
    return frozenset(names - {""})


def _as_on_github(heading: str) -> str:
    kept = "".join(
        character
        for character in heading.replace("`", "").strip().lower()
        if character in "-_ " or unicodedata.category(character)[0] in "LNM"
    )
    return kept.replace(" ", "-")


def _as_by_python(heading: str, in_ascii: bool) -> str:
    if in_ascii:
        heading = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())
