"""How many claims of completion turned out to be true, by their confidence.

Pure. A claim of "done" was true if all complete runs after it were green until the phase exited, or until the next
claim. It was false if one of them was not green, or if the task returned to an earlier phase. A claim without any run
after it is open.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from phase_gate.gate.state import Event
from phase_gate.values import Value

#: The boundaries between the rows of the table: the default limits, and two in between.
_BOUNDS = (0, 30, 50, 70, 85, 101)


class Row(Value):
    """Claims with a score from `low` up to, but not including, `high`."""

    low: int
    high: int
    claims: int
    true: int
    #: The share of true claims; None if there are no claims.
    share: float | None


class Calibration(Value):
    rows: tuple[Row, ...]
    open: int


def calibrate(events: Iterable[Event]) -> Calibration:
    """Return the number of true claims by score."""
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
    """Return whether the events after a claim show that it was true; None if they do not show it."""
    has_run = False
    for event in after:
        data = event.data
        if event.kind == "run-ended" and data.get("iteration") is not None:
            has_run = True
            if data["green"] == "not-green":
                return False
        elif event.kind == "rewound" or (event.kind == "phase-entered" and data.get("how") == "rewind"):
            return False
        elif event.kind == "phase-exited":
            return not data.get("forced", False)
    return True if has_run else None
