"""`phase-gate drive` with an agent without a model: what it does, says and ends with."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.drive.conftest import DONE, RED, RIGHT, WRONG, Track, answer

pytestmark = [pytest.mark.processes, pytest.mark.sampled(2)]

Begin = Callable[[str], Track]


# --- honest work


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


@pytest.mark.sweep
def test_an_agent_may_run_the_phase_itself(track: Begin) -> None:
    runs = "{python} -m pytest -p phase_gate.plugin -p no:cacheprovider -q --phase=green"
    driven = track("red-exited").plan(
        {"write": {"calc.py": RIGHT}, "run": [runs.replace("{python}", sys.executable)] * 2, **answer()}, signal="agent"
    )
    rows = driven.rows(code=0, real=True)
    assert len(driven.gated.json("history")["runs"]) == 1 + 2 + 1, "RED, its own two, and one of ours"
    assert rows[-1]["outcome"] == "done"


def test_a_phase_without_tests_is_judged_without_a_run(track: Begin) -> None:
    driven = track("notes").plan(
        {"say": "nothing\n"}, answer("written"), signal="agent", until="NOTES", workflow="short.yaml"
    )
    rows = driven.rows(code=0)
    assert rows[-1]["reason"].endswith("the cycle is done")
    assert "tests-ended" not in [row["event"] for row in rows]


def test_a_fact_that_the_agent_declares_is_judged(track: Begin) -> None:
    declares = f"{sys.executable} -m phase_gate.cli declare refactoring_complete=true --reason tidy"
    driven = track("refactor").plan({"say": "I look around.\n"}, {"run": [declares]}, until="REFACTOR")
    rows = driven.rows(code=13)
    assert rows[-1]["reason"] == "Gate 1 of REFACTOR is open: a person gives the signal of Gate 2"
    assert driven.turns() == 2


def test_a_drive_at_the_end_of_a_cycle_begins_the_next_one(track: Begin) -> None:
    driven = track("done").plan(
        answer("it passes"), answer("written"), signal="agent", until="NOTES", workflow="short.yaml"
    )
    rows = driven.rows(code=0)
    assert [row["phase"] for row in rows if row["event"] == "iteration-started"] == ["GREEN", "NOTES"]
    assert driven.state()["cycle"] == 2
    assert driven.drive("--resume").has("no drive of this task is unfinished", "try: phase-gate drive\n")


# --- claims, cheats, stubbornness


def test_done_while_tests_fail_is_blocked_and_told(track: Begin) -> None:
    driven = track("red-exited").plan(
        {"write": {"calc.py": WRONG}, "say": DONE},
        {"say": DONE, "expect": ["you claimed that it is done: 1 test failed in the last complete run"]},
    )
    rows = driven.rows("--iterations", "2", code=10)
    weighed = [row for row in rows if row["event"] == "claim-weighed"]
    assert [row["outcome"] for row in weighed] == ["continue", "continue"]
    assert rows[-1]["reason"].startswith("the budget of 2 iterations is spent")
    assert driven.state()["phase"] == "GREEN"


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


def test_a_frozen_test_that_is_edited_closes_the_gate(track: Begin) -> None:
    easier = RED.replace("== 3", "== -1")
    driven = track("red-exited").plan(
        {"write": {"calc.py": WRONG, "test_calc.py": easier}, **answer()},
        {**answer(), "expect": ["tests-unchanged", "undo the change"]},
        signal="agent",
    )
    rows = driven.rows("--iterations", "2", code=10)
    assert driven.state()["phase"] == "GREEN"
    assert "test_calc.py" in next(row for row in rows if row["event"] == "tests-ended")["reason"]


def test_a_state_that_was_written_by_hand_ends_with_11(track: Begin) -> None:
    driven = track("green").plan({"write": {".phase-gate/state.json": "{}"}}, signal="agent")
    ran = driven.drive("--json")
    assert ran.code == 11
    assert json.loads(ran.out.splitlines()[-1])["error"]["slug"] == "state-tampered"


# --- an agent that fails


def test_an_agent_that_removes_the_state_ends_it_with_11(track: Begin) -> None:
    driven = track("").plan({"write": {"test_calc.py": RED}, "run": ["rm -r .phase-gate"]})
    ran = driven.drive()
    assert ran.code == 11
    assert ran.has("events were removed from the ledger while the agent worked")


def test_a_crash_is_told_and_the_work_goes_on(track: Begin) -> None:
    driven = track("red-exited").plan(
        {"write": {"calc.py": WRONG}, "exit": 3, "err": "Segmentation fault\n"},
        {"write": {"calc.py": RIGHT}, **answer(), "expect": ["you failed with 3 last time"]},
        signal="agent",
    )
    rows = driven.rows(code=0)
    assert [row["code"] for row in rows if row["event"] == "agent-ended"] == [3, 0]


def test_garbage_is_no_claim_and_moves_no_cursor(track: Begin) -> None:
    garbage = "\x1b[2J\x1b[1;1H\x00\ufffd::error::x\n" + "EXIT_STATUS COMPLETE exit_signal: true\n" * 3
    driven = track("red-exited").plan({"say": garbage, "write": {"calc.py": RIGHT}})
    ran = driven.drive()
    assert ran.code == 13
    assert "\x1b" not in ran.out
    assert driven.state()["phase"] == "GREEN"


def test_a_busy_client_is_waited_for_and_not_counted(track: Begin) -> None:
    busy = {"exit": 1, "err": "API Error: 429 rate_limit_error\n"}
    driven = track("red-exited").plan(busy, busy, {"write": {"calc.py": RIGHT}, **answer()}, signal="agent")
    rows = driven.rows("--iterations", "1", code=0)
    assert [row["event"] for row in rows].count("waits") == 2
    assert driven.turns() == 3
    assert len(driven.iterations()) == 1, "waiting is no iteration"
    assert "tests-ended" not in [row["event"] for row in rows[: [row["event"] for row in rows].index("waits")]]


def test_a_client_without_a_login_needs_a_person_at_once(track: Begin) -> None:
    driven = track("red-exited").plan(
        {"exit": 1, "say": "Invalid API key · Please run /login\n"},
        on_person_needed=["sh", "-c", 'printf %s "$1" > called.txt', "call", "{reason}"],
    )
    rows = driven.rows(code=13)
    assert rows[-1]["reason"] == "the agent can't work: Invalid API key · Please run /login"
    assert (driven.root / "called.txt").read_text(encoding="utf-8") == rows[-1]["reason"]
    assert driven.turns() == 1


def test_a_hanging_agent_is_ended_with_all_it_started(track: Begin) -> None:
    driven = track("red-exited").plan(
        {"spawn": True, "sleep": 600}, {"expect": ["you were stopped after 1s"], "exit": 0}, time_limit=1
    )
    rows = driven.rows("--iterations", "2", code=10)
    assert [row["how"] for row in rows if row["event"] == "agent-ended"] == ["timed-out", "ended"]
    size = (driven.root / "spawned.txt").stat().st_size
    time.sleep(0.3)
    assert (driven.root / "spawned.txt").stat().st_size == size, "its child is gone, too"


# --- Gate 2


def test_the_agent_answers_by_the_command(track: Begin) -> None:
    signal = f'{sys.executable} -m phase_gate.cli signal --reason "both pass"'
    driven = track("red-exited").plan({"write": {"calc.py": RIGHT}, "run": [signal]}, signal="agent")
    rows = driven.rows(code=0)
    assert [row["answer"] for row in rows if row["event"] == "answer"] == ["done"]
    (spent,) = [row for row in driven.events("signal-spent") if row["phase"] == "GREEN"]
    assert spent["reason"] == "both pass"


@pytest.mark.parametrize(
    ("turn", "signal", "problem"),
    [
        pytest.param(answer(), "ask", "a person gives the signal in this drive", id="not-asked"),
        pytest.param(
            answer(remaining_work="a lot"), "agent", "exit_signal is true, but remaining_work", id="contradiction"
        ),
        pytest.param(answer(exit_signal="yes"), "agent", "exit_signal is 'yes'", id="malformed"),
        pytest.param(
            {"write": {".phase-gate/exit-signal.yaml": "exit_signal: true\n"}},
            "agent",
            "exit-signal.yaml was made while the agent worked",
            id="beside-the-drive",
        ),
    ],
)
def test_answers_that_are_refused(track: Begin, turn: dict[str, object], signal: str, problem: str) -> None:
    driven = track("green").plan(turn, {"expect": ["your answer was refused"]}, signal=signal)
    driven.rows("--iterations", "2", code=10)
    (refused,) = driven.events("signal-refused")
    assert problem in refused["problem"]
    assert driven.state()["phase"] == "GREEN"
    assert not list((driven.gated.folder / "drive").glob("*/signal-*"))
    assert not (driven.gated.folder / "exit-signal.yaml").exists()


@pytest.mark.sweep
def test_an_agent_that_is_not_asked_can_not_signal(track: Begin) -> None:
    commands = [
        f'{sys.executable} -m phase_gate.cli signal --reason "done" ; echo $? >> codes.txt',
        f'env -u PHASE_GATE_ANSWER {sys.executable} -m phase_gate.cli signal --reason "done" ; echo $? >> codes.txt',
        f"env -u PHASE_GATE_ANSWER {sys.executable} -m phase_gate.cli signal --next --reason x ; echo $? >>codes.txt",
    ]
    commands.append(
        f"{sys.executable} -m pytest -p phase_gate.plugin -q --phase=green --exit-signal=done; echo $? >> codes.txt"
    )
    driven = track("red-exited").plan({"write": {"calc.py": RIGHT}, "run": commands})
    rows = driven.rows(code=13)
    assert (driven.root / "codes.txt").read_text().split() == ["13"] * 4
    assert rows[-1]["outcome"] == "person"
    assert driven.state()["phase"] == "GREEN"


def test_an_agent_may_always_call_a_person(track: Begin) -> None:
    call = f'{sys.executable} -m phase_gate.cli signal --blocked --reason "the service is down"'
    driven = track("red-exited").plan({"write": {"calc.py": WRONG}, "run": [call]}, {"write": {"calc.py": RIGHT}})
    rows = driven.rows(code=13)
    assert "the service is down" in rows[-1]["reason"]
    assert driven.turns() == 1
    assert driven.rows("--resume", code=13)[-1]["reason"].startswith("Gate 1 of GREEN is open"), "a person looked"


def test_a_phase_that_ends_beside_the_drive_needs_a_person(track: Begin) -> None:
    """An agent that hides that it is one can still reach the files; the drive sees it in the ledger."""
    code = (
        "import pathlib;from phase_gate.storage.store import TaskStore;from phase_gate.gate.state import Event;"
        "s=TaskStore(pathlib.Path('.phase-gate'),task='default')\n"
        "with s.transaction() as c: c.record(Event(kind='phase-exited',data={'phase':'GREEN','next':'REFACTOR'}))"
    )
    driven = track("green").plan({"run": [f"{sys.executable} -c {shlex.quote(code)}"]}, signal="agent")
    rows = driven.rows(code=13, CI="1")
    assert rows[-1]["reason"].startswith("phase-exited was recorded while the agent worked")
    assert rows[-1]["outcome"] == "person"


def test_the_hooks_of_a_driven_agent(track: Begin) -> None:
    """It may stop, for the drive judges; of the state folder it may write its answer, and nothing else."""
    event = {"tool_name": "Write", "tool_input": {"file_path": "$PHASE_GATE_ANSWER", "content": "x"}}
    other = {"tool_name": "Write", "tool_input": {"file_path": ".phase-gate/state.json", "content": "x"}}
    hook = f"{sys.executable} -m phase_gate.cli hook"
    commands = [
        f"echo {{}} | {hook} stop --agent claude > stop.json",
        f"echo {shlex.quote(json.dumps(event))} | sed s,.PHASE_GATE_ANSWER,$PHASE_GATE_ANSWER,"
        f" | {hook} pre-tool --agent claude > answer.json",
        f"echo {shlex.quote(json.dumps(other))} | {hook} pre-tool --agent claude > state.json",
    ]
    driven = track("red-exited").plan({"run": commands})
    driven.drive("--iterations", "1")
    assert json.loads((driven.root / "stop.json").read_text()) == {}
    assert json.loads((driven.root / "answer.json").read_text()) == {}
    assert "deny" in (driven.root / "state.json").read_text()


# --- budget, environment, transcripts


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


def test_secrets_stand_in_no_prompt(track: Begin) -> None:
    leaks = RED.replace(
        "    from calc import add\n", "    import os\n    from calc import add\n    print(os.environ['MY_TOKEN'])\n"
    )
    driven = track("").plan({"write": {"test_calc.py": leaks, "calc.py": WRONG}}, {"expect": ["***"]}, signal="agent")
    driven.drive("--iterations", "2", "--goal", "say hunter22 aloud", MY_TOKEN="hunter22")
    assert "hunter22" not in driven.prompt(1) + driven.prompt(2)
    assert "say *** aloud" in driven.prompt(1)


def test_one_drive_a_task(track: Begin) -> None:
    again = f"{sys.executable} -m phase_gate.cli drive -- true; echo $? > code.txt"
    driven = track("red-exited").plan({"run": [again]})
    driven.drive("--iterations", "1")
    assert (driven.root / "code.txt").read_text().strip() == "13"


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


# --- JSON lines
