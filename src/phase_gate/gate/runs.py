"""Kinds of run: what one pytest session may say about the suite.

Pure: the facts of a run are arguments. Only a complete run may open Gate 1.
"""

from __future__ import annotations

from enum import StrEnum

from phase_gate.values import Value
from phase_gate.visible import count, name_first


class Kind(StrEnum):
    """In the order in which they are tried: the first that fits wins."""

    VOID = "void"
    NESTED = "nested"
    LOST = "lost"
    INCOMPLETE = "incomplete"
    PARTIAL = "partial"
    EMPTY = "empty"
    COMPLETE = "complete"


class Green(StrEnum):
    """What a run says about the suite's colour."""

    GREEN = "green"
    #: Nothing failed, but something is odd: it neither extends nor ends a streak.
    ODD = "odd"
    NOT_GREEN = "not-green"


class RunFacts(Value):
    """What classification needs to know of a run that has ended."""

    collected: int
    executed: int
    is_void: bool = False
    is_nested: bool = False
    #: Why the session ended before its time, in words; empty if it did not.
    interrupted: str = ""
    not_run: int = 0
    changed_sources: tuple[str, ...] = ()
    unselected: int = 0
    uncollectable: int = 0
    narrowed_by: tuple[str, ...] = ()


class Classified(Value, kw_only=False):
    kind: Kind
    why: str = ""


def classify_run(facts: RunFacts) -> Classified:
    """Return the first kind that fits, and why it is not a complete run."""
    if facts.is_void:
        return Classified(Kind.VOID, facts.interrupted or "no test was meant to run")
    if facts.is_nested:
        return Classified(Kind.NESTED, "it ran inside another run of this task")
    if facts.interrupted:
        return Classified(Kind.INCOMPLETE, facts.interrupted)
    if facts.not_run:
        return Classified(Kind.INCOMPLETE, f"{count(facts.not_run, 'collected test')} did not run")
    if facts.changed_sources:
        return Classified(Kind.INCOMPLETE, f"sources changed while it ran: {name_first(facts.changed_sources)}")
    if facts.unselected:
        by = f" ({'; '.join(facts.narrowed_by)})" if facts.narrowed_by else ""
        return Classified(Kind.PARTIAL, f"{count(facts.unselected, 'known test')} did not run{by}")
    if not facts.collected and not facts.uncollectable:
        return Classified(Kind.EMPTY, "no test was collected")
    if not facts.executed and not facts.uncollectable:
        return Classified(Kind.EMPTY, "every test was skipped")
    return Classified(Kind.COMPLETE)
