"""Which documents count, and why one does not.

Pure. Says nothing about whether a document is good: only that something was written, and that it is not there twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from phase_gate.evidence.documents.library import Seen
from phase_gate.evidence.documents.pages import Page, Section, split_sections
from phase_gate.values import Value
from phase_gate.visible import count

#: Of its sections, one in so many may be empty or say TODO: an open question is no template.
_OPEN_SHARE = 3

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
            return Fault(f"a template's text is still in it: {_shown(piece.text)}", piece.line)
    # A heading with nothing but others below it is a frame.
    sections = [section for section in split_sections(page) if not (section.has_children and section.is_empty)]
    unwritten = [section for section in sections if _is_unwritten(section)]
    if unwritten and len(unwritten) * _OPEN_SHARE >= len(sections):
        return _unwritten_fault(unwritten, len(sections))
    words = count_words(page)
    if words < minimum_words:
        return Fault(f"{count(words, 'different word')} of text, at least {minimum_words} are wanted")
    return None


def count_words(page: Page) -> int:
    """Return how many different words its text has, headings included; code, diagrams and comments do not count."""
    texts = (piece.text for piece in page.pieces if not is_open(piece.text))
    return len({word.lower() for text in texts for word in _WORD.findall(_TAG.sub(" ", text))})


def _is_unwritten(section: Section) -> bool:
    return not section.blocks and all(is_open(piece.text) or not piece.text.strip() for piece in section.pieces)


def _unwritten_fault(unwritten: list[Section], total: int) -> Fault:
    first = unwritten[0]
    place = first.heading or first.pieces[0]
    said = next((_shown(piece.text) for piece in first.pieces if piece.text.strip()), "nothing")
    under = f"under {_shown(place.text)} stands {said}" if first.heading is not None else f"it says {said}"
    more = f" ({len(unwritten)} of {count(total, 'section')} are like that)" if len(unwritten) > 1 else ""
    return Fault(f"{under}{more}", place.line)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line if len(line) <= 50 else f"{line[:47]}..."}"'


# --- since the cycle began


def find_copies(now: Mapping[str, Seen], before: Mapping[str, Seen]) -> dict[str, Fault]:
    """Return the new documents whose text stood elsewhere already, or stands in another one, too."""
    known = {seen.text: path for path, seen in sorted(before.items(), reverse=True)}
    copies: dict[str, Fault] = {}
    for path, seen in sorted(now.items()):
        if path in before and before[path].text == seen.text:
            continue
        origin = known.setdefault(seen.text, path)
        if origin != path:
            said = "it has the same text as" if origin in now else "it was moved here from"
            copies[path] = Fault(f"{said} {origin}")
    return copies


def changed_since(now: Mapping[str, Seen], before: Mapping[str, Seen]) -> Iterable[str]:
    """Return the documents that are new, or have another text."""
    return sorted(path for path, seen in now.items() if path not in before or before[path].text != seen.text)


def only_touched(now: Mapping[str, Seen], before: Mapping[str, Seen]) -> Iterable[str]:
    """Return the documents in which nothing but blanks or comments changed."""
    return sorted(
        path
        for path, seen in now.items()
        if path in before and before[path].text == seen.text and before[path].content != seen.content
    )


# --- tell what an author wrote from what a template left to be written


#: Characters: no template has a hole that takes longer to describe.
_LONGEST = 1000

#: A hole is a whole piece, or all that stands behind a label: `Deciders: {list everyone}`.
_LABEL = r"(?:[\w (),'*-]{1,60}:\s*|.*\bbecause\s+)?[\"“]?"
_HOLES = (
    # {{ title }}, but not what builders of sites fill in: {{< figure >}}, {{ page.title }}
    re.compile(rf"{_LABEL}\{{\{{(?![<%])(?!\s*(?:page|site|config|theme)\.)[^{{}}]*\}}\}}[\"”.]*", re.S),
    # {short title of the solved problem}, but no type like {string | null}, no attribute, no mapping
    re.compile(rf"{_LABEL}\{{(?:[a-z]|YYYY)(?=[^{{}}=:]*\w,? \w)[^{{}}=:]*+\}}[\"”.]*(?:,\s*because\b.*)?", re.S),
    # [option 1]: a link would not have its brackets any more, and a remark begins with a capital letter
    re.compile(rf"{_LABEL}\[(?:[a-z]|YYYY)(?=[^\[\]=:]*\w,? \w)[^\[\]=:]*+\][\"”.]*(?:,\s*because\b.*)?", re.S),
)
_BECAUSE_HOLE = re.compile(r"\bbecause\s+[\[{]\w+[.,]?\s[^\]}]*", re.S)
_ANGLE = re.compile(rf"{_LABEL}\\?<([A-Za-z][^<>=\"@:]*?)\\?>[\"”.]*", re.S)
#: Tags with attributes that have no value: <details open>.
_TAGS = frozenset(
    {"audio", "button", "details", "form", "iframe", "img", "input", "ol", "option", "script", "select", "video"}
)

#: What stands where nothing is written yet.
_OPEN = re.compile(
    r"(?:todo|tbd|tba|fixme|xxx+|wip|"
    r"to be (?:done|determined|decided|defined|written|added|announced|completed|filled in)|"
    r"coming soon|work in progress|under construction|placeholder(?: text)?|not (?:yet )?written(?: yet)?|"
    r"(?:please )?fill (?:this|me|it)? ?(?:in|out)|"
    r"(?:please )?(?:insert|add|write|put|enter|describe|provide) (?:\S+ ){0,6}here|(?:\S+ ){1,8}goes? here|"
    r"(?:your |some )?(?:text|content|description) here|"
    r"(?:context|decision|consequences|status|title|description|summary) here|"
    r"\.\.+|…+|-+|\?+)"
    r"[\s.!…]*(?:(?:\(\w+\))?[:–—].*|-\s.*)?",
    re.I | re.S,
)
_LOREM = re.compile(r"\blorem ipsum dolor\b", re.I)

#: How sentences begin with which templates of decision records tell their author what to write.
_INSTRUCTIONS = (
    "the issue motivating this decision, and any context that influences",
    "the change that we're proposing or have agreed to implement",
    "what becomes easier or more difficult to do and any risks introduced",
    "what is the issue that we're seeing that is motivating this decision",
    "what is the change that we're proposing and/or doing",
    "what becomes easier or more difficult to do because of this change",
    "what is the status, such as proposed, accepted, rejected",
    "describe the context and problem statement, e.g., in free form",
    "this is an optional element. feel free to remove",
)


def is_hole(text: str, *, is_heading: bool = False) -> bool:
    """Tell whether a piece is a template's hole that was not filled in."""
    plain = _plain(text)
    if not plain or plain.startswith("`") or len(plain) > _LONGEST:
        return False
    if _BECAUSE_HOLE.search(plain) or any(hole.fullmatch(plain) for hole in _HOLES):
        return True
    found = _ANGLE.fullmatch(plain)
    if found is None:
        return False
    words = found[1].split()
    if is_heading and plain.startswith("<"):
        return True
    if len(words) == 1:
        # `<NAME>` is a hole, and `<Tabs>` a component of a site.
        return words[0].isupper() and len(words[0]) > 1
    return words[0].lower() not in _TAGS


def is_instruction(text: str) -> bool:
    """Tell whether a piece is what a template says to its author, or a typesetter's filling."""
    plain = _plain(text).lower().replace("’", "'").lstrip("{[")
    return plain.startswith(_INSTRUCTIONS) or bool(_LOREM.search(plain))


def is_open(text: str) -> bool:
    """Tell whether a piece only says that something is to be written."""
    plain = _plain(text).strip("*_~()[]{}<> ")
    return len(plain) <= _LONGEST and bool(_OPEN.fullmatch(plain))


def is_left_over(text: str, *, is_heading: bool = False) -> bool:
    return is_hole(text, is_heading=is_heading) or is_instruction(text) or is_open(text)


def _plain(text: str) -> str:
    return " ".join(text.replace("\\", "").split()).strip("*_~ ")
