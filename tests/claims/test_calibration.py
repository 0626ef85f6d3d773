"""Whether claims were true later."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.claims.confidence import calibrate
from phase_gate.gate.state import Event


def claimed(score: int = 80, *, done: bool = True) -> Event:
    return Event(kind="claimed", data={"claim": {"confidence": score, "explicit": done}})


def ran(green: str, **more: Any) -> Event:
    return Event(kind="run-ended", data={"iteration": 1, "green": green, **more})


GREEN, RED, PARTIAL = ran("green"), ran("not-green"), ran("green", iteration=None)
EXIT = Event(kind="phase-exited", data={"forced": False})
FORCED = Event(kind="phase-exited", data={"forced": True})
REWOUND = Event(kind="rewound", data={})


@pytest.mark.parametrize(
    ("events", "truth", "left_open"),
    [
        pytest.param([claimed(), GREEN, EXIT], [True], 0, id="green-and-out"),
        pytest.param([claimed(), EXIT], [True], 0, id="out-at-once"),
        pytest.param([claimed(), RED, GREEN], [False], 0, id="red-after-it"),
        pytest.param([claimed(), GREEN, RED], [False], 0, id="red-later"),
        pytest.param([claimed(), REWOUND], [False], 0, id="somebody-went-back"),
        pytest.param([claimed(), FORCED], [False], 0, id="forced-out"),
        pytest.param([claimed()], [], 1, id="nothing-came"),
        pytest.param([claimed(), PARTIAL], [], 1, id="only-a-partial-run"),
        pytest.param([claimed(), GREEN, claimed(), RED], [True, False], 0, id="each-claim-by-itself"),
        pytest.param([claimed(), claimed(), EXIT], [True], 1, id="claimed-twice"),
        pytest.param([claimed(done=False), RED], [], 0, id="not-done-is-no-claim"),
        pytest.param([RED, claimed(), GREEN], [True], 0, id="what-was-before-does-not-count"),
    ],
)
def test_the_truth_comes_later(events: list[Event], truth: list[bool], left_open: int) -> None:
    found = calibrate(events)
    row = next(row for row in found["rows"] if row["low"] == 70)
    assert (row["claims"], row["true"], found["open"]) == (len(truth), sum(truth), left_open)


def test_the_table() -> None:
    scores = ((20, RED), (75, GREEN), (75, RED), (100, GREEN))
    found = calibrate(event for score, later in scores for event in (claimed(score), later))
    rows = [(row["low"], row["claims"], row["true"]) for row in found["rows"]]
    assert rows == [(0, 1, 0), (30, 0, 0), (50, 0, 0), (70, 2, 1), (85, 1, 1)]
