"""How a client is started without a person, and what its troubles look like. Pure.

A trouble is read from the output of a client that failed; nothing else in its output decides anything.
"""

from __future__ import annotations

import re
from typing import Literal

from phase_gate.values import Value

#: `wait`: it is busy, and the same call works later. `person`: only a person can mend it.
Kind = Literal["wait", "person"]

#: Bytes at the end of the output in which a client says why it failed.
LAST_WORDS = 4000

_BUSY = re.compile(
    r"\b(?:429|529)\b|rate.?limit|too many requests|overloaded|at capacity|RESOURCE_EXHAUSTED|try again later",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"not logged in|please (?:log|sign) ?in|run /login|invalid api key|authentication[ _]?(?:error|failed|required)"
    r"|\b401\b|unauthorized|credit balance|out of credits?|insufficient_quota|payment required|\b402\b",
    re.IGNORECASE,
)


class Trouble(Value):
    kind: Kind
    #: The client's own words.
    said: str


def find_trouble(code: int | None, said: str) -> Trouble | None:
    """Return why a client could not work; None where it could, or where nothing tells.

    :param code: what it ended with.
    :param said: the end of what it printed.
    """
    if code in (0, None):
        return None
    rows = [row.strip() for row in said[-LAST_WORDS:].splitlines() if row.strip()]
    patterns: tuple[tuple[Kind, re.Pattern[str]], ...] = (("person", _PERSON), ("wait", _BUSY))
    for kind, pattern in patterns:
        for row in reversed(rows):
            if pattern.search(row):
                return Trouble(kind=kind, said=row[:200])
    return None
