"""Read reStructuredText, as far as it matters here: headings, paragraphs, and blocks that are no prose.

Pure, and simple on purpose: a parser of the language is a large program. Links are not read.
"""

from __future__ import annotations

import re

from phase_gate.evidence.documents.pages import Block, Page, Piece

_UNDERLINE = re.compile(r"([!-/:-@[-`{-~])\1{2,}\s*$")
_DIRECTIVE = re.compile(r"\.\. +(?:\|[^|]+\| +)?([\w:-]+?)::(?:\s+(.*))?$")
_FIELD = re.compile(r":[\w -]+:(?:\s|$)")
#: Directives whose content is prose; that of all others is code, a diagram, or a table of something.
_PROSE_DIRECTIVES = frozenset(
    (
        *("note", "warning", "tip", "hint", "important", "caution", "attention", "danger", "error", "admonition"),
        *("seealso", "versionadded", "versionchanged", "deprecated", "topic", "sidebar", "epigraph", "pull-quote"),
        *("only", "container", "rst-class", "list-table"),
    )
)
_RST_LANGUAGES = {"uml": "plantuml"}
_LIST_ITEM = re.compile(r"(?:[-*+•]|\d+[.)]|#\.|\.+|\*+)\s+")


def read_restructured(text: str) -> Page:
    lines = _lines(text)
    pieces: list[Piece] = []
    blocks: list[Block] = []
    levels: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        stripped = line.strip()
        if not stripped or (_UNDERLINE.match(line) and not _is_overline(lines, index)):
            index += 1
        elif _is_overline(lines, index) or _is_underlined(lines, index):
            over = _is_overline(lines, index)
            title = lines[index + 1] if over else line
            mark = f"{line[0]}o" if over else lines[index + 1][0]
            if mark not in levels:
                levels.append(mark)
            pieces.append(Piece(line=index + 1 + over, text=title.strip(), level=levels.index(mark) + 1))
            index += 3 if over else 2
        elif stripped.startswith(".. ") or stripped == "..":
            index = _explicit(lines, index, blocks)
        else:
            start = index
            index = _paragraph_end(lines, index)
            pieces += _split_items(lines, start, index)
            if lines[index - 1].rstrip().endswith("::"):
                end = _indented_end(lines, index, _indent(line))
                blocks.append(Block(line=index + 1, language="", text="\n".join(lines[index:end])))
                index = end
    return Page(pieces=tuple(pieces), blocks=tuple(blocks))


def _is_underlined(lines: list[str], index: int) -> bool:
    following = lines[index + 1] if index + 1 < len(lines) else ""
    return (
        bool(lines[index].strip())
        and _indent(lines[index]) == 0
        and bool(_UNDERLINE.match(following))
        and len(following.rstrip()) >= len(lines[index].rstrip())
    )


def _is_overline(lines: list[str], index: int) -> bool:
    if index + 2 >= len(lines) or not _UNDERLINE.match(lines[index]):
        return False
    return bool(lines[index + 1].strip()) and lines[index + 2].rstrip() == lines[index].rstrip()


def _explicit(lines: list[str], index: int, blocks: list[Block]) -> int:
    """Take a directive or a comment; return the line behind it. What is prose is left to be read."""
    found = _DIRECTIVE.match(lines[index].strip())
    if found is not None and found[1] in _PROSE_DIRECTIVES:
        return index + 1
    end = _indented_end(lines, index + 1, _indent(lines[index]))
    if found is not None:
        start = index + 1
        while start < end and (not lines[start].strip() or _FIELD.match(lines[start].strip())):
            start += 1
        rows = lines[start:end]
        margin = min((_indent(row) for row in rows if row.strip()), default=0)
        language = _RST_LANGUAGES.get(found[1], found[1])
        # One without content stands for what it names: a file, an image, a table of contents.
        text = "\n".join(row[margin:] for row in rows) if rows else found[2] or ""
        blocks.append(Block(line=min(start, end - 1) + 1, language=language, text=text))
    return end


def _indented_end(lines: list[str], index: int, margin: int) -> int:
    end = index
    while index < len(lines) and (not lines[index].strip() or _indent(lines[index]) > margin):
        index += 1
        if lines[index - 1].strip():
            end = index
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _lines(text: str) -> list[str]:
    """Return the lines as editors count them: other separators of Unicode end none."""
    return text.replace("\r\n", "\n").replace("\r", "\n").expandtabs().split("\n")


def _paragraph_end(lines: list[str], index: int) -> int:
    index += 1
    while index < len(lines) and lines[index].strip():
        index += 1
    return index


def _split_items(lines: list[str], start: int, end: int) -> list[Piece]:
    """Return a paragraph, or the items of a list: each begins a piece of its own."""
    rows: list[tuple[int, list[str]]] = []
    for number in range(start, end):
        text = lines[number].strip()
        found = _LIST_ITEM.match(text)
        if found is not None or not rows:
            rows.append((number, [text[found.end() :] if found is not None else text]))
        else:
            rows[-1][1].append(text)
    return [
        Piece(line=number + 1, text="\n".join(texts).strip("|").strip().removesuffix("::")) for number, texts in rows
    ]
