"""Which documents count, and why one does not; which decision records are whole, and what others lack.

Pure. Says nothing about whether a document is good: only that something was written, and that it is not there twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from phase_gate.evidence.documents.library import Page, Piece, Seen
from phase_gate.values import Value
from phase_gate.visible import count, cut

#: Chinese, Japanese and Korean have no blanks between words: each character counts.
_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_TAG = re.compile(r"<[^<>]*>")


class Fault(Value, kw_only=False):
    """Why a document does not count, and where that is."""

    why: str
    line: int | None = None


def find_fault(page: Page, *, minimum_words: int) -> Fault | None:
    """Return what keeps a document from counting; None if nothing does."""
    for piece in page.pieces:
        if is_hole(piece.text, is_heading=piece.level > 0) or is_instruction(piece.text):
            return Fault(f'a template\'s text is still in it: "{cut(" ".join(piece.text.split()), 50)}"', piece.line)
    words = count_words(page)
    if words < minimum_words:
        return Fault(f"{count(words, 'different word')} of text, at least {minimum_words} are wanted")
    return None


def count_words(page: Page) -> int:
    """Return how many different words its text has, headings included; code, diagrams and comments do not count."""
    texts = (piece.text for piece in page.pieces if not is_open(piece.text))
    return len({word.lower() for text in texts for word in _WORD.findall(_TAG.sub(" ", text))})


# --- since the cycle began


def find_changed(now: Mapping[str, Seen], before: Mapping[str, Seen]) -> dict[str, Fault | None]:
    """Return the documents that are not what they were, each with why that does not count, if it does not."""
    known = {seen.text: path for path, seen in sorted(before.items(), reverse=True)}
    changed: dict[str, Fault | None] = {}
    for path, seen in sorted(now.items()):
        if path in before and before[path].text == seen.text:
            if before[path].content != seen.content:
                changed[path] = Fault("only blanks or comments changed in this cycle")
            continue
        origin = known.setdefault(seen.text, path)
        said = "it has the same text as" if origin in now else "it was moved here from"
        changed[path] = None if origin == path else Fault(f"{said} {origin}")
    return changed


# --- tell what an author wrote from what a template left to be written


#: Characters: no template has a hole that takes longer to describe.
_LONGEST = 1000

#: A hole is a whole piece, or all that stands behind a label: `Deciders: {list everyone}`.
_LABEL = r"(?:[\w (),'*-]{1,60}:\s*|.*\bbecause\s+)?[\"“]?"
_HOLE = re.compile(
    rf"{_LABEL}(?:"
    # {{ title }}, but not what builders of sites fill in: {{< figure >}}, {{ page.title }}
    r"\{\{(?![<%])(?!\s*(?:page|site|config|theme)\.)[^{}]*\}\}"
    # {short title of the solved problem}, [option 1]: but no type like {string | null}, no attribute, no mapping; and a
    # link would not have its brackets any more, a remark begins with a capital letter
    r"|\{(?:[a-z]|YYYY)(?=[^{}=:]*\w,? \w)[^{}=:]*+\}|\[(?:[a-z]|YYYY)(?=[^\[\]=:]*\w,? \w)[^\[\]=:]*+\]"
    r")[\"”.]*(?:,\s*because\b.*)?",
    re.S,
)
_BECAUSE_HOLE = re.compile(r"\bbecause\s+[\[{]\w+[.,]?\s[^\]}]*", re.S)
#: <Short title of the issue>, <NAME>; but no tag, component, link or address.
_ANGLE = re.compile(rf"{_LABEL}\\?<([A-Za-z][^<>=\"@:]*?)\\?>[\"”.]*", re.S)
#: Tags with attributes that have no value: <details open>.
_TAGS = ("audio", "button", "details", "form", "iframe", "img", "input", "ol", "option", "script", "select", "video")

#: What stands where nothing is written yet.
_OPEN = re.compile(
    r"(?:todo|tbd|tba|fixme|xxx+|wip|"
    r"to be (?:done|determined|decided|defined|written|added|announced|completed|filled in)|"
    r"coming soon|work in progress|under construction|placeholder(?: text)?|not (?:yet )?written(?: yet)?|"
    r"(?:please )?fill (?:this|me|it)? ?(?:in|out)|"
    r"(?:please )?(?:insert|add|write|put|enter|describe|provide) (?:\S+ ){0,6}here|(?:\S+ ){1,8}goes? here|"
    r"(?:your |some )?(?:text|content|context|decision|consequences|status|title|description|summary) here|"
    r"\.\.+|…+|-+|\?+)"
    r"[\s.!…]*(?:(?:\(\w+\))?[:–—].*|-\s.*)?",
    re.I | re.S,
)

#: How sentences begin with which templates of decision records tell their author what to write; and a typesetter's.
_INSTRUCTIONS = (
    "the issue motivating this decision, and any context that influences",
    "the change that we're proposing or have agreed to implement",
    "what becomes easier or more difficult to do",
    "what is the issue that we're seeing that is motivating this decision",
    "what is the change that we're proposing and/or doing",
    "what is the status, such as proposed, accepted, rejected",
    "describe the context and problem statement, e.g., in free form",
    "this is an optional element. feel free to remove",
    "lorem ipsum dolor",
)


def is_hole(text: str, *, is_heading: bool = False) -> bool:
    """Tell whether a piece is a template's hole that was not filled in."""
    plain = _plain(text)
    if not plain or plain.startswith("`") or len(plain) > _LONGEST:
        return False
    if _BECAUSE_HOLE.search(plain) or _HOLE.fullmatch(plain):
        return True
    found = _ANGLE.fullmatch(plain)
    if found is None:
        return False
    words = found[1].split()
    if len(words) > 1:
        return words[0].lower() not in _TAGS
    # `<NAME>` is a hole, and `<Tabs>` a component of a site.
    return (is_heading and plain.startswith("<")) or (words[0].isupper() and len(words[0]) > 1)


def is_instruction(text: str) -> bool:
    """Tell whether a piece is what a template says to its author, or a typesetter's filling."""
    return _plain(text).lower().replace("’", "'").lstrip("{[").startswith(_INSTRUCTIONS)


def is_open(text: str) -> bool:
    """Tell whether a piece only says that something is to be written."""
    plain = _plain(text).strip("*_~()[]{}<> ")
    return len(plain) <= _LONGEST and bool(_OPEN.fullmatch(plain))


def is_left_over(text: str) -> bool:
    return is_hole(text) or is_instruction(text) or is_open(text)


def _plain(text: str) -> str:
    return " ".join(text.replace("\\", "").split()).strip("*_~ ")


# --- architecture decision records: the form of adr-tools, and that of MADR. A record has a number in its name and says
# what its status is, what the problem was, what was decided and what follows from that. In MADR what follows is an
# optional part; the outcome has to say something itself.


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
