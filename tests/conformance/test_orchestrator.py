"""The orchestrator of the verification gate: who is started, tried again and ended, and who is asked."""

from __future__ import annotations

import pytest

from tests.drive.conftest import Terminal, begin, stories, team
from tests.drive.team import Team, Turn, works
from tests.drive.test_people import QUESTION

__all__ = ["begin", "stories", "team"]

pytestmark = pytest.mark.processes


@pytest.mark.criterion("VG-36")
def test_executor_verify_command_and_reviewer_are_started_and_tried_again(team: Team) -> None:
    wrong: Turn = {"write": {"part1.py": "PART = 0\n"}}
    no: Turn = {"report": {"verdict": "REJECTED", "recommendation": "retry", "feedback": "say why"}}
    again: Turn = {"append": {"part1.py": "# why\n"}, "expect": ["say why"]}
    team.plan((1,), script={1: {"executor": [wrong, works(1), again], "reviewer": [no, {}]}}, commit=True)
    team.rows(code=0)
    steps = ("executor-reported", "verify-ran", "reviewed", "attempt-failed", "committed")
    assert [row["kind"] for row in team.ledger(1) if row["kind"] in steps] == [
        *("executor-reported", "verify-ran", "attempt-failed"),
        *("executor-reported", "verify-ran", "reviewed", "attempt-failed"),
        *("executor-reported", "verify-ran", "reviewed", "committed"),
    ]
    assert team.failures(1) == ["VERIFY_FAILURE", "ARCHITECT_REJECTION"]
    assert (team.turns(1, "executor"), team.turns(1, "reviewer"), team.status(1)) == (3, 2, "APPROVED")


@pytest.mark.sweep
@pytest.mark.criterion("VG-36")
def test_an_executor_that_hangs_is_ended(team: Team) -> None:
    team.let_time_pass()
    hangs: Turn = {"sleep": 600}
    team.plan((1,), script={1: {"executor": [hangs, works(1)]}}, more={1: {"timeouts": {"executor": 1}}})
    team.rows(code=0)
    assert team.failures(1) == ["TIMEOUT"]


@pytest.mark.sweep
@pytest.mark.criterion("VG-36")
def test_escalation_notifies_and_waits_for_retry_skip_or_investigate(team: Team) -> None:
    fails: Turn = {"report": None, "exit": 3}
    team.plan((1, 2), script={1: {"executor": [fails, fails, fails, works(1)]}, 2: {"executor": [fails]}})
    terminal = Terminal(team.root)
    assert "it failed 3 times" in terminal.answers("investigate", to=QUESTION)
    assert "EXECUTION_FAILURE" in terminal.answers("retry the service is up again", to=QUESTION)
    terminal.answers("skip unavailable the sandbox is down", to=QUESTION)
    assert terminal.end() == 0, terminal.shown
    assert team.statuses() == {"1": "APPROVED", "2": "SKIPPED"}


@pytest.mark.criterion("VG-36")
def test_where_no_person_is_there_one_is_called_and_nothing_is_decided(team: Team) -> None:
    called = ["sh", "-c", 'printf %s "$1" > called.txt', "call", "{reason}"]
    fails: Turn = {"report": None, "exit": 3}
    team.plan((1,), script={1: {"executor": [fails]}}, on_person_needed=called)
    rows = team.rows(code=13)
    assert (team.root / "called.txt").read_text() == rows[-1]["reason"]
    assert team.status(1) == "FAILED"
    assert (team.rows(code=13)[-1]["outcome"], team.turns(1, "executor")) == ("person", 3)
