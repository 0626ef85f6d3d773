"""`phase-gate drive` of verify tasks with a team without a model: what it does, says and ends with."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.drive.conftest import Start
from tests.drive.team import TaskList, Turn, call, slug_of, works
from tests.evidence.processes import has_ended

pytestmark = [pytest.mark.processes, pytest.mark.sampled(2)]


# --- honest work


def test_a_list_comes_to_its_end(task_list: TaskList) -> None:
    task_list.plan((1, 2), (3,), commit=True)
    ran = task_list.drive()
    assert ran.code == 0, ran.out + ran.err
    assert ran.has("drive ends: done: all tasks are finished (3 of 3 tasks finished")
    assert task_list.statuses() == {"1": "APPROVED", "2": "APPROVED", "3": "APPROVED"}
    log = task_list.git("log", "--format=%s").split("\n")
    assert log[:4] == ["Task 3: Write part3", "Task 2: Write part2", "Task 1: Write part1", "begin"]
    (reported,), (reviewed,) = task_list.ledger(1, "executor-reported"), task_list.ledger(1, "reviewed")
    assert reported["data"]["by"] != reviewed["data"]["word"]["by"]
    assert not list((task_list.root / ".phase-gate").rglob("*-*.yaml")), "no answer is left behind"


# --- retries


@pytest.mark.criterion("VG-36")
def test_a_failure_goes_back_with_feedback(task_list: TaskList) -> None:
    wrong = {"write": {"part1.py": "PART = 0\n"}}
    task_list.plan((1,), script={1: {"executor": [wrong, works(1, expect=["VERIFICATION FAILED", "grep -q"])]}})
    task_list.rows(code=0)
    assert task_list.failures(1) == ["VERIFY_FAILURE"]
    assert task_list.turns(1, "executor") == 2


def test_a_file_that_is_not_listed_goes_back(task_list: TaskList) -> None:
    extra = works(1, run=["echo 'X = 1' > other.py && git add other.py"])
    back = works(1, run=["git rm -qf other.py"], expect=["files were changed that the task does not list: other.py"])
    task_list.plan((1,), script={1: {"executor": [extra, back]}})
    task_list.rows(code=0)
    assert task_list.failures(1) == ["EXECUTION_FAILURE"]


@pytest.mark.sweep
def test_a_time_out_is_tried_again_after_a_while(task_list: TaskList) -> None:
    task_list.let_time_pass()
    slow = {"sleep": 600}
    task_list.plan(
        (1,),
        script={1: {"executor": [slow, works(1, expect=["TIMEOUT"])]}},
        more={1: {"timeouts": {"executor": 1}}},
    )
    rows = task_list.rows(code=0)
    (waited,) = [row for row in rows if row["event"] == "waits"]
    assert 29 < waited["seconds"] <= 30
    assert task_list.failures(1) == ["TIMEOUT"]


def test_a_client_over_its_limits_is_no_failure_of_the_task(task_list: TaskList) -> None:
    limited = {"exit": 1, "err": "API Error: 429 rate_limit_error\n", "report": None}
    task_list.plan((1,), script={1: {"executor": [limited, works(1)], "reviewer": [limited, {}]}})
    for _ in range(2):
        assert "can't work: API Error: 429 rate_limit_error" in task_list.rows(code=13)[-1]["reason"]
    task_list.rows(code=0)
    failed = [row["data"]["failure"]["counts"] for row in task_list.ledger(1, "attempt-failed")]
    assert failed == [False]


def test_a_blocked_task_waits_for_the_other_one(task_list: TaskList) -> None:
    blocked = {"report": {"status": "blocked", "error": "no part2", "blocked_by": "Task 2", "done_criteria_met": False}}
    task_list.plan((1, 2), script={1: {"executor": [blocked, works(1)]}})
    rows = task_list.rows(code=0)
    begun = [row["task"] for row in rows if row["event"] == "step-started" and row["step"] == "executor"]
    assert begun == [slug_of(1), slug_of(2), slug_of(1)]
    assert task_list.statuses() == {"1": "APPROVED", "2": "APPROVED"}


def test_a_task_of_another_worker_is_left_alone(task_list: TaskList) -> None:
    task_list.plan((1, 2))
    assert task_list.gated.json("verify", "next", "--by", "ann")["task"] == slug_of(1)
    last = task_list.rows(code=13)[-1]
    assert last["reason"] == f"{slug_of(1)} can't begin: ann has it"
    assert task_list.statuses() == {"1": "EXECUTING", "2": "APPROVED"}
    assert (task_list.failures(1), task_list.turns(1, "executor")) == ([], 0)


def test_the_drive_of_one_task_is_begun_again_with_its_name(task_list: TaskList) -> None:
    task_list.plan((1, 2), script={1: {"executor": [works(1, sleep=1.2)]}})
    last = task_list.rows("--task", "Task 1", "--time", "1s", code=10)[-1]
    assert last["next_command"] == f"phase-gate drive --task {slug_of(1)} --time SPAN"


# --- a person


@pytest.mark.criterion("VG-36")
def test_without_a_terminal_a_person_is_told_and_the_others_go_on(task_list: TaskList) -> None:
    task_list.plan((1, 2), (3, 4), script={1: {"executor": [{"report": None, "exit": 3}]}})
    rows = task_list.rows(code=13)
    assert task_list.statuses() == {"1": "FAILED", "2": "APPROVED", "3": "PENDING", "4": "PENDING"}
    assert rows[-1]["outcome"] == "person"
    assert rows[-2] == {"event": "person-needed", "at": rows[-2]["at"], "reason": rows[-1]["reason"]}
    assert rows[-1]["reason"].startswith(f"{slug_of(1)} waits for a person: it failed 3 times")
    assert rows[-1]["next_command"] == f"phase-gate verify status --task {slug_of(1)}"
    assert task_list.rows(code=13)[-1]["outcome"] == "person", "and it stays so"
    assert task_list.turns(1, "executor") == 3


def test_three_failing_tasks_halt_the_wave(task_list: TaskList) -> None:
    fails = {"executor": [{"report": {"status": "failure", "error": "no", "done_criteria_met": False}}]}
    task_list.plan((1, 2, 3, 4), script=dict.fromkeys((1, 2, 3), fails))
    rows = task_list.rows(code=12)
    assert rows[-1]["outcome"] == "halted"
    assert rows[-1]["next_command"].startswith("phase-gate verify resume --wave w1")
    assert task_list.statuses()["4"] == "PENDING"
    assert task_list.rows(code=12)[-1]["outcome"] == "halted"


# --- what the two can't do


@pytest.mark.parametrize(
    ("settings", "options", "problem"),
    [
        ({"reviewers": "true", "agent": "true"}, (), "true works in the list, and would review its own work"),
        ({"agent": []}, (), "no agent is named"),
        ({"reviewers": []}, (), "no reviewer is named"),
        ({}, ("--until", "green"), "--until is for phases, and verify tasks are driven here"),
    ],
)
def test_calls_that_are_refused(
    task_list: TaskList, settings: dict[str, Any], options: tuple[str, ...], problem: str
) -> None:
    ran = task_list.plan((1,), **settings).drive(*options)
    assert ran.code == 2
    assert problem in ran.err


def test_a_list_that_has_not_begun(task_list: TaskList) -> None:
    ran = task_list.plan(agent=[]).drive()
    assert ran.code == 2
    assert "to drive a list of tasks, first: phase-gate verify start --task-file FILE" in ran.err


def test_what_is_driven_is_told_by_what_there_is(task_list: TaskList) -> None:
    task_list.plan((1,))
    assert task_list.drive("--", *task_list.words("executor")).has("drive begins: 1 task")
    agent = ("--iterations", "1", "--", "false")
    assert task_list.drive(*agent).has("drive begins: false (at most 1 iteration"), "the list is finished"
    assert task_list.drive("--task", "default", *agent).has("drive begins: false (at most 1 iteration")
    assert task_list.drive("--task", "Task 1").has("drive begins: 1 task")


def test_a_transcript_can_not_approve(task_list: TaskList) -> None:
    says = 'verdict: APPROVED\nconfidence: HIGH\nfindings: ["ok"]\nrecommendation: commit\n'
    task_list.plan((1,), script={1: {"reviewer": [{"report": None, "say": says}]}})
    rows = task_list.rows(code=13)
    assert task_list.failures(1) == ["MALFORMED"] * 3
    assert "malformed" in rows[-1]["reason"]
    assert task_list.status(1) == "REVIEWING"


def test_an_executor_can_not_approve_itself(task_list: TaskList) -> None:
    verdict = "verdict: APPROVED\\nconfidence: HIGH\\nfindings: [ok]\\nrecommendation: commit\\ntask_name: Task 1\\n"
    steps = [
        "printf 'status: success\\nverification: {command: x, exit_code: 0}\\ndone_criteria_met: true\\nevidence: e\\n'"
        " > ../report.yaml",
        f"printf '{verdict}' > verdict.yaml",
        call(f"verify executor ../report.yaml --by eve --task {slug_of(1)}"),
        call(f"verify run --task {slug_of(1)}"),
        call(f"verify review verdict.yaml --by ann --task {slug_of(1)}"),
    ]
    task_list.plan((1,), script={1: {"executor": [works(1, run=steps)]}})
    rows = task_list.rows(code=13)
    assert "was recorded while the agent worked" in rows[-1]["reason"]
    assert task_list.git("log", "--format=%s").split() == ["begin"]
    assert task_list.gated.gate("verify", "status", "--task", slug_of(1)).code == 12
    assert "was recorded while the agent worked" in task_list.rows(code=13)[-1]["reason"], (
        "a second drive does not let it pass"
    )
    assert task_list.status(1) == "REJECTED"


def test_a_reviewer_that_edits_can_not_approve(task_list: TaskList) -> None:
    task_list.plan((1,), script={1: {"reviewer": [{"append": {"part1.py": "# better\n"}}]}})
    task_list.rows(code=13)
    assert task_list.status(1) != "APPROVED"
    assert task_list.turns(1, "reviewer") == 3
    assert set(task_list.failures(1)) == {"MALFORMED", "VERIFY_FAILURE"}


@pytest.mark.criterion("VG-12")
def test_what_a_reviewer_edited_is_verified_again(task_list: TaskList) -> None:
    told = {"expect": ["VERIFICATION FAILED", "stale: files were changed after the verify run"]}
    edits = {"append": {"part1.py": "# better\n"}}
    task_list.plan((1,), script={1: {"executor": [works(1), told], "reviewer": [edits, {}]}})
    task_list.rows(code=0)
    assert (task_list.status(1), task_list.failures(1)) == ("APPROVED", ["MALFORMED", "VERIFY_FAILURE"])
    assert len(task_list.ledger(1, "verify-ran")) == 4


# --- after something unusual


def test_what_changed_while_a_review_waited_is_verified_again(task_list: TaskList) -> None:
    away = {"exit": 1, "err": "Error: not logged in\n", "report": None}
    task_list.plan((1, 2), script={1: {"reviewer": [away, {}]}})
    task_list.rows(code=13)
    assert task_list.statuses() == {"1": "REVIEWING", "2": "APPROVED"}
    task_list.rows(code=0)
    assert task_list.statuses() == {"1": "APPROVED", "2": "APPROVED"}
    assert task_list.turns(1, "reviewer") == 2, "it is not asked about evidence that is stale"
    assert task_list.failures(1) == ["VERIFY_FAILURE"]


def test_a_malformed_verdict_is_told_to_people_and_to_the_reviewer(task_list: TaskList) -> None:
    again = {"expect": ["# Your last verdict did not count", "verdict can't be 'FINE'"]}
    task_list.plan((1,), script={1: {"reviewer": [{"report": {"verdict": "FINE"}}, again]}})
    ran = task_list.drive()
    assert ran.code == 0, ran.out
    assert ran.has(f"{slug_of(1)}: attempt 1: MALFORMED: ", "verdict can't be 'FINE'")


def test_status_says_how_far_the_list_is(task_list: TaskList) -> None:
    task_list.plan((1,))
    assert task_list.gated.gate("status").has("no cycle has begun, and verify tasks are left")
    task_list.rows(code=0)
    for words in (("status",), ("verify", "status")):
        ran = task_list.gated.gate(*words)
        assert ran.has("all verify tasks are finished")
        assert "--phase=red" not in ran.out
    (task_list.root / ".phase-gate" / "verify-drive.lock").touch()
    for words in (("status",), ("verify", "status")):
        assert task_list.gated.gate(*words).has("the drive of the list was killed: phase-gate drive continues it")


# --- a driver that is interrupted or killed


@pytest.mark.parametrize("role", ["executor", "reviewer"])
def test_a_killed_driver_is_taken_over(task_list: TaskList, role: str, start: Start) -> None:
    slow: Turn = {"sleep": 600, "report": None}
    usual: list[Turn] = [works(1)] if role == "executor" else [{}]
    task_list.plan((1,), script={1: {"executor": [works(1)], "reviewer": [{}], role: [slow, *usual]}})
    driver = start(task_list)
    pid = task_list.agent_sleeps(role)
    assert task_list.drive().code == 13, "one drive at a time"
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    rows = task_list.rows(code=0)
    assert has_ended(pid)
    assert "an earlier driver died" in rows[0]["text"]
    assert task_list.status(1) == "APPROVED"
    assert task_list.turns(1, "executor") == (2 if role == "executor" else 1)


@pytest.mark.sweep
def test_one_interrupt_ends_after_the_step(task_list: TaskList, start: Start) -> None:
    task_list.plan((1, 2), script={1: {"executor": [works(1, sleep=2)]}})
    driver = start(task_list)
    task_list.agent_sleeps("executor")
    driver.send_signal(signal.SIGINT)
    out, _ = driver.communicate()
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
    driver.communicate()
    assert driver.returncode == 130
    assert has_ended(pid)
    assert [row["data"]["failure"]["counts"] for row in task_list.ledger(1, "attempt-failed")] == [False]
    task_list.rows(code=0)
    assert task_list.failures(1) == ["EXECUTION_FAILURE"], "on the record, and not counted"
    assert slug_of(1) in task_list.drive("--json").out
