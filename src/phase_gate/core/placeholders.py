"""Tell what somebody wrote from what a template left for somebody to write.

Pure. Only whole pieces count: a sentence that mentions TODO, or code with a `<name>` in it, is honest text.
"""

from __future__ import annotations

import re

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

#: What stands where nobody has written anything yet.
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
    """Tell whether a piece is a template's hole: nobody has filled it in."""
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
        # `<NAME>` is a hole, and `<Tabs>` a component of somebody's site.
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
