"""A drive of verify tasks and people: what is asked at a terminal, interrupts, and a driver that is killed."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.drive.conftest import is_alive, wait_for
from tests.drive.team import Team, Turn, slug_of, works

pytestmark = [pytest.mark.processes, pytest.mark.sampled(2)]

QUESTION = "retry, skip or investigate: "


class Terminal:
    """A drive at a terminal, and somebody who reads and types."""

    def __init__(self, root: Path, *words: str, **environment: str) -> None:
        self._controller, person = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "phase_gate.cli", *words],
            cwd=root,
            stdin=person,
            stdout=person,
            stderr=person,
            env={**os.environ, "TERM": "xterm", **environment},
            start_new_session=True,
        )
        os.close(person)
        self.shown = ""

    def answers(self, typed: str, *, to: str = QUESTION) -> str:
        """Wait for the question, and type; return what was shown before it."""
        before = self._read_until(to)
        os.write(self._controller, f"{typed}\n".encode())
        return before

    def end(self) -> int:
        self._read_until(None)
        return self.process.wait(timeout=30)

    def _read_until(self, text: str | None) -> str:
        seen, deadline = "", time.monotonic() + 120
        while time.monotonic() < deadline:
            if not select.select([self._controller], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(self._controller, 1 << 16).decode("utf-8", "replace")
            except OSError:
                data = ""
            seen += data
            self.shown += data
            if not data or (text is not None and text in seen):
                return seen
        raise AssertionError(f"{text!r} did not come: {self.shown}")


def test_a_person_answers_at_the_terminal(team: Team) -> None:
    fails: Turn = {"report": None, "exit": 3, "say": "I can't\n"}
    team.plan(
        (1, 2),
        script={1: {"executor": [fails, fails, fails, works(1)]}, 2: {"executor": [fails]}},
    )
    terminal = Terminal(team.root, "drive", TERM="dumb")
    assert "it failed 3 times" in terminal.answers("perhaps")
    assert "'perhaps' is no answer: type retry, skip or investigate" in terminal.answers("investigate")
    said = terminal.answers("retry the service is up again")
    assert "attempt 3, step 1: EXECUTION_FAILURE: the agent failed with 3" in said
    assert "transcript: .phase-gate/tasks/task-1-write-part1/drive/0001.executor.log" in said
    terminal.answers("skip because I say so")
    said = terminal.answers("skip unavailable the sandbox is down")
    assert "'because' is no kind of skip" in said
    assert terminal.end() == 0, terminal.shown
    assert team.statuses() == {"1": "APPROVED", "2": "SKIPPED"}
    assert "the service is up again" in team.prompt(1, "executor", 4), "what a person says is in the next prompt"
    assert "\x1b[" not in terminal.shown, "a dumb terminal gets plain lines"
    (resumed,) = team.ledger(1, "task-resumed")
    assert resumed["data"]["reason"] == "the service is up again"


def test_no_answer_leaves_it_for_later(team: Team) -> None:
    slow = {"report": {"status": "failure", "error": "no"}, "say": "I look \x1b[31maround\n", "sleep": 1}
    team.plan((1,), script={1: {"executor": [slow]}})
    terminal = Terminal(team.root, "drive")
    terminal.answers("")
    assert terminal.end() == 13
    assert "phase gate drive · 0 of 1 task finished" in terminal.shown, "the live view is there"
    assert "executor works" in terminal.shown
    assert "  | I look \\x1b[31maround" in terminal.shown
    assert team.status(1) == "FAILED"


@pytest.mark.parametrize("role", ["executor", "reviewer"])
def test_a_killed_driver_is_taken_over(team: Team, role: str, drivers: list[subprocess.Popen[str]]) -> None:
    slow: Turn = {"sleep": 600, "report": None}
    usual: list[Turn] = [works(1)] if role == "executor" else [{}]
    team.plan((1,), script={1: {"executor": [works(1)], "reviewer": [{}], role: [slow, *usual]}})
    driver = team.start()
    drivers.append(driver)
    mark = team.sleeps(role)
    pid = wait_for(lambda: int(mark.read_text() or 0) if mark.exists() else 0)
    assert team.drive().code == 13, "one drive at a time"
    driver.send_signal(signal.SIGKILL)
    driver.communicate(timeout=30)
    rows = team.rows(code=0)
    assert not is_alive(pid)
    assert "an earlier driver died" in rows[0]["text"]
    assert team.status(1) == "APPROVED"
    assert team.turns(1, "executor") == (2 if role == "executor" else 1)


@pytest.mark.sweep
def test_one_interrupt_ends_after_the_step(team: Team, drivers: list[subprocess.Popen[str]]) -> None:
    team.plan((1, 2), script={1: {"executor": [works(1, sleep=2)]}})
    driver = team.start()
    drivers.append(driver)
    wait_for(lambda: int(team.sleeps("executor").exists()))
    driver.send_signal(signal.SIGINT)
    out, _ = driver.communicate(timeout=60)
    assert driver.returncode == 130, out
    assert team.status(1) == "VERIFYING", "its report is handed in"
    team.rows(code=0)
    assert team.turns(1, "executor") == 1


def test_two_interrupts_end_at_once(team: Team, drivers: list[subprocess.Popen[str]]) -> None:
    team.plan((1,), script={1: {"executor": [{"sleep": 600, "report": None}, works(1)]}})
    driver = team.start()
    drivers.append(driver)
    mark = team.sleeps("executor")
    pid = wait_for(lambda: int(mark.read_text() or 0) if mark.exists() else 0)
    driver.send_signal(signal.SIGINT)
    driver.send_signal(signal.SIGTERM)
    driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert not is_alive(pid)
    assert [row["data"]["failure"]["counts"] for row in team.ledger(1, "attempt-failed")] == [False]
    team.rows(code=0)
    assert team.failures(1) == ["EXECUTION_FAILURE"], "on the record, and not counted"
    assert slug_of(1) in team.drive("--json").out
