"""Blocks that are seen and do not count: how they are written, or where they stand, is not how a block has to be.

Pure. They say nothing, so nothing is taken from them but the reason why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from phase_gate.claims.text import Place
from phase_gate.values import Value

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
