"""From what an agent printed to what counts as its own words.

Pure, and linear in the text's length. Doubt leaves a line out: what stands in a fence, a quote or a diff is not the
agent's own, and neither is anything behind a fence that was not closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum

from phase_gate.values import Value


class Place(IntEnum):
    """Where a line stands."""

    OWN = 0
    #: By four columns or a tab: code, or what belongs to a list; no block begins there.
    INDENTED = 1
    #: In a section about changes: it tells what others finished.
    NOTES = 2
    #: In a fence, a quote, a diff, an example: not what the agent says.
    QUOTED = 3


class ClaimText(Value):
    #: Without colours, byte order mark and carriage returns.
    lines: tuple[str, ...]
    places: tuple[Place, ...]


#: Colours and other orders to a terminal, then what is left of control characters; tabs and line ends stay.
_TERMINAL = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]|\x1b\][^\x07\x1b]*+(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_LINE_END = re.compile(r"\r\n?")

#: The opening of a fence, also in a quote or a list; a fence of backquotes has none of them behind it.
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+)*+(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_TAG = re.compile(r"<(?P<tag>pre|blockquote|examples?|prompt|template|instructions|system-reminder)\b", re.IGNORECASE)
_HUNK = re.compile(r"@@ -\d{1,9}(?:,(?P<old>\d{1,9}))? \+\d{1,9}(?:,(?P<new>\d{1,9}))? @@")
_DIFF_HEAD = re.compile(r"diff --git |index [0-9a-f]{7,}\.\.|--- (?:a/|/dev/null|\S+\t)|\+\+\+ (?:b/|/dev/null|\S+\t)")
_HEADING = re.compile(r"(?P<level>#{1,6})[ \t]+(?P<title>.*)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*")
_NOTES_TITLE = re.compile(
    r"[^\w\[]*(?:change ?log|changes\b|release notes|release history|what.s new|history\b|unreleased\b|"
    r"\[?(?:v|version )?\d+\.\d+)",
    re.IGNORECASE,
)
#: A line of `git log --oneline`, with its graph.
_COMMIT = re.compile(r"[*|/\\ ]*[0-9a-f]{7,40} \S")


def read_claim_text(texts: Iterable[str]) -> ClaimText:
    """Return the lines of one message or more; a fence that is open at the end of a message ends with it."""
    lines: list[str] = []
    places: list[Place] = []
    for text in texts:
        cleaned = _LINE_END.sub("\n", _TERMINAL.sub("", text.removeprefix("\ufeff")))
        own = cleaned.split("\n")
        if lines:
            lines.append("")
            places.append(Place.QUOTED)  # no block reaches from one message into the next
        lines += own
        places += _Reader().read(own)
    return ClaimText(lines=tuple(lines), places=tuple(places))


class _Reader:
    """Goes through the lines of a message once."""

    def __init__(self) -> None:
        self._fence = ""
        self._fence_indent = 0
        self._tag = ""
        self._comment = False
        self._quote = False
        self._old = self._new = 0
        #: The level of the heading that began a section about changes; 0 outside of one.
        self._notes = 0

    def read(self, lines: list[str]) -> list[Place]:
        places = [self._place(line) for line in lines]
        self._find_underlined(lines, places)
        return places

    def _place(self, line: str) -> Place:
        if self._fence:
            self._leave_fence(line)
            return Place.QUOTED
        if self._tag or self._comment:
            self._leave_tag(line)
            return Place.QUOTED
        if self._old or self._new:
            if self._take_hunk(line):
                return Place.QUOTED
            self._old = self._new = 0
        blank = not line or line.isspace()
        if self._quote and not blank:
            return self._enter(line) or Place.QUOTED  # a paragraph goes on without its mark
        self._quote = False
        if blank:
            return Place.NOTES if self._notes else Place.OWN
        entered = self._enter(line)
        if entered is not None:
            return entered
        if line[0] == "\t" or line.startswith("    "):
            return Place.INDENTED
        self._follow_heading(line)
        if self._notes or (line[0] in "*|/\\ 0123456789abcdef" and _COMMIT.match(line)):
            return Place.NOTES
        return Place.OWN

    def _enter(self, line: str) -> Place | None:
        """Return the place of a line that begins something; None if it begins nothing."""
        head = line.lstrip(" \t")[:1]
        if head in ("`", "~", "-", "*", "+", ">") or head.isdigit():
            found = _FENCE.match(line)
            if found is not None:
                self._fence = found["fence"]
                self._fence_indent = _indentation(line)
                return Place.QUOTED
        if head == ">" and _indentation(line) < 4:
            self._quote = True
            return Place.QUOTED
        if head == "<":
            return self._enter_tag(line)
        if line[0] == "@" and (hunk := _HUNK.match(line)) is not None:
            self._old, self._new = int(hunk["old"] or 1), int(hunk["new"] or 1)
            return Place.QUOTED
        if line[0] in "di-+" and _DIFF_HEAD.match(line):
            return Place.QUOTED
        return None

    def _enter_tag(self, line: str) -> Place | None:
        text = line.lstrip(" \t")
        if text.startswith("<!--"):
            self._comment = "-->" not in text
            return Place.QUOTED
        found = _TAG.match(text)
        if found is None:
            return None
        self._tag = f"</{found['tag'].lower()}"
        self._leave_tag(line)
        return Place.QUOTED

    def _leave_tag(self, line: str) -> None:
        if self._comment:
            self._comment = "-->" not in line
        elif self._tag in line.lower():
            self._tag = ""

    def _leave_fence(self, line: str) -> None:
        text = line.strip(" \t")
        closes = len(text) >= len(self._fence) and not text.strip(self._fence[0])
        # Deeper than that, it is part of what is shown.
        if closes and _indentation(line) <= self._fence_indent + 3:
            self._fence = ""

    def _take_hunk(self, line: str) -> bool:
        head = line[:1]
        if head == "\\":
            return True
        if head in ("", " ") and self._old and self._new:
            self._old, self._new = self._old - 1, self._new - 1
        elif head == "-" and self._old:
            self._old -= 1
        elif head == "+" and self._new:
            self._new -= 1
        else:
            return False
        return True

    def _follow_heading(self, line: str) -> None:
        if line[0] != "#":
            return
        heading = _HEADING.match(line)
        if heading is None:
            return
        level = len(heading["level"])
        if self._notes and level > self._notes:
            return
        self._notes = level if _NOTES_TITLE.match(heading["title"]) else 0

    def _find_underlined(self, lines: list[str], places: list[Place]) -> None:
        """Mark sections about changes whose heading is underlined."""
        inside = False
        for number in range(len(lines) - 1):
            line, below = lines[number], lines[number + 1]
            if below[:1] in ("=", "-") and line and _UNDERLINE.fullmatch(below) and places[number] <= Place.NOTES:
                inside = _NOTES_TITLE.match(line) is not None
            elif line[:1] == "#":
                inside = False
            if inside and places[number] is Place.OWN:
                places[number] = Place.NOTES


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


# --- sentences

#: Where a line goes on in the next one, it does not end so, and the next one does not begin with a capital.
_ENDS = ".!?:;"
_SENTENCE_END = re.compile(r"(?<=[.!?;])[ \t]+")
#: What is mentioned, not said.
_MENTIONED = re.compile(r"``?[^`\n]{1,300}``?|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»")
_MARKUP = re.compile(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}")
#: A line of a status block: what counts of it as words comes from the block that was read.
_FIELD = re.compile(r"(?:[A-Z0-9]+_[A-Z0-9_]+|STATUS|REASON|PHASE|ITERATION|CONFIDENCE|RECOMMENDATION):")
#: No person writes longer ones; a log does.
_MAX_SENTENCE = 600


def sentences(text: ClaimText, reasons: Iterable[str] = ()) -> str:
    """Return what the agent says in its own words, one sentence a line.

    :param reasons: those that its blocks give.
    """
    rows: list[str] = []
    for line, place in zip(text.lines, text.places, strict=True):
        line = line.strip(" \t") if place is Place.OWN else ""
        if not line or (line[0].isupper() and _FIELD.match(line)):
            rows.append("")
            continue
        before = rows[-1] if rows else ""
        if line[:1].islower() and before and before[-1] not in _ENDS and len(before) < _MAX_SENTENCE:
            rows[-1] = f"{before} {line}"
        else:
            rows.append(line)
    rows += reasons
    prose = _MARKUP.sub("", _MENTIONED.sub(" ", "\n".join(rows)))
    said = dict.fromkeys(_SENTENCE_END.sub("\n", prose).split("\n"))  # a log says the same again and again
    return "\n".join(row for row in said if 0 < len(row) <= _MAX_SENTENCE)


# --- blocks that are seen and do not count, because of how or where they are written: only the reason is told


#: What looks like the beginning of a block, however it is written.
_LIKE = re.compile(
    r"(?P<before>[ \t>*_`#+|.)0-9-]*+)(?:(?P<name>(?:EXIT|DOYAKEN)_STATUS)(?P<after>[*_` \t]*+):|"
    r"(?P<delimited>(?:PRP_PHASE|RALPH)_STATUS)[ \t]*+--)",
    re.IGNORECASE,
)


class Uncounted(Value):
    """A block that does not count."""

    name: str
    #: From 1.
    line: int
    #: What is wrong with how it stands there: a verb and the rest.
    why: str

    @property
    def text(self) -> str:
        return f"{self.name} (line {self.line}) does not count: it {self.why}"


def find_uncounted(number: int, line: str, place: Place) -> Iterator[Uncounted]:
    """Return the block that this line would begin if it were written as it has to be."""
    if "_" not in line or (found := _LIKE.match(line)) is None:
        return
    name = found["name"] or found["delimited"]
    yield Uncounted(name=name.upper(), line=number, why=_why(name, found["before"], found, place))


def _why(name: str, before: str, found: re.Match[str], place: Place) -> str:
    if place is Place.QUOTED:
        return "stands in a fence, a quote, a diff or an example"
    if place is Place.INDENTED or before[:1] in (" ", "\t"):
        return "is indented"
    if name != name.upper():
        return "is not in capitals"
    if before.strip("- ") or (before and found["name"]) or (found["after"] or "").strip():
        return "is bold, or part of a list"
    return "is not written exactly so"
