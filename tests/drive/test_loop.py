"""The loop of a drive with real processes: agents that fail, hang or cheat, signals, and a driver that is killed."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable

import pytest

from phase_gate.drive.loop import Working, render_status
from phase_gate.drive.turn import Turn
from tests.drive.conftest import RED, RIGHT, Start, Track, answer
from tests.evidence.processes import Reached, has_ended, is_alive, wait_for

pytestmark = pytest.mark.processes

Begin = Callable[[str], Track]


def test_a_state_that_was_written_by_hand_ends_with_11(track: Begin) -> None:
    driven = track("green").plan({"write": {".phase-gate/state.json": "{}"}}, signal="agent")
    ran = driven.drive("--json")
    assert ran.code == 11
    assert json.loads(ran.out.splitlines()[-1])["error"]["slug"] == "state-tampered"


def test_an_agent_that_removes_the_state_ends_it_with_11(track: Begin) -> None:
    driven = track("").plan({"write": {"test_calc.py": RED}, "run": ["rm -r .phase-gate"]})
    ran = driven.drive()
    assert ran.code == 11
    assert ran.has("events were removed from the ledger while the agent worked")


def test_garbage_is_no_claim_and_moves_no_cursor(track: Begin) -> None:
    garbage = "\x1b[2J\x1b[1;1H\x00\ufffd::error::x\n" + "EXIT_STATUS COMPLETE exit_signal: true\n" * 3
    driven = track("red-exited").plan({"say": garbage, "write": {"calc.py": RIGHT}})
    ran = driven.drive()
    assert ran.code == 13
    assert "\x1b" not in ran.out
    assert driven.state()["phase"] == "GREEN"


def test_a_client_without_a_login_needs_a_person_at_once(track: Begin) -> None:
    driven = track("red-exited").plan(
        {"exit": 1, "say": "Invalid API key · Please run /login\n"},
    )
    rows = driven.rows(code=13)
    assert rows[-1]["reason"] == "the agent can't work: Invalid API key · Please run /login"
    assert driven.turns() == 1


def test_a_hanging_agent_is_ended_with_all_it_started(track: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    driven = track("red-exited").plan(
        {"spawn": True, "sleep": 600}, {"expect": ["you were stopped after "], "exit": 0}, time_limit=500
    )
    spawned = driven.root / "spawned.txt"

    def limit(turn: Turn, role: str, seconds: float) -> Working:
        """Not after some seconds, but when the child is there: a busy machine is no reason to fail."""
        assert role != "agent" or seconds == 500
        return Working(role=role, where="", number=turn.number, limit=seconds if spawned.exists() else Reached(spawned))

    monkeypatch.setattr(Turn, "_working", limit)
    rows = driven.rows("--iterations", "2", code=10)
    assert [row["how"] for row in rows if row["event"] == "agent-ended"] == ["timed-out", "ended"]
    assert has_ended(int(wait_for(spawned))), "its child is gone, too"


def interrupt(driver: subprocess.Popen[str]) -> None:
    """Type Ctrl-C, and wait until it was heard: two signals at once would be one."""
    driver.send_signal(signal.SIGINT)
    assert driver.stdout is not None
    assert any("Ctrl-C again ends it at once" in line for line in iter(driver.stdout.readline, ""))


@pytest.mark.sweep
def test_ctrl_c_once_ends_after_this_iteration(track: Begin, start: Start) -> None:
    turn = {"sleep": 0.1, "until": "go.txt", "write": {"calc.py": RIGHT}}
    driven = track("red-exited").plan(turn, signal="agent")
    driver = start(driven)
    agent = driven.agent_sleeps()
    interrupt(driver)
    (driven.root / "go.txt").touch()
    out, _ = driver.communicate()
    assert driver.returncode == 130, out
    assert has_ended(agent)
    (ended,) = driven.iterations()
    assert (ended["how"], ended["outcome"]) == ("ended", "interrupted"), "the agent came to its end"
    assert driven.events("run-started")[-1]["phase"] == "GREEN", "and so did the tests"
    assert driven.events("drive-ended")[0]["exit_code"] == 130
    assert "next: phase-gate drive --resume" in out


def test_ctrl_c_twice_ends_at_once(track: Begin, start: Start) -> None:
    driven = track("red-exited").plan({"spawn": True, "sleep": 600}, signal="agent")
    driver = start(driven)
    agent = driven.agent_sleeps()
    interrupt(driver)
    driver.send_signal(signal.SIGINT)
    out, _ = driver.communicate()
    assert driver.returncode == 130, out
    assert has_ended(agent)
    (ended,) = driven.iterations()
    assert (ended["how"], len(driven.events("run-started"))) == ("interrupted", 1), "no test was run after RED"
    assert "began_at" not in driven.state()["parts"]["drive"], "nothing is half recorded"
    assert driven.gated.gate("audit").code == 0


def test_a_killed_driver_is_resumed(track: Begin, start: Start) -> None:
    driven = track("red-exited").plan(
        {"sleep": 600}, {"write": {"calc.py": RIGHT}, **answer(), "expect": ["an adder"]}, signal="agent"
    )
    driver = start(driven, "--goal", "an adder", "--iterations", "4")
    agent = driven.agent_sleeps()
    driver.kill()
    driver.communicate()
    assert is_alive(agent), "nobody was left to end it"
    assert driven.state()["parts"]["drive"]["number"] == 1
    assert driven.gated.gate("audit").code == 0, "what was written is whole"
    rows = [line for line in driven.drive("--resume").out.splitlines() if line]
    assert has_ended(agent), "and now it is gone"
    assert rows[0].startswith("  note     an earlier driver died")
    assert "spent: 1 iteration, " in rows[1], rows[1]
    lost, done = driven.iterations()
    assert (lost["how"], lost["number"], done["number"], done["outcome"]) == ("lost", 1, 2, "done")
    assert lost["seconds"] > 0
    (first, second) = driven.events("drive-started")
    assert (first["resumed"], second["resumed"]) == (False, True)
    assert second["settings"]["budget"] == {"iterations": 4}, "the budget is the one that it began with"


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
