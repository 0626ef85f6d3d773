"""How often claims of completion were true later, by how sure they were.

Pure. A claim of "done" was true if the complete runs that came after it stayed green until the phase exited, or until
the next claim; it was false if one of them was not green, or the task went back. One that nothing came after is open.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from phase_gate.gate.outcomes import Green
from phase_gate.gate.state import Event
from phase_gate.values import Value

#: Where one row of the table ends and the next begins: the document's own limits, and two in between.
_BOUNDS = (0, 30, 50, 70, 85, 101)


class Row(Value):
    """Claims with a score from `low` up to, and without, `high`."""

    low: int
    high: int
    claims: int
    true: int
    #: Of the claims, how many were true; None: there are none.
    share: float | None


class Calibration(Value):
    rows: tuple[Row, ...]
    open: int


def calibrate(events: Iterable[Event]) -> Calibration:
    """Return how many claims of each score were true."""
    claims: list[tuple[int, list[Event]]] = []
    after: list[Event] = []
    for event in events:
        if event.kind != "claimed":
            after.append(event)
            continue
        after = []
        if event.data["claim"]["explicit"] is True:
            claims.append((event.data["claim"]["confidence"], after))
    judged = [(score, _was_true(later)) for score, later in claims]
    rows = []
    for low, high in pairwise(_BOUNDS):
        inside = [truth for score, truth in judged if low <= score < high and truth is not None]
        true = sum(inside)
        rows.append(
            Row(low=low, high=high, claims=len(inside), true=true, share=true / len(inside) if inside else None)
        )
    return Calibration(rows=tuple(rows), open=sum(truth is None for _, truth in judged))


def _was_true(after: Iterable[Event]) -> bool | None:
    """Tell whether a claim was true by what came after it; None if that does not tell."""
    has_run = False
    for event in after:
        data = event.data
        if event.kind == "run-ended" and data.get("iteration") is not None:
            has_run = True
            if data["green"] == Green.NOT_GREEN:
                return False
        elif event.kind == "rewound" or (event.kind == "phase-entered" and data.get("how") == "rewind"):
            return False
        elif event.kind == "phase-exited":
            return not data.get("forced", False)
    return True if has_run else None
