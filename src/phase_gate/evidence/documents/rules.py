"""Which documents count, and why one does not.

Pure. Says nothing about whether a document is good: only that something was written, and that it is not there twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from phase_gate.evidence.documents.library import Page, Seen
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
