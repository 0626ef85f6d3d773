"""Decide which documents count, and why others do not; which decision records are complete, and what others lack.

Pure. Does not judge whether a document is good, only whether it has new text that is not a copy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from phase_gate.evidence.documents.library import Page, Piece
from phase_gate.visible import count

#: Chinese, Japanese and Korean have no spaces between words, so each character counts.
_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_TAG = re.compile(r"<[^<>]*>")

#: A placeholder of a template: a whole piece, or all text after a label. It has more than one word, so that tags, types
#: and links do not match: `Deciders: {list everyone}`, `<NAME OF THE TOOL>`. `{{ title }}` matches, too.
_HOLE = re.compile(
    r"(?:[\w (),'*-]{1,60}:\s*)?[\"“]?"
    r"(?:\{\{(?![<%])[^{}]*\}\}|\{[a-z][^{}=:|]*\s[^{}=:|]*\}|\[[a-z][^\[\]=:|]*\s[^\[\]=:|]*\]"
    r"|\\?<[A-Za-z][^<>=\"@:/]*\s[^<>=\"@:/]*>)[\"”.]*",
    re.S,
)
#: Marks for text that is not written yet.
_OPEN = re.compile(
    r"(?:todo|tbd|tba|fixme|xxx+|wip|\.\.+|…+|-+|\?+)[\s.!…]*(?:(?:\(\w+\))?[:–—].*|-\s.*)?", re.I | re.S
)


def find_fault(page: Page, *, minimum_words: int) -> str:
    """Return why a document does not count. Empty if it does."""
    words = count_words(page)
    wanted = f"{count(words, 'different word')} of text, at least {minimum_words} are wanted"
    return "" if words >= minimum_words else wanted


def count_words(page: Page) -> int:
    """Return the number of different words in the text and headings, without code, diagrams and comments."""
    texts = (piece.text for piece in page.pieces if not is_left_over(piece.text))
    return len({word.lower() for text in texts for word in _WORD.findall(_TAG.sub(" ", text))})


def is_hole(text: str) -> bool:
    """Return whether a piece is a placeholder of a template."""
    plain = _plain(text)
    return not plain.startswith("`") and _HOLE.fullmatch(plain[:1000]) is not None


def is_left_over(text: str) -> bool:
    """Return whether a piece is a placeholder, or only a mark such as TODO."""
    return is_hole(text) or _OPEN.fullmatch(_plain(text).strip("()[]{}<> ")[:1000]) is not None


def _plain(text: str) -> str:
    return " ".join(text.replace("\\", "").split()).strip("*_~ ")


def find_changed(now: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Return changed documents -> why the change does not count. Empty if it does.

    :param now: document -> a hash of its visible text, as is `before`.
    """
    known = {text: path for path, text in sorted(before.items(), reverse=True)}
    changed: dict[str, str] = {}
    for path, text in sorted(now.items()):
        if before.get(path) != text:
            origin = known.setdefault(text, path)
            reason = "it has the same text as" if origin in now else "it was moved here from"
            changed[path] = "" if origin == path else f"{reason} {origin}"
    return changed


# --- architecture decision records, in the formats of adr-tools and MADR. A record has a number in its name, and
# contains its status, the problem, the decision and the consequences. In MADR the consequences are optional, but the
# outcome needs its own text.


#: 0001-title.md, 12_title.md, ADR-003-title.md, adr0004.md
_NUMBERED = re.compile(r"(?:adr[-_ ]?)?\d{1,5}(?:[-_. ].*)?\.[a-z]+$", re.I)

#: Part -> the beginnings of its headings.
PARTS: Mapping[str, tuple[str, ...]] = {
    "Status": ("status",),
    "Context": ("context", "problem", "background", "issue", "motivation"),
    "Decision": ("decision", "outcome", "resolution"),
    "Consequences": (
        *("consequence", "positive consequence", "negative consequence", "implication", "impact", "result"),
        *("pros and cons", "trade-off"),
    ),
}
#: Headings with such a beginning that are not parts.
_OTHERS = ("decision driver", "decision maker", "decision-maker", "decision criteria")
#: The heading that identifies a MADR record.
_OUTCOME = "decision outcome"

_NUMBERING = re.compile(r"^[\d.)\s]+|[^\w\s'-]")
#: In a line, a list item or a row of a table.
_STATUS_LINE = re.compile(r"^\W*status\b\W*?[:|=][\s*_|:]*(.*)$", re.I | re.M)
#: The number of characters at the beginning of a piece that are searched for a status.
_LOOKED_AT = 1000


def is_numbered(path: str) -> bool:
    return _NUMBERED.match(path.rpartition("/")[2]) is not None


def find_missing(page: Page) -> tuple[str, ...]:
    """Return the missing parts of a record, for messages. Empty if it is complete."""
    found = _parts(page)
    missing = []
    status = _status(page, found)
    if status is None:
        missing.append("a status")
    # `proposed | accepted | …` is the choice in a template.
    elif not re.fullmatch(r"[\s*_]*(?!STATUS)[^\W\d_]{2,}[^|]*", status) or is_left_over(status):
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
    """Return part -> its texts, for each part with a heading, including texts under subheadings."""
    found: dict[str, list[str]] = {}
    for index, piece in enumerate(page.pieces):
        # The title is not a part, even if it begins like one: "Decision on the database".
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
    """Return the status of a record, wherever it is written. None if there is none."""
    if page.status is not None:
        return page.status
    if "Status" in found:
        return next((text for text in found["Status"] if text.strip()), "")
    for index, piece in enumerate(page.pieces):
        if piece.level and _part_of(piece) in ("Context", "Decision"):
            return None
        line = _STATUS_LINE.search(piece.text[:_LOOKED_AT])
        if line is not None:
            return line[1]
        if piece.text.strip().lower() == "status" and not piece.level:
            return next((each.text for each in page.pieces[index + 1 :]), "")
    return None
