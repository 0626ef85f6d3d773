"""Which documents count, and why one does not.

Pure. Says nothing about whether a document is good: only that somebody wrote something, and that it is not there twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from phase_gate.core.document_files import Seen
from phase_gate.core.pages import Page, Section, split_sections
from phase_gate.core.placeholders import is_hole, is_instruction, is_open
from phase_gate.gate.runs import count
from phase_gate.values import Value

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
