"""Questions to people at a terminal: about a verify task, and for the signal of Gate 2."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from tests.cli.terminals import Terminal
from tests.drive.conftest import RIGHT, Track
from tests.drive.team import TaskList, Turn, works

pytestmark = [pytest.mark.processes, pytest.mark.sampled(2)]

QUESTION = "retry, skip or investigate: "
DONE_BECAUSE = "done, because: "


Opens = Callable[..., Terminal]
Begins = Callable[[str], Track]


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


# --- the signal of Gate 2


def test_a_person_is_asked_and_answers(track: Begins, at_terminal: Opens) -> None:
    driven = track("red-exited").plan(
        {"write": {"calc.py": RIGHT}, "say": "working \x1b[31mred\n", "until": ".phase-gate/seen"},
        {"expect": ["dev signaled that it is not done: more tests"]},
    )
    terminal = at_terminal(driven.root, "--", *driven.agent)
    assert "\x1b[31m" not in terminal.read_until("agent works"), "the live view is there"
    (driven.gated.folder / "seen").touch()
    assert "\x1b[31m" not in terminal.answers("no, more tests", to=DONE_BECAUSE)
    assert "iteration 2: GREEN" in terminal.answers("both pass, I looked", to=DONE_BECAUSE)
    assert terminal.end() == 0, terminal.shown
    assert "drive ends: done" in terminal.shown
    answers = [(row["answer"], row["reason"]) for row in driven.events("signal-spent") if row["phase"] == "GREEN"]
    assert answers[-1] == ("done", "both pass, I looked")
    assert driven.iterations()[-1].get("code", 0) == 0, "the agent was told what is missing"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("typed", "code"), [("no-answer", 13), ("SIGINT", 130), ("SIGTERM", 130), ("SIGHUP", 130)])
def test_a_question_without_an_answer(track: Begins, at_terminal: Opens, typed: str, code: int) -> None:
    driven = track("green").plan({})
    terminal = at_terminal(driven.root, "--", *driven.agent)
    if typed == "no-answer":
        terminal.answers("", to=DONE_BECAUSE)
    else:
        terminal.read_until(DONE_BECAUSE)
        terminal.process.send_signal(signal.Signals[typed])
    assert terminal.end() == code
