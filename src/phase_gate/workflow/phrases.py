"""Search an agent's sentences for a project's phrases, in linear time.

Pure. A phrase is a regular expression whose only repeat is `.*`, outside of groups. `re` tries all ways to divide a
text among several `.*`, so a phrase is split there, and its pieces are searched one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from phase_gate.values import Value

#: In characters: more than any phrase needs.
MAX_LENGTH = 200
#: Alternatives in groups, and `?`: together they multiply the ways in which a piece may match at one position.
MAX_CHOICES = 10

#: `.*`, an escape, a set, the start of a group, or another character.
_TOKEN = re.compile(r"\.\*\??|\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\(\?:|.", re.S)


class PatternError(ValueError):
    """Why a pattern can't be used."""


class Phrase(Value):
    """A compiled pattern: alternatives, each a list of pieces that follow each other, with anything in between."""

    ways: tuple[tuple[re.Pattern[str], ...], ...]

    def ends(self, sentence: str) -> Iterator[int]:
        """Yield the positions where a match ends: the last piece anywhere, after the first places of the others."""
        for *pieces, last in self.ways:
            place = 0
            for piece in pieces:
                found = piece.search(sentence, place)
                if found is None:
                    break
                place = found.end()
            else:
                yield from (found.end() for found in last.finditer(sentence, place))


@cache
def compile_phrase(pattern: str) -> Phrase:
    """Compile a pattern, which matches in any case and at the beginning of a word. Raises PatternError."""
    if len(pattern) > MAX_LENGTH:
        raise PatternError(f"it is longer than {MAX_LENGTH} characters")
    try:
        re.compile(pattern)
        return Phrase(ways=tuple(_compile(*way) for way in _split(pattern)))
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"it is not a regular expression: {error}") from None


def _compile(first: str, *others: str) -> tuple[re.Pattern[str], ...]:
    # "incomplete" is not "complete".
    pieces = (rf"(?<!\w)(?:{first})", *others)
    return tuple(re.compile(piece, re.IGNORECASE) for piece in pieces)


def _split(pattern: str) -> list[list[str]]:
    """Return the alternatives of a valid pattern, each as its pieces."""
    ways, depth, choices, before = [[""]], 0, 0, ""
    for token in _TOKEN.findall(pattern):
        if token in ("*", "+", "{") or (token.startswith(".*") and depth):
            raise PatternError("only `.*` outside of a group may repeat something")
        if token == "?" and before == "(":
            raise PatternError("only plain groups are allowed")
        if token[0] == "\\" and token[1:].isdigit():
            raise PatternError("it refers to a group")
        depth += (token in ("(", "(?:")) - (token == ")")
        choices += token == "?" or (token == "|" and depth > 0)
        if token == "|" and not depth:
            ways.append([""])
        elif token.startswith(".*"):
            ways[-1].append("")
        else:
            ways[-1][-1] += token
        before = token
    if choices > MAX_CHOICES:
        raise PatternError(f"it has more than {MAX_CHOICES} choices: write fewer `?` and alternatives in groups")
    return ways
