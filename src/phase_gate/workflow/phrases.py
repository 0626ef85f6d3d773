"""Search untrusted texts for a project's patterns in linear time.

Pure. `re` tries all ways to divide a text among several repeats, which takes quadratic or cubic time. To avoid that, a
pattern is split into pieces at each `.*`, and the pieces are searched one after the other. Other repeats are bounded,
and a pattern is refused if one of its pieces can match in too many ways at one position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from phase_gate.values import Value

#: More than any phrase needs.
MAX_LENGTH = 200
#: The maximum of every repeat except `.*`: more than the gap between two words of a phrase.
MAX_REPEAT = 100
#: Ways in which a piece may match at one position: enough for ten alternatives and a repeat, or two short repeats.
MAX_WAYS = 2000

_FLAGS = re.compile(r"\(\?([aims]+)\)")


class PatternError(ValueError):
    """Why a pattern can't be used."""


class Span(Value, kw_only=False):
    """The position of a phrase in a text."""

    start: int
    end: int


def check_pattern(pattern: str) -> None:
    """Raise PatternError for an invalid pattern, or one that could take too long."""
    compile_phrase(pattern)


class Phrase(Value):
    """A compiled pattern."""

    ways: tuple[Way, ...]

    def spans(self, text: str) -> Iterator[Span]:
        """Yield all matches from left to right, without overlaps."""
        place = 0
        while place <= len(text) and (found := self.search(text, place)) is not None:
            yield found
            place = found.end + (found.end == found.start)

    def search(self, text: str, place: int = 0) -> Span | None:
        spans = [found for way in self.ways if (found := way.search(text, place)) is not None]
        return min(spans, key=lambda span: span.start, default=None)


class Way(Value):
    """One alternative of a pattern: pieces with `.*` between them."""

    pieces: tuple[re.Pattern[str], ...]
    #: The minimum number of characters between each piece and the next one.
    gaps: tuple[int, ...]
    #: Whether the text between two pieces may contain line ends.
    crosses_lines: bool

    def search(self, text: str, place: int) -> Span | None:
        first, *others = self.pieces
        while (found := first.search(text, place)) is not None:
            if not others:
                return Span(*found.span())
            line_end = -1 if self.crosses_lines else text.find("\n", found.end())
            limit = len(text) if line_end < 0 else line_end
            end = self._find_others(text, found.end(), limit)
            if end is not None:
                return Span(found.start(), end)
            # If the other pieces do not follow here, they do not follow a later match in this line either.
            if limit >= len(text):
                return None
            place = limit + 1
        return None

    def _find_others(self, text: str, place: int, limit: int) -> int | None:
        """Return the end of the other pieces: each one as early as possible, the last one as late as possible."""
        *middle, last = zip(self.pieces[1:], self.gaps, strict=True)
        for piece, gap in middle:
            found = piece.search(text, place + gap, limit)
            if found is None or place + gap > limit:
                return None
            place = found.end()
        piece, gap = last
        if place + gap > limit:
            return None
        end = None
        for found in piece.finditer(text, place + gap, limit):
            end = found.end()
        return end


@cache
def compile_phrase(pattern: str, *, flags: str = "", before: str = "") -> Phrase:
    """Compile a pattern. Raises PatternError if it can't be used.

    :param flags: letters of flags, in addition to the pattern's own.
    :param before: a zero-width expression that has to match before the pattern.
    """
    if len(pattern) > MAX_LENGTH:
        raise PatternError(f"it is longer than {MAX_LENGTH} characters")
    try:
        re.compile(pattern)
        if (own := _FLAGS.match(pattern)) is not None:
            pattern, flags = pattern[own.end() :], flags + own[1]
        return Phrase(ways=tuple(_make_way(*way, before=before, flags=flags) for way in _cut(pattern)))
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"it is not a regular expression: {error}") from None


def _make_way(pieces: list[str], gaps: list[int], *, before: str, flags: str) -> Way:
    prefix = f"(?{''.join(sorted(set(flags)))})" if flags else ""
    return Way(
        pieces=tuple(
            re.compile(f"{prefix}{before if number == 0 else ''}(?:{piece})") for number, piece in enumerate(pieces)
        ),
        gaps=tuple(gaps),
        crosses_lines="s" in flags,
    )


#: A character, a set or the start of a group; its repeat; lazy (`?`) or possessive (`+`).
_TOKEN = re.compile(
    r"(\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\(\?:|.)(?:([*+?]|\{[0-9]{1,9}\}|\{[0-9]{0,9},[0-9]{0,9}\})([?+]?))?", re.S
)


def _cut(pattern: str) -> list[tuple[list[str], list[int]]]:
    """Return the alternatives of a valid pattern, each as its pieces and gaps. Repeats in the pieces are bounded."""
    found: list[tuple[list[str], list[int]]] = [([""], [])]
    #: For the piece and each open group: the ways of the previous alternatives, and of the current one.
    ways: list[list[int]] = [[0, 1]]
    for token in _TOKEN.finditer(pattern):
        atom, repeat, manner = token.groups("")
        pieces, gaps = found[-1]
        if atom == "(" and repeat:
            raise PatternError("only plain groups are allowed")
        if atom == "|" and len(ways) == 1:
            found.append(([""], []))
            ways = [[0, 1]]
            continue
        if atom == "." and repeat in ("*", "+") and len(ways) == 1:
            gaps.append(int(repeat == "+"))
            pieces.append("")
            ways = [[0, 1]]
            continue
        text = token[0]
        if atom in ("(", "(?:"):
            ways.append([0, 1])
        elif atom == "|":
            ways[-1] = [sum(ways[-1]), 1]
        elif atom == ")":
            if repeat not in ("", "?"):
                # The ways inside the group would multiply with each repeat.
                raise PatternError("a group may not be repeated")
            inner = sum(ways.pop()) + (repeat == "?")
            ways[-1][1] *= inner
        elif atom[:1] == "\\" and atom[1:2].isdigit():
            raise PatternError("it refers to a group")
        elif repeat:
            low, high = _bounds(repeat)
            ways[-1][1] *= high - low + 1
            text = f"{atom}{{{low},{high}}}{manner}"
        if sum(ways[-1]) > MAX_WAYS:
            raise PatternError("it can match in too many ways: use fewer repeats, or `.*` between them")
        pieces[-1] += text
    return found


def _bounds(repeat: str) -> tuple[int, int]:
    """Return the minimum and the maximum of a repeat."""
    low, comma, high = repeat.strip("{}").partition(",")
    known = {"*": (0, MAX_REPEAT), "+": (1, MAX_REPEAT), "?": (0, 1)}.get(repeat)
    bounds = known or (int(low or 0), int(high) if high else MAX_REPEAT if comma else int(low))
    if max(bounds) > MAX_REPEAT:
        raise PatternError(f"it repeats something more than {MAX_REPEAT} times")
    return bounds
