"""Read Markdown by a real parser: what is a fence in a list in a quotation, no pattern can tell.

Only imported where a document has to be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from phase_gate.evidence.documents.library import drop_comments
from phase_gate.evidence.documents.pages import Block, Link, Page, Piece, name_headings, take_front_matter

if TYPE_CHECKING:
    from markdown_it.token import Token

#: Wikis of Azure DevOps write diagrams so; elsewhere it is text.
_COLONS = re.compile(r"^ {0,3}:::[ \t]*(mermaid)[ \t]*\n(.*?)(?:^ {0,3}:::[ \t]*$|\Z)", re.S | re.M)
_LANGUAGE = re.compile(r"[\s{.]*([\w+-]*)")
#: Options of a directive in MyST, in front of its content.
_OPTIONS = re.compile(r"\A(?::[\w-]+:.*\n)+")
_NAMED = re.compile(r"""\b(?:id|name)\s*=\s*["']?([^"'\s>]+)""", re.I)
_ID = re.compile(r"#([\w.-]+)")
_TARGET = re.compile(r"^\(([\w .-]+)\)=\s*$", re.M)
_BREAKS = ("softbreak", "hardbreak")


def read_markdown(text: str) -> Page:
    """Return what stands in it. Raises ImportError where the parser is not installed."""
    from markdown_it import MarkdownIt

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    body, status = take_front_matter(text)
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(body)
    blocks: list[Block] = []
    if _COLONS.search(body):
        body, blocks = _take_colons(body, tokens)
        tokens = parser.parse(body)
    pieces: list[Piece] = []
    links: list[Link] = []
    anchors: set[str] = set(_TARGET.findall(body))
    headings: list[str] = []
    level = 0
    for token in tokens:
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
            anchors.update(_NAMED.findall(token.content))
            pieces.append(Piece(line=line, text=drop_comments(token.content)))
        elif token.type == "inline":
            shown, explicit = _take_id(_text(token)) if level else (_text(token), None)
            pieces.append(Piece(line=line, text=shown, level=level))
            links += _links(token, line)
            anchors.update(name for child in token.children or () for name in _names(child))
            if level:
                headings.append(shown)
                anchors.update([explicit] if explicit else [])
    return Page(
        pieces=tuple(pieces),
        blocks=tuple(sorted(blocks, key=lambda block: block.line)),
        links=tuple(links),
        anchors=frozenset(anchors) | name_headings(headings),
        status=status,
    )


def _fence(token: Token, line: int) -> Block:
    found = _LANGUAGE.match(token.info)
    assert found is not None, "the pattern may be empty"
    content, skipped = token.content, 0
    if token.info.lstrip().startswith("{"):
        options = _OPTIONS.match(content)
        if options is not None:
            content, skipped = content[options.end() :], options[0].count("\n")
    return Block(line=line + 1 + skipped, language=found[1].lower(), text=content)


def _take_colons(body: str, tokens: list[Token]) -> tuple[str, list[Block]]:
    """Return the text without diagrams between colons, and these; what stands in a fence is an example."""
    code = {
        line for token in tokens if token.type in ("fence", "code_block") and token.map for line in range(*token.map)
    }
    blocks = []
    line, counted = 0, 0

    def take(found: re.Match[str]) -> str:
        nonlocal line, counted
        line, counted = line + body.count("\n", counted, found.start()), found.start()
        if line in code:
            return found[0]
        blocks.append(Block(line=line + 2, language=found[1], text=found[2]))
        return "\n" * found[0].count("\n")

    return _COLONS.sub(take, body), blocks


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


def _take_id(heading: str) -> tuple[str, str | None]:
    shown = heading.rstrip()
    start = shown.rfind("{")
    ids = _ID.findall(shown, start) if start >= 0 and shown.find("}", start) == len(shown) - 1 else []
    return (shown[:start].rstrip(), ids[-1]) if ids else (heading, None)


def _names(child: Token) -> list[str]:
    return _NAMED.findall(child.content) if child.type == "html_inline" else []


def _links(token: Token, line: int) -> Iterator[Link]:
    for child in token.children or ():
        if child.type in _BREAKS:
            line += 1
        target = child.attrs.get("href" if child.type == "link_open" else "src")
        if child.type in ("link_open", "image") and target:
            yield Link(line, str(target))
