"""`phase-gate drive` with an agent without a model: what it does, says and ends with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.drive.conftest import DONE, RED, RIGHT, WRONG, Track, answer

pytestmark = pytest.mark.processes

Begin = Callable[[str], Track]


def test_honest_work_comes_to_its_end_in_three_tries(track: Begin) -> None:
    driven = track("").plan(
        {"write": {"test_calc.py": RED}, **answer("both fail"), "expect": ["# RED: ", "an adder"]},
        {"write": {"calc.py": WRONG}, "say": DONE, **answer(), "expect": ["# GREEN: ", "an adder"]},
        {"write": {"calc.py": RIGHT}, **answer("both pass"), "expect": ["1 of 2 tests fails", "came too early"]},
        signal="agent",
    )
    ran = driven.drive("--goal", "an adder")
    assert ran.code == 0, ran.out
    assert ran.has(
        "iteration 3: GREEN", "1 of 2 tests fails", "drive ends: done: both gates are open: GREEN has exited"
    )
    assert driven.turns() == 3
    ended = driven.iterations()
    assert [row["outcome"] for row in ended] == ["go-on", "go-on", "done"]
    assert all(row["agent_seconds"] > 0 < row["suite_seconds"] for row in ended)
    (last,) = driven.events("drive-ended")
    assert (last["outcome"], last["exit_code"]) == ("done", 0)
    assert driven.desk.gate("audit").code == 0


def test_a_person_is_asked_by_default(track: Begin) -> None:
    driven = track("red-exited").plan(
        {"write": {"calc.py": RIGHT}, "say": DONE, "expect": ["a person gives it: not you"]}
    )
    rows = driven.rows(code=13)
    assert (rows[-1]["outcome"], rows[-1]["reason"]) == (
        "person",
        "Gate 1 of GREEN is open: a person gives the signal of Gate 2",
    )
    assert rows[-1]["next_command"] == 'phase-gate signal --reason "..."'
    assert driven.turns() == 1
    assert driven.desk.gate("signal", "--reason", "I looked").code == 0, "and a person can give it then"
