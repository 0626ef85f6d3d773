"""Read architecture decision records: the form of adr-tools, and that of MADR.

Pure. A record has a number in its name, and says what its status is, what the problem was, what was decided and what
follows from that. In MADR what follows is an optional part; the outcome has to say something itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from phase_gate.evidence.documents.library import Page, Piece
from phase_gate.evidence.documents.rules import is_left_over

#: 0001-title.md, 12_title.md, ADR-003-title.md, adr0004.md
_NUMBERED = re.compile(r"(?:adr[-_ ]?)?\d{1,5}(?:[-_. ].*)?\.[a-z]+$", re.I)

#: How the headings of each part begin.
PARTS: Mapping[str, tuple[str, ...]] = {
    "Status": ("status",),
    "Context": ("context", "problem", "background", "issue", "motivation"),
    "Decision": ("decision", "outcome", "resolution"),
    "Consequences": (
        *("consequence", "positive consequence", "negative consequence", "implication", "impact", "result"),
        *("pros and cons", "trade-off"),
    ),
}
#: Headings that begin so, and are about something else.
_OTHERS = ("decision driver", "decision maker", "decision-maker", "decision criteria")
#: The heading by which a record is one of MADR's.
_OUTCOME = "decision outcome"

_NUMBERING = re.compile(r"^[\d.)\s]+|[^\w\s'-]")
_STATUS_LINE = re.compile(r"^\W*status\b\W*?[:|=][\s*_|:]*(.*)$", re.I | re.M)

#: Characters of a piece that are looked through for a status: it stands at the beginning, or it is none.
_LOOKED_AT = 1000

#: `proposed | accepted | …` is what a template offers.
_ALTERNATIVES = re.compile(r"\w\s*\|\s*\w")


def is_numbered(path: str) -> bool:
    return _NUMBERED.match(path.rpartition("/")[2]) is not None


def find_missing(page: Page) -> tuple[str, ...]:
    """Return what a record lacks, as words for people; nothing if it is whole."""
    found = _parts(page)
    missing = []
    status = _status(page, found)
    if status is None:
        missing.append("a status")
    elif not _is_status(status):
        missing.append(f"a real status ({' '.join(status.split())[:40] or 'it is empty'})")
    is_madr = any(piece.level and _heading(piece).startswith(_OUTCOME) for piece in page.pieces)
    for part in ("Context", "Decision") if is_madr else ("Context", "Decision", "Consequences"):
        texts = found.get(part)
        if texts is None:
            missing.append(f'a section "{part}"')
        elif not any(len(text.split()) > 1 and not is_left_over(text) for text in texts):
            missing.append(f'text under "{part}"')
    return tuple(missing)


def _heading(piece: Piece) -> str:
    return " ".join(_NUMBERING.sub("", piece.text.lower()).split())


def _parts(page: Page) -> dict[str, list[str]]:
    """Return the texts of each part that has a heading, those below deeper headings included."""
    found: dict[str, list[str]] = {}
    for index, piece in enumerate(page.pieces):
        # The title is about the matter, not a part: "Decision on the database".
        part = _part_of(piece) if piece.level > 1 or (piece.level and index) else None
        if part is None:
            continue
        following = page.pieces[index + 1 :]
        end = next((n for n, each in enumerate(following) if 0 < each.level <= piece.level), len(following))
        until = following[end].line if end < len(following) else None
        texts = found.setdefault(part, [])
        texts += [each.text for each in following[:end] if not each.level]
        texts += [b.text for b in page.blocks if b.line > piece.line and (until is None or b.line < until)]
    return found


def _part_of(piece: Piece) -> str | None:
    heading = _heading(piece)
    if heading.startswith(_OTHERS):
        return None
    return next((part for part, words in PARTS.items() if heading.startswith(words)), None)


def _status(page: Page, found: Mapping[str, list[str]]) -> str | None:
    """Return what it says its status is, wherever it says so; None if it does not say."""
    if page.status is not None:
        return page.status
    if "Status" in found:
        return next((text for text in found["Status"] if text.strip()), "")
    # A line, a list item or a row of a table near the top.
    for index, piece in enumerate(page.pieces):
        if piece.level and _part_of(piece) in ("Context", "Decision"):
            return None
        line = _STATUS_LINE.search(piece.text[:_LOOKED_AT])
        if line is not None:
            return line[1]
        if piece.text.strip().lower() == "status" and not piece.level:
            return next((each.text for each in page.pieces[index + 1 :]), "")
    return None


def _is_status(text: str) -> bool:
    plain = text.strip().strip("*_")
    if not re.search(r"[^\W\d_]{2,}", plain) or _ALTERNATIVES.search(plain):
        return False
    return not is_left_over(plain) and not plain.startswith(("{", "<", "[")) and plain != "STATUS"
