"""The confidence in a claim: points from 0 to 100, each with its reason.

Pure. Unknown items score no points and are shown as unknown, and the threshold is scaled to the points that can be
earned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import ceil
from typing import Any, Literal

from phase_gate.claims.blocks import StatusBlocks
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.state import Claims, Event
from phase_gate.values import Value, field, replace
from phase_gate.visible import cut
from phase_gate.workflow.metrics import Metrics
from phase_gate.workflow.model import Limits
from phase_gate.workflow.sections import ConfidenceRules, ExitGate, find_ends


class Sign(Value, kw_only=False):
    """A sign of completion, whether it is there, and how that is known."""

    #: None if unknown, which does not count as there.
    met: bool | None = None
    reason: str = ""
    name: str = ""
    kind: Literal["pattern", "evidence", "signal", "part"] = "evidence"
    #: For a part of the confidence: its points.
    worth: int = 0


class Threshold(Value):
    """The number of indicators that a claim needs, and where it is set."""

    value: int = 2
    source: str = "default"
    #: Who lowered it for this claim, and why; empty if it is at least the project's threshold.
    lowered: str = ""


class ClaimContext(Value):
    """Everything that a claim is compared with."""

    #: A message if the user interrupted the last run, which takes precedence.
    interrupted: str = ""
    breaker: Breaker = Breaker()
    limits: Limits = Limits()
    #: A measured failure that contradicts the claim.
    failure: str = ""
    #: Why no run is about the current files; empty if one is.
    untested: str = ""
    #: The enabled indicators from measurements.
    evidence: tuple[Sign, ...] = ()
    #: Whether git found files that changed since the cycle began.
    files: Sign = Sign()
    task_file: Sign = Sign()
    tests: Sign = Sign()
    #: The metrics of the last complete run; empty if there is none.
    metrics: Metrics = field(default_factory=dict)
    phase: str = ""
    iteration: int = 0
    #: The digest of the files that the claim is about.
    tree: str = ""
    #: The counters so far. Each one increases at most once per iteration.
    counted: Claims = Claims()
    #: The claim metrics that Gate 1 of the phase uses; empty for none.
    asked: frozenset[str] = frozenset()
    at: str = ""
    #: The project's settings, and the indicators that this claim needs.
    gate: ExitGate = field(default_factory=ExitGate)
    rules: ConfidenceRules = field(default_factory=ConfidenceRules)
    threshold: Threshold = Threshold()


#: Points for a block and for its answer. These two are always required.
_BLOCK, _COMPLETE = 30, 20
_KEYWORDS = "keywords"


def score_confidence(blocks: StatusBlocks, prose: str, context: ClaimContext) -> tuple[Sign, ...]:
    """Return the items of the score: 30 block, 20 complete, 15 files, 20 task file, 10 keywords, 5 tests."""
    filled = ", ".join(block.kind for block in blocks.blocks if not block.problems)
    answer = {True: "it reports done", False: "it reports not done", None: "no block reports done"}[blocks.explicit]
    word = next((each for each in context.rules.keywords if find_phrase(each, prose) is not None), None)
    words = "no keyword is used affirmatively" if word is None else repr(word)
    rows = (
        ("status block", _BLOCK, Sign(bool(filled), filled or "no valid block: prose alone is weak evidence")),
        ("reports complete", _COMPLETE, Sign(blocks.explicit is True, answer)),
        ("files changed", 15, context.files),
        ("task file moved", 20, context.task_file),
        (_KEYWORDS, 10, Sign(word is not None, words)),
        ("tests pass", 5, context.tests),
    )
    return tuple(replace(sign, name=name, kind="part", worth=worth) for name, worth, sign in rows)


def has_keyword(parts: Iterable[Sign]) -> bool:
    """Return whether the agent's own words claim completion."""
    return any(part.name == _KEYWORDS and part.met for part in parts)


def measurable(parts: Iterable[Sign]) -> int:
    """Return the points that can be earned: those of all items that are not unknown."""
    return sum(part.worth for part in parts if part.met is not None)


def needed(parts: Iterable[Sign], threshold: int) -> int:
    """Return the threshold, scaled to the measurable points, but at least the points for a block that reports done."""
    return min(threshold, max(_BLOCK + _COMPLETE, ceil(threshold * measurable(parts) / 100)))


# --- indicators of completion: phrases that an agent uses, and measurements


#: Phrases that indicate completion.
DEFAULT_PATTERNS = (
    "<promise>COMPLETE</promise>",
    "all tasks.*completed",
    "implementation.*finished",
    "ready for review",
    "no remaining work",
    "all acceptance criteria.*met",
    r"all tasks complete\b",
    "tests passing",
)

#: Before a match, or inside it: the statement is negated, in the future, or conditional.
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
#: After a match: the statement is qualified.
_TAKEN_BACK = re.compile(
    r"\b(?:not|never|except|excepting|but|apart from|other than|besides|however|although|though|only|if|once|when|"
    r"after|unless|until|as soon as|yet|soon|later|tomorrow|false|minus|pending)\b|n['’]t\b",
    re.IGNORECASE,
)


#: Only this many characters at the end of the prose are searched: more than a summary has, but a log is cut.
MAX_PROSE = 200_000


