"""Steps of a verify task: reports, verdicts, failures, and decisions of people. Real commands."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.tasks.verifying import NAME, PERSON, RIGHT, TASK, WRONG, Gate, python

pytestmark = pytest.mark.processes


@pytest.mark.criterion("VG-01", "VG-10")
@pytest.mark.parametrize("left_out", ["executor", "verify", "review"])
def test_no_step_can_be_left_out(gate: Gate, left_out: str) -> None:
    gate.start()
    steps = {"executor": gate.executor, "verify": gate.verify, "review": gate.review}
    codes = [step().code for name, step in steps.items() if name != left_out]
    assert 13 in codes or left_out == "review"
    assert gate.state != "APPROVED"
    assert gate.call("verify", "commit").code == 13
    assert gate.call("check", "--task", TASK).code == 10


@pytest.mark.criterion("VG-09")
@pytest.mark.parametrize(
    ("more", "why"),
    [({"confidence": "MEDIUM"}, "confidence is MEDIUM"), ({"concerns": ["3 warnings"]}, "concern: 3 warnings")],
    ids=["confidence", "concerns"],
)
def test_a_weak_pass_passes_and_is_flagged(gate: Gate, more: dict[str, Any], why: str) -> None:
    ran = gate.reviewing().review(gate.verdict(**more))
    assert ran.code == 0
    assert ran.has(f"Weak     {why}", "approved by ann (weak)")
    assert gate.status()["weak_because"] == [why]
    assert gate.json("verify", "status")["gate_stats"]["weak_passes"] == 1


@pytest.mark.criterion("VG-38")
@pytest.mark.parametrize(
    ("claimed", "why"),
    [
        pytest.param({"command": "true", "exit_code": 0}, "another command than the task's: `true`", id="command"),
        pytest.param({"command": python("check.py"), "exit_code": 1}, "claims exit code 1", id="exit-code"),
        pytest.param({"command": f"  {python('check.py')}\n", "exit_code": 0}, "", id="the-tasks-own"),
    ],
)
def test_a_claim_that_does_not_fit_is_never_a_strong_pass(gate: Gate, claimed: dict[str, Any], why: str) -> None:
    gate.start()
    told = gate.executor(gate.result(verification=claimed))
    gate.verify()
    ran = gate.review()
    assert (told.code, ran.code) == (0, 0)
    assert bool(gate.json("verify", "status")["gate_stats"]["weak_passes"]) is bool(why)
    assert ran.has("both gates are open: approved by ann" + (" (weak)" if why else ""))
    assert told.has(why), "as soon as it is claimed"
    assert ran.has(why)


@pytest.mark.sampled(3)
@pytest.mark.criterion("VG-10", "VG-01")
@pytest.mark.parametrize(
    ("verdict", "by", "said"),
    [
        pytest.param({}, "eve", "eve executed this attempt", id="the-executor"),
        pytest.param({}, " EVE ", "executed this attempt", id="the-executor-in-capitals"),
        pytest.param({}, "\uff45\uff56\uff45", "executed this attempt", id="the-executor-in-other-letters"),
        pytest.param({"by": "eve"}, "ann", "is signed by eve, but --by is ann", id="two-names"),
        pytest.param({"evidence": "0123456789abcdef"}, "ann", "is for verify run 0123", id="another-run"),
        pytest.param({"task_name": "Task 4: Other"}, "ann", "'Task 4: Other' is not a verify task", id="another-task"),
    ],
)
def test_a_verdict_that_is_refused_changes_nothing(gate: Gate, verdict: dict[str, Any], by: str, said: str) -> None:
    gate.reviewing()
    before = gate.ledger()
    ran = gate.review(gate.verdict(**verdict), by=by)
    assert ran.code in (2, 13)
    assert ran.has(said)
    assert gate.ledger() == before


@pytest.mark.criterion("VG-10")
def test_a_verdict_that_is_older_than_the_evidence_is_refused(gate: Gate) -> None:
    gate.paper("old.yaml", gate.verdict())
    gate.reviewing()
    ran = gate.call("verify", "review", "old.yaml", "--by", "ann")
    assert ran.code == 13
    assert ran.has("the verdict is older than the evidence")


@pytest.mark.criterion("VG-10")
def test_an_edit_after_the_verify_run_makes_it_stale_and_a_new_attempt_goes_on(gate: Gate) -> None:
    gate.reviewing()
    gate.project.write(planner=RIGHT + "# more\n")
    ran = gate.review()
    assert ran.code == 13
    assert ran.has("evidence is stale (verify-fresh)")
    assert gate.call("check", "--task", TASK).has("its evidence is stale")
    assert gate.executor().code == 0
    assert (gate.status()["attempt"], gate.state) == (2, "VERIFYING")
    assert gate.status()["escalation"]["level"] == 0, "nobody has failed"


@pytest.mark.criterion("VG-13")
@pytest.mark.parametrize("untimed", [False, True], ids=["timed", "people-take-their-time"])
def test_executor_and_reviewer_have_their_time(gate: Gate, untimed: bool) -> None:
    gate.start(*(("--untimed",) if untimed else ()))
    gate.wait(301)
    ran = gate.executor()
    assert ran.code == (0 if untimed else 10)
    if untimed:
        gate.verify()
        gate.wait(3000)
        assert gate.review().code == 0
        return
    assert ran.has("TIMEOUT: the executor step took 301 s, the limit is 300 s")
    gate.wait(31)
    gate.work()
    gate.wait(181)
    assert gate.review().has("the review step took 181 s, the limit is 180 s")
    assert (gate.state, gate.failures) == ("REJECTED", ["TIMEOUT", "TIMEOUT"])


@pytest.mark.criterion("VG-14")
def test_nothing_is_run_again_on_the_same_files(gate: Gate) -> None:
    gate.project.write(planner=WRONG)
    gate.start()
    gate.work()
    ran = gate.executor()
    assert ran.code == 13
    assert ran.has("no file has changed since attempt 1", "it would fail again", "phase-gate verify show")
    gate.project.write(planner=RIGHT)
    assert gate.executor().code == 0


def fail(gate: Gate, times: int) -> None:
    for number in range(times):
        gate.project.write(planner=WRONG + "\n" * number)
        assert gate.executor().code == 0
        assert gate.verify().code == (10 if number < 2 else 12)


@pytest.mark.criterion("VG-15")
def test_three_failures_ask_a_person(gate: Gate) -> None:
    gate.start()
    fail(gate, 3)
    escalation = gate.status()["escalation"]
    assert (escalation["level"], escalation["reason"]) == (2, "it failed 3 times")
    assert "wait for a person" in escalation["actions"]
    gate.project.write(planner=RIGHT)
    refused = gate.executor()
    assert refused.code == 13
    assert refused.has("waits for a person: it failed 3 times", "retry: ", "investigate: ", "skip: ")
    assert gate.call("verify", "resume", "--task", TASK).code == 2, "without a reason and a name"
    assert gate.call("verify", "resume", "--task", TASK, "--reason", "found it: the id", "--by", "mara").code == 0
    assert gate.executor().code == 0


@pytest.mark.criterion("VG-15")
def test_three_failing_tasks_halt_their_wave_until_a_person_says_so(gate: Gate) -> None:
    names = [f"Task {number}: Part" for number in range(1, 5)]
    tasks = [gate.task(name=name, files=[f"part_{number}.py"], wave="w1") for number, name in enumerate(names)]
    assert gate.start(document=tasks).code == 0
    ended = [gate.executor(gate.result("failure", task_name=name)) for name in names[:3]]
    assert [ran.code for ran in ended] == [10, 10, 12]
    assert ended[-1].has("Level    3: wave w1 is halted", "Next     phase-gate verify resume --wave w1")
    refused = gate.executor(gate.result(task_name=names[3]))
    assert refused.code == 13
    assert refused.has("wave w1 is halted: 3 tasks failed", "phase-gate verify resume --wave w1")
    assert gate.status("task-4-part")["escalation"]["level"] == 3
    assert gate.json("verify", "status")["gate_stats"]["waves"][0]["halted"]
    assert gate.call("verify", "status").has("wave w1 is halted")
    assert gate.call("verify", "resume", "--wave", "w1").code == 2
    assert gate.call("verify", "resume", "--wave", "w1", "--reason", "the registry is back", "--by", "mara").code == 0
    assert gate.executor(gate.result(task_name=names[3])).code == 0


@pytest.mark.criterion("VG-16", "VG-23")
def test_a_skipped_task_is_complete_and_unverified(gate: Gate) -> None:
    gate.start()
    ran = gate.call("verify", "skip", "--task", "Task 3", "--kind", "time-pressure", *PERSON)
    assert ran.code == 0
    assert ran.has("complete (unverified)", "user risk: mara answers for it")
    entry = yaml.safe_load(gate.state_file.split("## Not verified")[1].split("```yaml\n")[1].split("```")[0])["tasks"][
        0
    ]
    assert entry["name"] == NAME
    assert entry["status"] == "complete (unverified)"
    assert (entry["skip_reason"], entry["skipped_by"]) == (PERSON[1], "mara")
    assert entry["skipped_at"]
    assert entry["requires_manual_commit"] is True
    commit = gate.call("verify", "commit", "--task", TASK)
    assert commit.code == 13
    assert commit.has("only an approved task can be committed")


@pytest.mark.criterion("VG-16")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(("--kind", "tests-take-too-long", *PERSON), 2, id="another-kind"),
        pytest.param(PERSON, 2, id="no-kind"),
        pytest.param(("--kind", "unavailable", "--by", "mara"), 2, id="no-reason"),
        pytest.param(("--kind", "unavailable", "--reason", "down"), 2, id="no-name"),
        pytest.param(("--kind", "unavailable", "--reason", "Tests take too long", "--by", "m"), 13, id="too-long"),
        pytest.param(("--kind", "unavailable", "--reason", "Looks good to me", "--by", "m"), 13, id="looks-good"),
    ],
)
def test_a_skip_without_its_parts_is_refused(gate: Gate, words: tuple[str, ...], code: int) -> None:
    gate.start()
    before = gate.ledger()
    assert gate.call("verify", "skip", "--task", TASK, *words).code == code
    assert gate.ledger() == before


@pytest.mark.criterion("VG-16", "VG-17")
def test_an_override_is_for_a_person_at_a_terminal(gate: Gate) -> None:
    gate.project.remove("phase-gate.yaml")
    gate.start()
    for words in (("skip", "--kind", "unavailable"), ("force", "--word", "OVERRIDE")):
        ran = gate.project.gate("verify", *words, "--task", TASK, *PERSON)
        assert ran.code == 13
        assert ran.has("is for a person at a terminal")


@pytest.mark.criterion("VG-17")
def test_force_needs_the_word_and_marks_the_task(gate: Gate) -> None:
    gate.start()
    force = ("verify", "force", "--task", TASK, *PERSON)
    assert gate.call(*force).has("needs the word OVERRIDE, and nothing was changed")
    ran = gate.call(*force, "--word", "OVERRIDE")
    assert ran.code == 0
    assert ran.has("complete (forced)", "Warning  ")
    assert "1 of them were forced" in gate.state_file
    assert [line["data"]["kind"] for line in gate.ledger() if line["kind"] == "overridden"] == ["force"]
    assert gate.call("status", "--task", TASK).has("mara forced VERIFICATION")


@pytest.mark.criterion("VG-10")
def test_neither_a_signal_nor_a_file_nor_a_run_takes_the_reviewers_place(gate: Gate) -> None:
    gate.reviewing()
    for words in (("signal", "--reason", "done"), ("advance",), ("force", "--reason", "so it is", "--by", "mara")):
        assert gate.call(*words, "--task", TASK).has("is a verify task")
    gate.project.write({f".phase-gate/tasks/{TASK}/exit-signal.yaml": "exit_signal: true\nreason: done\n"})
    ran = gate.project.run("--phase=verification", "--phase-workflow=verification", f"--phase-task={TASK}")
    assert ran.code == 13
    assert ran.has("only its verify command runs tests in it")
    assert gate.state == "REVIEWING"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("other", ["APPROVED", "REJECTED"])
def test_of_two_reviewers_at_once_one_is_heard(gate: Gate, other: str) -> None:
    gate.reviewing()
    gate.paper("one.yaml", gate.verdict())
    gate.paper("two.yaml", gate.verdict(other))
    calls = [
        subprocess.Popen(
            [sys.executable, "-m", "phase_gate.cli", "verify", "review", f"{paper}.yaml", "--by", name],
            cwd=gate.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for paper, name in (("one", "ann"), ("two", "bob"))
    ]
    said = [process.communicate()[0].decode() for process in calls]
    codes = sorted(process.returncode for process in calls)
    heard = [line["data"]["word"]["by"] for line in gate.ledger() if line["kind"] == "reviewed"]
    assert len(heard) == 1, said
    assert codes[-1] == 13, said
    assert gate.state == ("APPROVED" if heard == ["ann"] or other == "APPROVED" else "REJECTED")
    assert [line["kind"] for line in gate.ledger()].count("phase-exited") == (gate.state == "APPROVED")


def test_a_person_says_that_something_else_was_mended(gate: Gate) -> None:
    gate.start(verify=python('-c \'import os, check; assert os.path.exists("/dev/null/x") or os.environ["UP"]\''))
    assert gate.work().code == 10
    refused = gate.executor()
    assert refused.code == 13
    assert refused.has("no file has changed", f"phase-gate verify resume --task {TASK} --reason")
    assert gate.call("verify", "resume", "--task", TASK, *PERSON).code == 0
    gate.project.environment.setenv("UP", "1")
    assert gate.work().code == 0
    assert gate.call("verify", "resume", "--task", TASK, *PERSON).has("does not wait for a person")


def test_what_a_person_says_about_a_blocked_task_is_in_the_next_prompt(gate: Gate) -> None:
    gate.start()
    gate.executor(gate.result("blocked"))
    assert gate.call("verify", "resume", "--task", TASK, *PERSON).code == 0
    assert gate.json("verify", "status", "--task", TASK)["gate_status"] == "BLOCKED"
    assert gate.work().code == 0
    assert gate.json("verify", "show")["guidance"] == ["mara: the registry is back"]


@pytest.mark.parametrize("steps", [0, 1, 2], ids=["EXECUTING", "VERIFYING", "REVIEWING"])
def test_an_attempt_can_be_abandoned_and_begins_anew(gate: Gate, steps: int) -> None:
    gate.start()
    for step in (gate.executor, gate.verify)[:steps]:
        assert step().code == 0
    assert gate.call("verify", "abandon", "--task", TASK).code == 2, "without a reason"
    ran = gate.call("verify", "abandon", "--task", TASK, "--reason", "the plan has changed")
    assert ran.code == 0
    (failure,) = gate.status()["previous_failures"]
    assert (failure["counts"], "the plan has changed" in failure["error"]) == (False, True)
    assert gate.call("verify", "show").has("the plan has changed")
    for step in (gate.executor, gate.verify, gate.review):
        assert step().code == 0
    assert gate.status()["attempt"] == 2
