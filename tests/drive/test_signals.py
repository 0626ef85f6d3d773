"""Real signals to a real driver: Ctrl-C once, twice, and a kill that nothing can catch."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.drive.conftest import RIGHT, Start, Track, answer
from tests.evidence.processes import is_alive

pytestmark = [pytest.mark.processes, pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")]

Begin = Callable[[str], Track]


@pytest.mark.sweep
def test_ctrl_c_once_ends_after_this_iteration(track: Begin, start: Start) -> None:
    driven = track("red-exited").plan({"sleep": 1.5, "write": {"calc.py": RIGHT}}, signal="agent")
    driver = start(driven)
    agent = driven.agent_sleeps()
    driver.send_signal(signal.SIGINT)
    out, _ = driver.communicate(timeout=120)
    assert driver.returncode == 130, out
    assert not is_alive(agent)
    (ended,) = driven.iterations()
    assert (ended["how"], ended["outcome"]) == ("ended", "interrupted"), "the agent came to its end"
    assert driven.events("run-started")[-1]["phase"] == "GREEN", "and so did the tests"
    assert driven.events("drive-ended")[0]["exit_code"] == 130
    assert "next: phase-gate drive --resume" in out


def test_ctrl_c_twice_ends_at_once(track: Begin, start: Start) -> None:
    driven = track("red-exited").plan({"spawn": True, "sleep": 600}, signal="agent")
    driver = start(driven)
    agent = driven.agent_sleeps()
    driver.send_signal(signal.SIGINT)
    assert driver.stdout is not None
    # Two signals at once would be one: the second comes when the first was heard.
    assert any("Ctrl-C again ends it at once" in line for line in iter(driver.stdout.readline, ""))
    driver.send_signal(signal.SIGINT)
    out, _ = driver.communicate(timeout=60)
    assert driver.returncode == 130, out
    assert not is_alive(agent)
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
    driver.communicate(timeout=60)
    assert is_alive(agent), "nobody was left to end it"
    assert driven.state()["parts"]["drive"]["number"] == 1
    assert driven.gated.gate("audit").code == 0, "what was written is whole"
    rows = [line for line in driven.drive("--resume").out.splitlines() if line]
    assert not is_alive(agent), "and now it is gone"
    assert rows[0].startswith("  note     an earlier driver died")
    assert "spent: 1 iteration, " in rows[1], rows[1]
    lost, done = driven.iterations()
    assert (lost["how"], lost["number"], done["number"], done["outcome"]) == ("lost", 1, 2, "done")
    assert lost["seconds"] > 0
    (first, second) = driven.events("drive-started")
    assert (first["resumed"], second["resumed"]) == (False, True)
    assert second["settings"]["budget"] == {"iterations": 4}, "the budget is the one that it began with"
