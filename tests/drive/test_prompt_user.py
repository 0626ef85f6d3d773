"""A drive of verify tasks and people: what is asked at a terminal, interrupts, and a driver that is killed."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from tests.drive.conftest import Start, Terminal
from tests.drive.team import TaskList, Turn, slug_of, works
from tests.evidence.processes import is_alive

pytestmark = [pytest.mark.processes, pytest.mark.sampled(2)]

QUESTION = "retry, skip or investigate: "


Opens = Callable[..., Terminal]


@pytest.mark.criterion("VG-36")
def test_a_person_answers_at_the_terminal(task_list: TaskList, at_terminal: Opens) -> None:
    fails: Turn = {"report": None, "exit": 3, "say": "I can't\n"}
    task_list.plan(
        (1, 2),
        script={1: {"executor": [fails, fails, fails, works(1)]}, 2: {"executor": [fails]}},
    )
    terminal = at_terminal(task_list.root, TERM="dumb")
    assert "it failed 3 times" in terminal.answers("perhaps", to=QUESTION)
    assert "'perhaps' is no answer: type retry, skip or investigate" in terminal.answers("investigate", to=QUESTION)
    said = terminal.answers("retry the service is up again", to=QUESTION)
    assert "attempt 3, step 1: EXECUTION_FAILURE: the agent failed with 3" in said
    assert "transcript: .phase-gate/tasks/task-1-write-part1/drive/0001.executor.log" in said
    terminal.answers("skip because I say so", to=QUESTION)
    said = terminal.answers("skip unavailable the sandbox is down", to=QUESTION)
    assert "'because' is not a kind of skip" in said
    assert terminal.end() == 0, terminal.shown
    assert task_list.statuses() == {"1": "APPROVED", "2": "SKIPPED"}
    assert "the service is up again" in task_list.prompt(1, "executor", 4), "what a person says is in the next prompt"
    assert "\x1b[" not in terminal.shown, "a dumb terminal gets plain lines"
    (resumed,) = task_list.ledger(1, "task-resumed")
    assert resumed["data"]["reason"] == "the service is up again"


def test_what_a_person_says_about_a_blocked_task_is_recorded(task_list: TaskList, at_terminal: Opens) -> None:
    blocked: Turn = {"report": {"status": "blocked", "error": "no registry", "done_criteria_met": False}}
    told = {"expect": ["dev: the registry is back"]}
    task_list.plan((1,), script={1: {"executor": [blocked, works(1, **told)], "reviewer": [told]}})
    assert task_list.drive().code == 13
    terminal = at_terminal(task_list.root)
    terminal.answers("retry the registry is back", to=QUESTION)
    assert terminal.end() == 0, terminal.shown
    (resumed,) = task_list.ledger(1, "task-resumed")
    assert resumed["data"]["reason"] == "the registry is back"


def test_no_answer_leaves_it_for_later(task_list: TaskList, at_terminal: Opens) -> None:
    slow = {"report": {"status": "failure", "error": "no"}, "say": "I look \x1b[31maround\n", "sleep": 1}
    task_list.plan((1,), script={1: {"executor": [slow]}})
    terminal = at_terminal(task_list.root)
    terminal.answers("", to=QUESTION)
    assert terminal.end() == 13
    assert f"{slug_of(1)} 1 · executor works" in terminal.shown, "the status line is there"
    assert "\x1b[31m" not in terminal.shown
    assert task_list.status(1) == "FAILED"


@pytest.mark.parametrize("role", ["executor", "reviewer"])
def test_a_killed_driver_is_taken_over(task_list: TaskList, role: str, start: Start) -> None:
    slow: Turn = {"sleep": 600, "report": None}
    usual: list[Turn] = [works(1)] if role == "executor" else [{}]
    task_list.plan((1,), script={1: {"executor": [works(1)], "reviewer": [{}], role: [slow, *usual]}})
    driver = start(task_list)
    pid = task_list.agent_sleeps(role)
    assert task_list.drive().code == 13, "one drive at a time"
    driver.send_signal(signal.SIGKILL)
    driver.communicate(timeout=30)
    rows = task_list.rows(code=0)
    assert not is_alive(pid)
    assert "an earlier driver died" in rows[0]["text"]
    assert task_list.status(1) == "APPROVED"
    assert task_list.turns(1, "executor") == (2 if role == "executor" else 1)


@pytest.mark.sweep
def test_one_interrupt_ends_after_the_step(task_list: TaskList, start: Start) -> None:
    task_list.plan((1, 2), script={1: {"executor": [works(1, sleep=2)]}})
    driver = start(task_list)
    task_list.agent_sleeps("executor")
    driver.send_signal(signal.SIGINT)
    out, _ = driver.communicate(timeout=60)
    assert driver.returncode == 130, out
    assert task_list.status(1) == "VERIFYING", "its report is handed in"
    task_list.rows(code=0)
    assert task_list.turns(1, "executor") == 1


def test_two_interrupts_end_at_once(task_list: TaskList, start: Start) -> None:
    task_list.plan((1,), script={1: {"executor": [{"sleep": 600, "report": None}, works(1)]}})
    driver = start(task_list)
    pid = task_list.agent_sleeps("executor")
    driver.send_signal(signal.SIGINT)
    driver.send_signal(signal.SIGTERM)
    driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert not is_alive(pid)
    assert [row["data"]["failure"]["counts"] for row in task_list.ledger(1, "attempt-failed")] == [False]
    task_list.rows(code=0)
    assert task_list.failures(1) == ["EXECUTION_FAILURE"], "on the record, and not counted"
    assert slug_of(1) in task_list.drive("--json").out
