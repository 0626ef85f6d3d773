"""The status line of a drive."""

from __future__ import annotations

import pytest

from phase_gate.drive.view import Working, render_status


@pytest.mark.parametrize(
    ("working", "status"),
    [
        (Working(role="agent", where="GREEN", number=3, limit=1200), "GREEN 3 · agent works 1m 02s of 20m"),
        (Working(role="reviewer", where="part", number=2), "part 2 · reviewer works 1m 02s"),
        (Working(role="tests", where="RED", number=1), "RED 1 · tests run 1m 02s"),
    ],
)
def test_the_status_line(working: Working, status: str) -> None:
    assert render_status(working, 62.0) == status
