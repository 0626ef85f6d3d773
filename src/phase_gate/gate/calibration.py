"""How often claims of completion were true later, by how sure they were.

Pure. A claim of "done" was true if the complete runs that came after it stayed green until the phase exited, or until
the next claim; it was false if one of them was not green, or the task went back. One that nothing came after is open.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from phase_gate.gate.outcomes import Green
from phase_gate.gate.state import Event
from phase_gate.values import Value, as_dict

#: Where one row of the table ends and the next begins: the document's own limits, and two in between.
BOUNDS = (0, 30, 50, 70, 85, 101)


class JudgedClaim(Value):
    score: int
    was_true: bool


class Row(Value):
    """Claims with a score from `low` up to, and without, `high`."""

    low: int
    high: int
    claims: int
    true: int

    @property
    def share(self) -> float | None:
        return self.true / self.claims if self.claims else None


class Calibration(Value):
    rows: tuple[Row, ...]
    open: int


def judge_claims(events: Iterable[Event]) -> tuple[list[JudgedClaim], int]:
    """Return the claims of "done" that time has told about, and how many it has not."""
    judged: list[JudgedClaim] = []
    waiting: dict[str, Any] | None = None
    has_run = False
    left_open = 0
    for event in events:
        if event.kind == "claimed":
            claim = event.data["claim"]
            if waiting is not None:
                if has_run:
                    judged.append(_judge(waiting, was_true=True))
                else:
                    left_open += 1
            waiting, has_run = (dict(claim) if claim["explicit"] is True else None), False
        elif waiting is None:
            continue
        elif event.kind == "run-ended" and event.data.get("iteration") is not None:
            if event.data["green"] == Green.NOT_GREEN:
                judged.append(_judge(waiting, was_true=False))
                waiting = None
            has_run = True
        elif event.kind == "rewound" or (event.kind == "phase-entered" and event.data.get("how") == "rewind"):
            judged.append(_judge(waiting, was_true=False))
            waiting = None
        elif event.kind == "phase-exited":
            judged.append(_judge(waiting, was_true=not event.data.get("forced", False)))
            waiting = None
    if waiting is not None:
        left_open += not has_run
        judged += [_judge(waiting, was_true=True)] if has_run else []
    return judged, left_open


def _judge(claim: dict[str, Any], *, was_true: bool) -> JudgedClaim:
    return JudgedClaim(score=claim["confidence"], was_true=was_true)


def calibrate(claims: Iterable[JudgedClaim], left_open: int = 0) -> Calibration:
    """Return how many claims of each score were true."""
    claims = list(claims)
    rows = []
    for low, high in pairwise(BOUNDS):
        inside = [claim for claim in claims if low <= claim.score < high]
        rows.append(Row(low=low, high=high, claims=len(inside), true=sum(claim.was_true for claim in inside)))
    return Calibration(rows=tuple(rows), open=left_open)


def calibration_to_json(calibration: Calibration) -> dict[str, Any]:
    return {
        "rows": [{**as_dict(row), "share": row.share} for row in calibration.rows],
        "open": calibration.open,
    }
