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
    score: int | None = None
    has_run, left_open = False, 0

    def tell(*, was_true: bool) -> None:
        nonlocal score
        if score is not None:
            judged.append(JudgedClaim(score=score, was_true=was_true))
        score = None

    def leave() -> None:
        nonlocal left_open
        left_open += score is not None and not has_run
        if has_run:
            tell(was_true=True)

    for event in events:
        data = event.data
        if event.kind == "claimed":
            leave()
            score, has_run = (data["claim"]["confidence"] if data["claim"]["explicit"] is True else None), False
        elif event.kind == "run-ended" and data.get("iteration") is not None:
            has_run = True
            if data["green"] == Green.NOT_GREEN:
                tell(was_true=False)
        elif event.kind == "rewound" or (event.kind == "phase-entered" and data.get("how") == "rewind"):
            tell(was_true=False)
        elif event.kind == "phase-exited":
            tell(was_true=not data.get("forced", False))
    leave()
    return judged, left_open


def calibrate(claims: Iterable[JudgedClaim], left_open: int = 0) -> Calibration:
    """Return how many claims of each score were true."""
    claims = list(claims)
    rows = []
    for low, high in pairwise(BOUNDS):
        inside = [claim for claim in claims if low <= claim.score < high]
        rows.append(Row(low=low, high=high, claims=len(inside), true=sum(claim.was_true for claim in inside)))
    return Calibration(rows=tuple(rows), open=left_open)


def calibration_to_json(calibration: Calibration) -> dict[str, Any]:
    rows = [{**as_dict(row), "share": row.share} for row in calibration.rows]
    return {"rows": rows, "open": calibration.open}