def find_phrase(pattern: str, prose: str) -> str | None:
    """Return the first sentence that uses the phrase affirmatively; None if there is none.

    :param prose: one sentence per line.
    """
    if len(prose) > MAX_PROSE:
        # Begin with a whole sentence: part of one may have the opposite meaning.
        prose = prose[-MAX_PROSE:].partition("\n")[2]
    for sentence in prose.split("\n"):
        ends = list(find_ends(pattern, sentence))
        if not ends or sentence.rstrip().endswith("?"):
            continue
        denied = _DENIED.search(sentence)
        first = len(sentence) + 1 if denied is None else denied.end()
        last = max((found.start() for found in _TAKEN_BACK.finditer(sentence)), default=-1)
        if any(first > end > last for end in ends):
            return sentence.strip()
    return None


def find_patterns(patterns: Iterable[str], prose: str) -> tuple[Sign, ...]:
    """Return a sign for each distinct pattern, with the sentence that matches it."""
    found = {pattern: find_phrase(pattern, prose) for pattern in patterns}
    return tuple(
        Sign(sentence is not None, cut(sentence or "", 80), name=pattern, kind="pattern")
        for pattern, sentence in found.items()
    )


def count_present(signs: Iterable[Sign]) -> int:
    return sum(each.met is True for each in signs)


# --- a plan

_BOX = re.compile(r"[ \t]*+(?:[-*+•]|\d{1,4}[.)])?+[ \t]*+\[(?P<mark>[ xX✓✔~-]?)\](?=[ \t]|$)")


def plan_is_ticked(text: str) -> Sign:
    """Return whether all checkboxes of a plan are ticked, and their number; None if it has none."""
    marks = [found["mark"] for line in text.split("\n") if (found := _BOX.match(line)) is not None]
    if not marks:
        return Sign(None, "no boxes in it")
    ticked = sum(mark in ("x", "X", "✓", "✔") for mark in marks)
    return Sign(ticked == len(marks), f"{ticked} of {len(marks)} boxes are ticked")


# --- differences between claimed and measured numbers, which are reported but don't affect the decision


#: A number in GATE_1_DETAIL: `tests_passing: 10/10`, `consecutive_runs: 2`.
_NUMBER = re.compile(r"\b(?P<name>[a-z_]{1,60}): ?(?P<value>\d{1,9})(?:/(?P<total>\d{1,9}))?(?![\w.])")
_DETAIL_NAMES = {"consecutive_runs": "consecutive_green_runs"}


def compare(blocks: StatusBlocks, metrics: Metrics) -> Iterator[str]:
    """Yield a line for each claimed number that differs from the measured one."""
    for place, name, claimed in _claimed_numbers(blocks):
        measured = metrics.get(name)
        if type(measured) is int and measured != claimed:
            yield f"{place}: {claimed} was claimed, {measured} was measured"


def _claimed_numbers(blocks: StatusBlocks) -> Iterator[tuple[str, str, int]]:
    """Yield each number of a PRP block: its place, the name of its metric, and its value."""
    for name in ("tests_total", "tests_passing", "tests_failing"):
        claimed = blocks.value("PRP_PHASE_STATUS", name.upper())
        if claimed not in ("", "null"):
            yield name.upper(), name, int(claimed)
    for found in _NUMBER.finditer(blocks.value("PRP_PHASE_STATUS", "GATE_1_DETAIL")):
        name = _DETAIL_NAMES.get(found["name"], found["name"])
        yield f"GATE_1_DETAIL: {name}", name, int(found["value"])
        if found["total"] is not None and name.startswith("tests_"):
            yield "GATE_1_DETAIL: tests_total", "tests_total", int(found["total"])


# --- how many claims turned out to be true, by their score


#: The boundaries between the rows of the table: the default limits, and two in between.
_BOUNDS = (0, 30, 50, 70, 85, 101)


def calibrate(events: Iterable[Event]) -> dict[str, Any]:
    """Return how many claims were made and true, by score from `low` to below `high`, and how many are still open.

    A claim of "done" was true if all complete runs after it were green until the phase exited, or until the next claim.
    """
    judged: list[tuple[int, bool | None]] = []
    is_judged = True
    for event in events:
        if event.kind == "claimed":
            claim = event.data["claim"]
            is_judged = claim["explicit"] is not True
            if not is_judged:
                judged.append((claim["confidence"], None))
        elif not is_judged and (truth := _shows(event)) is not None:
            judged[-1] = (judged[-1][0], truth)
            is_judged = not truth or event.kind == "phase-exited"  # after a green run, another one may show it
    rows = []
    for low, high in pairwise(_BOUNDS):
        inside = [truth for score, truth in judged if low <= score < high and truth is not None]
        rows.append({"low": low, "high": high, "claims": len(inside), "true": sum(inside)})
    return {"rows": rows, "open": sum(truth is None for _, truth in judged)}


def _shows(event: Event) -> bool | None:
    """Return what an event shows about the claim before it: that it was true, or false; None: nothing."""
    data = event.data
    if event.kind == "run-ended" and data.get("iteration") is not None:
        return bool(data["green"] != "not-green")
    if event.kind == "rewound" or (event.kind == "phase-entered" and data.get("how") == "rewind"):
        return False
    return not data.get("forced", False) if event.kind == "phase-exited" else None
