"""`phase-gate drive` of a cycle with an agent without a model: how it goes on, and how it ends."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.drive.conftest import DONE, RED, RIGHT, WRONG, Track, answer

pytestmark = pytest.mark.processes

Begin = Callable[[str], Track]


def test_honest_work_comes_to_its_end_in_three_tries(track: Begin) -> None:
    driven = track("").plan(
        {"write": {"test_calc.py": RED}, **answer("both fail"), "expect": ["# RED: ", "an adder"]},
        {"write": {"calc.py": WRONG}, "say": DONE, **answer(), "expect": ["# GREEN: ", "an adder"]},
        {
            "write": {"calc.py": RIGHT},
            **answer("both pass"),
            "expect": ["test_add fails", "came too early"],
        },
        signal="agent",
    )
    ran = driven.drive("--goal", "an adder", real=True)
    assert ran.code == 0, ran.out
    assert ran.has("iteration 3: GREEN", "test_calc.py::test_add fails")
    assert ran.has("drive ends: done: both gates are open: GREEN has exited")
    assert driven.turns() == 3
    ended = driven.iterations()
    assert [row["outcome"] for row in ended] == ["go-on", "go-on", "done"]
    assert all(row["seconds"] > 0 for row in ended)
    (last,) = driven.events("drive-ended")
    assert (last["outcome"], last["exit_code"]) == ("done", 0)
    assert driven.gated.gate("audit").code == 0
    driven.gated.gate("report", "-o", "story.html")
    story = (driven.root / "story.html").read_text(encoding="utf-8")
    assert "the last drive: done" in story


def test_a_person_is_asked_by_default(track: Begin) -> None:
    driven = track("red-exited").plan({"write": {"calc.py": RIGHT}, "say": DONE, "expect": ["and a person gives it"]})
    rows = driven.rows(code=13)
    assert (rows[-1]["outcome"], rows[-1]["reason"]) == (
        "person",
        "Gate 1 of GREEN is open: a person gives the signal of Gate 2",
    )
    assert rows[-1]["next_command"] == "phase-gate signal"
    assert driven.turns() == 1
    again = driven.rows(code=13)
    assert [row["event"] for row in again] == ["drive-started", "person-needed", "drive-ended"]
    assert driven.turns() == 1, "nothing is left for the agent to do"
    assert driven.gated.gate("signal", "--reason", "I looked").code == 0, "and a person can give it then"


def test_a_drive_at_the_end_of_a_cycle_begins_the_next_one(track: Begin) -> None:
    driven = track("done").plan(
        answer("it passes"), answer("written"), signal="agent", until="NOTES", workflow="short.yaml"
    )
    rows = driven.rows(code=0)
    assert [row["phase"] for row in rows if row["event"] == "iteration-started"] == ["GREEN", "NOTES"]
    assert driven.state()["cycle"] == 2
    assert driven.drive("--resume").has("no drive of this task is unfinished", "try: phase-gate drive\n")


@pytest.mark.sweep
def test_a_stubborn_agent_ends_at_the_circuit(track: Begin) -> None:
    tries = [{"write": {"calc.py": f"{WRONG}\n\nTRY = {number}\n"}, "say": DONE} for number in range(9)]
    driven = track("red-exited").plan(*tries)
    rows = driven.rows(code=12)
    assert rows[-1]["outcome"] == "halted"
    assert driven.turns() == 5, "five tries with the same failure open the circuit"
    assert driven.rows(code=12)[-1]["outcome"] == "halted", "and it stays open"
    assert driven.turns() == 5
    assert rows[-1]["next_command"] == "phase-gate status"


def test_done_in_words_alone_asks_a_person_at_the_third_time(track: Begin) -> None:
    tries = [
        {"write": {"calc.py": f"{WRONG}\n\nTRY = {number}\n"}, "say": "Done, all tests pass.\n"} for number in range(4)
    ]
    driven = track("red-exited").plan(*tries)
    rows = driven.rows(code=13)
    assert rows[-1]["reason"].startswith("3 iterations with a claim under 50 points: a person has to look")
    assert driven.turns() == 3


def test_an_idle_agent_is_stuck(track: Begin) -> None:
    driven = track("red-exited").plan({"say": "I think about it.\n"})
    rows = driven.rows(code=12)
    assert rows[-1]["outcome"] == "halted"
    assert rows[-1]["reason"].startswith("the agent changed nothing in 5 iterations")
    assert driven.turns() == 5


def test_an_agent_may_always_call_a_person(track: Begin) -> None:
    call = f'{sys.executable} -m phase_gate.cli signal --blocked --reason "the service is down"'
    driven = track("red-exited").plan({"write": {"calc.py": WRONG}, "run": [call]}, {"write": {"calc.py": RIGHT}})
    rows = driven.rows(code=13)
    assert "the service is down" in rows[-1]["reason"]
    assert driven.turns() == 1
    assert driven.rows("--resume", code=13)[-1]["reason"].startswith("Gate 1 of GREEN is open"), "a person looked"


def test_a_budget_is_for_all_of_a_drive(track: Begin) -> None:
    driven = track("red-exited").plan(
        {"write": {"calc.py": WRONG}}, {"write": {"calc.py": RIGHT}, **answer()}, signal="agent"
    )
    first = driven.rows("--iterations", "1", code=10)
    assert first[-1]["next_command"] == "phase-gate drive --resume --iterations 2"
    driven.rows("--resume", "--iterations", "1", code=10)
    assert driven.turns() == 1, "nothing is left of it"
    rows = driven.rows("--resume", "--iterations", "2", code=0)
    assert (rows[0]["done"], driven.turns()) == (1, 2)


def test_more_time_is_asked_for_where_time_is_spent(track: Begin) -> None:
    driven = track("red-exited").plan({"sleep": 1.5}, {"write": {"calc.py": RIGHT}, **answer()}, signal="agent")
    last = driven.rows("--time", "1s", code=10)[-1]
    assert last["reason"].startswith("the budget of 1s is spent")
    command = re.fullmatch(r"phase-gate drive --resume --time (\d+)s", last["next_command"])
    assert command is not None
    assert int(command[1]) >= 2
    assert driven.rows("--resume", "--time", "10m", code=0)[-1]["outcome"] == "done"


def test_one_drive_a_task(track: Begin) -> None:
    again = f"{sys.executable} -m phase_gate.cli drive -- true; echo $? > code.txt"
    driven = track("red-exited").plan({"run": [again]})
    driven.drive("--iterations", "1")
    assert (driven.root / "code.txt").read_text().strip() == "13"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("settings", "options", "code", "problem"),
    [
        ({"goal_file": "nothing.md"}, (), 2, "nothing.md can't be read: No such file or directory [bad-usage]"),
        ({}, ("--until", "blue"), 2, "workflow tdd has no phase 'BLUE'"),
        ({}, ("--time", "soon"), 2, "--time can't be 'soon'"),
        ({}, ("--resume",), 13, "no drive of this task is unfinished"),
        ({}, ("--", "no-such-agent"), 2, "there is no program 'no-such-agent'"),
    ],
)
def test_calls_that_are_refused(
    track: Begin, settings: dict[str, Any], options: tuple[str, ...], code: int, problem: str
) -> None:
    driven = track("red-exited").plan({}, **settings)
    ran = driven.gated.gate("drive", *(options if "--" in options else (*options, "--", *driven.agent)))
    assert (ran.code, driven.turns()) == (code, 0)
    assert ran.has(problem)
