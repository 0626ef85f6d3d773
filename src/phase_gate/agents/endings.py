"""What a client tells of itself: why it ended, by its exit status and its last words; and what it does now. Pure.

Each client's row says how its own errors look; they were seen with a server that refuses as its makers' does. Only a
client that failed is looked at, and only the form in which it reports errors itself: what a model says decides nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from phase_gate.values import Literal, Value
from phase_gate.visible import show_line

#: `ended`: it worked, and stopped. `busy`: it was refused for now, and the same call works later. `no-login`,
#: `no-credit`, `untrusted`: only a person can mend it. `failed`: anything else.
Kind = Literal["ended", "busy", "no-login", "no-credit", "untrusted", "failed"]

#: Characters and lines at the end of the output in which a client says why it failed.
LAST_WORDS, _LAST_ROWS = 8000, 60
_COLOUR = r"\x1b\[[0-9;]*m"
#: Characters of its words that are kept.
_KEPT = 200


class Sign(Value, kw_only=False):
    """What a line of a client's own errors looks like, by the end that it tells of."""

    kind: Kind
    #: A regular expression; its group `said` has the words, if not the whole line has.
    pattern: str


class Ending(Value):
    kind: Kind
    #: The client's own words; empty where it told nothing that we know.
    said: str = ""

    @property
    def is_for_people(self) -> bool:
        """Only a person can mend it."""
        return self.kind in ("no-login", "no-credit", "untrusted")


#: For programs that we know nothing of: they have to say it in so many words, anywhere in a line.
ANY_PROGRAM = (
    Sign(
        "no-login",
        r"(?i)not logged in|please (?:log|sign) ?in|run /login|invalid api key"
        r"|authentication[ _]?(?:error|failed|required)|\b401\b|unauthorized",
    ),
    Sign("no-credit", r"(?i)credit balance|out of credits?|insufficient_quota|payment required|\b402\b"),
    Sign(
        "busy",
        r"(?i)\b(?:429|529)\b|rate.?limit|too many requests|overloaded|at capacity|RESOURCE_EXHAUSTED|try again later",
    ),
)


def classify(signs: tuple[Sign, ...], code: int | None, tail: str) -> Ending:
    """Return how a client ended; of several lines that tell something, the last one counts.

    :param signs: those of the client's row.
    :param code: its exit status; None if it was ended from outside.
    :param tail: the end of all that it printed.
    """
    if code == 0:
        return Ending(kind="ended")
    for row in reversed(re.sub(_COLOUR, "", tail[-LAST_WORDS:]).splitlines()[-_LAST_ROWS:]):
        for sign in signs:
            found = re.search(sign.pattern, row.strip())
            if found:
                said = found.groupdict().get("said") or row.strip()
                return Ending(kind=sign.kind, said=show_line(said)[:_KEPT])
    return Ending(kind="failed")


# --- what a client does now, by the events that it prints, one JSON document a line: nothing is decided by it


#: In an event, what tells most of what a client says or calls: the first that there is, however deep.
_TELLING = ("text", "command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "content")


def describe_event(line: str) -> str | None:
    """Return what an event tells in a line, empty if that is nothing; None if the line is no event."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        event = json.loads(line)
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            return None
        told = {key: text for key, text in _texts_in(event) if text.strip()}
    except (ValueError, RecursionError):
        return None
    said = next((told[key] for key in _TELLING if key in told), "")
    # The last line of a text: where it says what comes of it.
    return (said.strip().splitlines() or [""])[-1].strip()


def _texts_in(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts_in(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts_in(inner, key)
