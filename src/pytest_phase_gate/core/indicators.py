"""Signs that work is complete: words that an agent uses, and what was measured.

Pure. Words are looked for sentence by sentence; one that denies, asks, sets a condition or speaks of what is to come is
no sign. What is not known is no sign either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Literal

from pytest_phase_gate.core.values import Value

#: The source document's six.
DEFAULT_PATTERNS = (
    "<promise>COMPLETE</promise>",
    "all tasks.*completed",
    "implementation.*finished",
    "ready for review",
    "no remaining work",
    "all acceptance criteria.*met",
)

#: More than any phrase needs.
MAX_PATTERN = 200
#: `.*` and the like in one pattern: with two of them a sentence is still searched in no time.
_MAX_REPEATS = 2

#: In front of a match, or inside of it: what is said is not so, not yet, or not known.
_DENIED = re.compile(
    r"\b(?:not|never|cannot|isnt|arent|dont|hardly|neither|nor|without|unable|nearly|almost|partially|partly|mostly|"
    r"until|unless|before|once|when|whenever|if|whether|assuming|provided|suppose|as soon as|"
    r"will|would|should|could|might|may|shall|must|to be|to get|going to|"
    r"needs? to|have to|has to|plan(?:ning)? to|want to|let me|next|todo|to do|soon|later|expect|hope|"
    r"far from|no way|nowhere near|fails? to|failed to|yet to|"
    r"instead of|rather than|claims?|claimed|says?|said|print|output|outputting|write|respond with)\b|"
    r"n['’]t\b|['’]ll\b|['’]d\b",
    re.IGNORECASE,
)
#: Behind a match: it takes part of it back.
_TAKEN_BACK = re.compile(
    r"\b(?:not|never|except|excepting|but|apart from|other than|besides|however|although|though|only|if|once|when|"
    r"after|unless|until|as soon as|yet|soon|later|tomorrow|false|minus|pending)\b|n['’]t\b",
    re.IGNORECASE,
)


class PatternError(ValueError):
    """Why a pattern can't be used."""


class Indicator(Value):
    """One sign, whether it is there, and how that is known."""

    name: str
    kind: Literal["pattern", "evidence"]
    #: None: not known, which is no sign.
    present: bool | None
    detail: str = ""


def check_pattern(pattern: str) -> None:
    """Raise PatternError for one that is no expression, or that could take for ever."""
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"it is longer than {MAX_PATTERN} characters")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"it is no regular expression: {error}") from None
    _check_cost(pattern)


def _check_cost(pattern: str) -> None:
    """Refuse what makes a search slow: repeats in repeats, many repeats, references, looks around."""
    repeats = 0
    depth = 0
    position = 0
    while position < len(pattern):
        sign = pattern[position]
        if sign == "\\":
            if pattern[position + 1 : position + 2].isdigit():
                raise PatternError("it refers to a group")
            position += 2
            continue
        if sign == "[":
            # The first character may be a bracket itself.
            end = pattern.find("]", position + (3 if pattern[position + 1 : position + 2] == "^" else 2))
            position = len(pattern) if end < 0 else end + 1
            continue
        if sign == "(":
            if pattern[position + 1 : position + 2] == "?" and pattern[position + 2 : position + 3] != ":":
                raise PatternError("only plain groups may stand in it")
            depth += 1
            position += 3 if pattern[position + 1 : position + 2] == "?" else 1
            continue
        if sign == ")" and depth:
            depth -= 1
            # A repeat of it would repeat whatever is repeated, or chosen, inside.
            if pattern[position + 1 : position + 2] and pattern[position + 1] in "*+{":
                raise PatternError("a group may not be repeated")
        if sign in "*+{":
            repeats += 1
        position += 1
    if repeats > _MAX_REPEATS:
        raise PatternError(f"it has more than {_MAX_REPEATS} repeats")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # It begins with a word's beginning: "incomplete" is not "complete".
    return re.compile(rf"(?<!\w)(?:{pattern})", re.IGNORECASE)


def find_phrase(pattern: str, prose: str) -> str | None:
    """Return the first sentence that says it and means it; None if there is none.

    :param prose: one sentence a line.
    """
    for found in _compiled(pattern).finditer(prose):
        start = prose.rfind("\n", 0, found.start()) + 1
        end = prose.find("\n", found.end())
        sentence = prose[start : len(prose) if end < 0 else end]
        before, after = prose[start : found.start()], prose[found.end() : start + len(sentence)]
        if sentence.rstrip().endswith("?") or _DENIED.search(before) or _TAKEN_BACK.search(after):
            continue
        if "\n" in found[0] or _DENIED.search(found[0]):
            continue
        return sentence.strip()
    return None


def find_patterns(patterns: Iterable[str], prose: str) -> tuple[Indicator, ...]:
    """Return each pattern once, with the sentence that it was found in."""
    rows = []
    for pattern in dict.fromkeys(patterns):
        sentence = find_phrase(pattern, prose)
        detail = "" if sentence is None else sentence if len(sentence) <= 80 else f"{sentence[:79]}…"
        rows.append(Indicator(name=pattern, kind="pattern", present=sentence is not None, detail=detail))
    return tuple(rows)


def count_present(indicators: Iterable[Indicator]) -> int:
    return sum(each.present is True for each in indicators)


# --- a plan

_BOX = re.compile(r"[ \t]*(?:[-*+•]|\d{1,4}[.)])?[ \t]*\[(?P<mark>[ xX✓✔~-]?)\](?=[ \t]|$)")


def plan_is_ticked(text: str) -> tuple[bool | None, str]:
    """Tell whether every box of a plan is ticked, and how many there are; None if it has no boxes."""
    marks = [found["mark"] for line in text.split("\n") if (found := _BOX.match(line)) is not None]
    ticked = sum(mark in ("x", "X", "✓", "✔") for mark in marks if mark)
    if not marks:
        return None, "no boxes in it"
    return ticked == len(marks), f"{ticked} of {len(marks)} boxes are ticked"
