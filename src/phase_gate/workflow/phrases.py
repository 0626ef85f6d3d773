"""A project's patterns, searched in untrusted texts: the time grows in step with the text.

Pure. `re` tries all ways to share a text among several repeats, which takes the square or the cube of its length. So a
pattern is cut into pieces at each `.*`, which are looked for one after the other; any other repeat takes so many
characters at most; and a piece that could be tried in too many ways at one place is refused where it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from phase_gate.values import Value

#: More than any phrase needs.
MAX_LENGTH = 200
#: Characters that one repeat takes, `.*` apart: more than stand between two words of a phrase.
MAX_REPEAT = 100
#: In which a piece may match at one place: ten alternatives and a repeat, or two repeats of a few characters.
MAX_WAYS = 2000

_FLAGS = re.compile(r"\(\?([aims]+)\)")
_COUNT = re.compile(r"\{(\d{0,9})(?:(,)(\d{0,9}))?\}")


class PatternError(ValueError):
    """Why a pattern can't be used."""


class Span(Value, kw_only=False):
    """Where a phrase stands in a text."""

    start: int
    end: int


def check_pattern(pattern: str) -> None:
    """Raise PatternError for one that is no expression, or that could take for ever."""
    compile_phrase(pattern)


class Phrase(Value):
    """A pattern, ready for use."""

    ways: tuple[Way, ...]

    def spans(self, text: str) -> Iterator[Span]:
        """Yield where it is found, from the beginning on, none within another."""
        place = 0
        while place <= len(text) and (found := self.search(text, place)) is not None:
            yield found
            place = found.end + (found.end == found.start)

    def search(self, text: str, place: int = 0) -> Span | None:
        spans = [found for way in self.ways if (found := way.search(text, place)) is not None]
        return min(spans, key=lambda span: span.start, default=None)


class Way(Value):
    """One of the alternatives of a pattern: pieces with `.*` between them."""

    pieces: tuple[re.Pattern[str], ...]
    #: How many characters stand between a piece and the one before it, at least; the first has none before it.
    gaps: tuple[int, ...]
    #: Whether what stands between two pieces may reach over the end of a line.
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
            # What does not follow here follows no later beginning in this line, either.
            if limit >= len(text):
                return None
            place = limit + 1
        return None

    def _find_others(self, text: str, place: int, limit: int) -> int | None:
        """Return where the rest ends: each piece as early as it can be, the last one as late."""
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
    """Return the pattern for use. Raises PatternError for one that can't be used.

    :param flags: letters of flags beside the pattern's own.
    :param before: an expression that has to match in front of it, and takes no room.
    """
    if len(pattern) > MAX_LENGTH:
        raise PatternError(f"it is longer than {MAX_LENGTH} characters")
    try:
        re.compile(pattern)
        if (own := _FLAGS.match(pattern)) is not None:
            pattern, flags = pattern[own.end() :], flags + own[1]
        return Phrase(ways=tuple(_make_way(*way, before=before, flags=flags) for way in _Cutter(pattern).cut()))
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"it is no regular expression: {error}") from None


def _make_way(pieces: list[str], gaps: list[int], *, before: str, flags: str) -> Way:
    prefix = f"(?{''.join(sorted(set(flags)))})" if flags else ""
    return Way(
        pieces=tuple(
            re.compile(f"{prefix}{before if number == 0 else ''}(?:{piece})") for number, piece in enumerate(pieces)
        ),
        gaps=tuple(gaps),
        crosses_lines="s" in flags,
    )


class _Cutter:
    """Goes through a pattern once: cuts it at `|` and `.*` that stand in no group, and bounds the other repeats."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._place = pattern, 0
        self._found: list[tuple[list[str], list[int]]] = [([""], [])]
        #: For each open group, and the piece around them: ways of the alternatives before, and of the present one.
        self._ways: list[list[int]] = [[0, 1]]

    def cut(self) -> list[tuple[list[str], list[int]]]:
        while self._place < len(self._pattern):
            self._take()
        return self._found

    @property
    def _is_in_group(self) -> bool:
        return len(self._ways) > 1

    def _take(self) -> None:
        sign = self._pattern[self._place]
        if sign == "(":
            self._open_group()
        elif sign == ")":
            self._close_group()
        elif sign == "|" and self._is_in_group:
            before, ways = self._ways[-1]
            self._ways[-1] = [before + ways, 1]
            self._add("|")
        elif sign == "|":
            self._found.append(([""], []))
            self._place += 1
            self._ways = [[0, 1]]
        elif sign == "." and not self._is_in_group and self._next(1) in ("*", "+"):
            self._cut_here()
        else:
            self._take_atom()

    def _open_group(self) -> None:
        following = self._pattern[self._place + 1 : self._place + 3]
        if following[:1] == "?" and following != "?:":
            raise PatternError("only plain groups may stand in it")
        self._ways.append([0, 1])
        self._add("(?:" if following == "?:" else "(")

    def _close_group(self) -> None:
        ways = sum(self._ways.pop())
        self._add(")")
        if self._next() in ("*", "+", "{"):
            # It would repeat everything that is repeated or chosen inside.
            raise PatternError("a group may not be repeated")
        if self._next() == "?":
            ways += 1
            self._add("?")
        self._multiply(ways)

    def _cut_here(self) -> None:
        pieces, gaps = self._found[-1]
        gaps.append(int(self._next(1) == "+"))
        pieces.append("")
        self._place += 2
        self._ways = [[0, 1]]
        if self._next() in ("?", "+"):
            self._place += 1  # as few as can be, or all at once: here it makes no difference

    def _take_atom(self) -> None:
        """Take a character or a set of them, and what repeats it."""
        atom = self._atom()
        if atom[:1] == "\\" and atom[1:2].isdigit():
            raise PatternError("it refers to a group")
        self._add(atom)
        count = _COUNT.match(self._pattern, self._place)
        if self._next() in ("*", "+"):
            self._repeat(int(self._next() == "+"), MAX_REPEAT, self._place + 1)
        elif self._next() == "?":
            self._repeat(0, 1, self._place + 1)
        elif count is not None and (count[1] or count[3]):
            low = int(count[1] or 0)
            high = low if count[2] is None else int(count[3]) if count[3] else MAX_REPEAT
            self._repeat(low, high, count.end())

    def _repeat(self, low: int, high: int, place: int) -> None:
        if max(low, high) > MAX_REPEAT:
            raise PatternError(f"it repeats something more than {MAX_REPEAT} times")
        self._multiply(high - low + 1)
        self._put(f"{{{low},{high}}}")
        self._place = place
        if self._next() in ("?", "+"):
            self._add(self._next())

    def _multiply(self, ways: int) -> None:
        self._ways[-1][1] *= ways
        if sum(self._ways[-1]) > MAX_WAYS:
            raise PatternError("it can be read in too many ways: have fewer repeats, or `.*` between them")

    def _next(self, further: int = 0) -> str:
        return self._pattern[self._place + further : self._place + further + 1]

    def _atom(self) -> str:
        if self._pattern[self._place] == "\\":
            return self._pattern[self._place : self._place + 2]
        if self._pattern[self._place] == "[":
            # The first character may be a bracket itself, and one behind a backslash is.
            found = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]", re.S).match(self._pattern, self._place)
            return self._pattern[self._place :] if found is None else found[0]
        return self._pattern[self._place]

    def _add(self, text: str) -> None:
        self._put(text)
        self._place += len(text)

    def _put(self, text: str) -> None:
        self._found[-1][0][-1] += text
