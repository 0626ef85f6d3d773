"""What was tried in the sample's last phase, as values of the features that try it."""

from __future__ import annotations

from typing import Any

from phase_gate.gate.reach import Reach
from phase_gate.new_code.provider import reach_of
from phase_gate.new_code.view import view_of
from phase_gate.proof.model import FunctionProof, Proof, TargetProof
from phase_gate.source.new_code import find_new

_TESTS = tuple(
    f"tests/test_reminder.py::test_{name}"
    for name in ("first_after_fourteen_days", "paid_ones_get_none", "fee_from_the_second_on")
)

BEFORE = """\
from datetime import timedelta

DAYS = 14
"""
SOURCE = """\
from datetime import timedelta

DAYS = 14
FEE = 5


def is_due(invoice, today):
    if invoice.paid:
        return False
    return today >= invoice.date + timedelta(days=DAYS)


def fee(number):
    if number >= 2:
        return FEE
    return 0


def escalate(invoice):
    invoice.lawyer = True
    return invoice
"""

PROOF = Proof(
    targets=(
        TargetProof(
            id=_TESTS[0],
            verdict="proven",
            control="fails",
            treatment="passes",
            notices=("reminder.py::is_due",),
            was_tried=True,
        ),
        TargetProof(
            id=_TESTS[1],
            verdict="passes-without",
            control="passes",
            treatment="passes",
            why="nothing of the change is needed for it",
        ),
        TargetProof(
            id=_TESTS[2],
            verdict="checks-nothing",
            control="fails",
            treatment="passes",
            was_tried=True,
            reaches=("fee",),
        ),
    ),
    functions=(FunctionProof(file="reminder.py", name="fee", line=13),),
)


def new_lines() -> dict[str, Any]:
    """Return the view of new lines as a run keeps it."""
    reach = Reach(
        lines={
            "reminder.py": {
                **dict.fromkeys((4, 7, 13, 19), ("",)),
                8: _TESTS[:2],
                9: _TESTS[1:2],
                10: _TESTS[:1],
                14: _TESTS[2:],
                15: _TESTS[2:],
            }
        },
        jumps={"reminder.py": ((8, 9), (8, 10), (14, 15))},
    )
    new = find_new({"reminder.py": BEFORE}, {"reminder.py": SOURCE})
    return view_of([reach_of(path, code, reach) for path, code in new.items()], {"reminder.py": SOURCE})
