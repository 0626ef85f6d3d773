"""Verify tasks from the command line, with real commands: the three steps, what passes, what fails, what is kept."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from phase_gate.storage.opening import Opened, TaskReader
from tests.e2e.sessions import faults
from tests.support import OURS
from tests.tasks.verifying import NAME, RIGHT, TASK, WRONG, Gate, python

pytestmark = pytest.mark.processes

UNVERIFIED = ("--reason", "the vendor's service is down", "--by", "mara")


# --- the three steps


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


@pytest.mark.criterion("VG-02")
def test_the_states_of_a_task_that_fails_twice_and_passes(gate: Gate) -> None:
    """The table itself, with everything that can't follow, is in tests/tasks/test_state_extension.py."""
    gate.project.write(planner=WRONG)
    states = []

    def then(code: int, ran: Any) -> None:
        assert ran.code == code, ran
        states.append(gate.state)

    tasks = [gate.task(name="Task 9: Other", files=["other.py"]), gate.task()]
    then(0, gate.start(document=tasks))
    then(0, gate.call("verify", "start", "--task", TASK))
    then(0, gate.executor())
    then(10, gate.verify())
    gate.project.write(planner=RIGHT)
    then(0, gate.executor())
    then(0, gate.verify())
    then(10, gate.review(gate.verdict("REJECTED")))
    gate.project.write(planner=RIGHT + "# says what it is\n")
    then(12, gate.executor(gate.result("blocked")))
    then(0, gate.executor())
    then(0, gate.verify())
    then(0, gate.review())
    assert states == [
        *("PENDING", "EXECUTING", "VERIFYING", "FAILED", "VERIFYING", "REVIEWING", "REJECTED"),
        *("BLOCKED", "VERIFYING", "REVIEWING", "APPROVED"),
    ]


@pytest.mark.criterion("VG-03", "VG-11")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("status: maybe\ntask_name: x\n", id="another-status"),
        pytest.param("task_name: x\n", id="a-missing-field"),
        pytest.param("status: [success\n", id="no-yaml"),
    ],
)
def test_a_malformed_result_is_recorded_as_such(gate: Gate, text: str) -> None:
    gate.start()
    assert gate.executor(text).code == 10
    assert (gate.state, gate.failures) == ("FAILED", ["MALFORMED"])


@pytest.mark.criterion("VG-04")
def test_we_run_the_command_and_keep_all_of_it(gate: Gate) -> None:
    gate.start(
        verify=python("""-c 'import sys; print("5 tests passed"); print("warned", file=sys.stderr); import check'""")
    )
    assert gate.work().code == 0
    verify = gate.json("verify", "status", "--task", TASK)["gate_result"]["verify"]
    assert verify["command"].endswith("import check'")
    assert (verify["exit_code"], verify["how"]) == (0, "ended")
    assert "5 tests passed" in verify["output"]
    assert verify["duration_ms"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", verify["timestamp"])
    _, ran = (line["data"]["check"] for line in gate.ledger() if line["kind"] == "verify-ran")
    assert ran["output"], "both streams are an object of the ledger"


@pytest.mark.criterion("VG-05", "VG-10")
def test_the_exit_code_counts_and_not_the_claim(gate: Gate) -> None:
    gate.project.write(planner=WRONG)
    gate.start()
    gate.executor(gate.result(evidence="all tests pass"))
    ran = gate.verify()
    assert ran.code == 10
    assert ran.has("the executor claims exit code 0; measured, it is 1")
    assert (gate.state, gate.failures) == ("FAILED", ["VERIFY_FAILURE"])


@pytest.mark.criterion("VG-06")
def test_the_verdict_is_read_against_its_schema_and_kept(gate: Gate) -> None:
    gate.reviewing()
    document = gate.verdict(confidence="MEDIUM", concerns=["3 warnings"], feedback="tidy up later")
    assert faults("verdict", document) == []
    assert gate.review(document).code == 0
    architect = gate.json("verify", "status", "--task", TASK)["gate_result"]["architect"]
    kept = {name: architect[name] for name in ("confidence", "findings", "concerns", "recommendation", "feedback")}
    assert kept == {name: document[name] for name in kept}


@pytest.mark.criterion("VG-06", "VG-33")
def test_a_malformed_verdict_leaves_the_evidence_and_is_flagged_when_it_comes_again(gate: Gate) -> None:
    gate.reviewing()
    assert gate.review("verdict: YES\n", by="ann").code == 10
    assert (gate.state, gate.failures) == ("REVIEWING", ["MALFORMED"])
    assert not gate.status()["needs_manual_review"]
    gate.review("verdict: YES\n")
    assert gate.status()["needs_manual_review"]
    assert gate.review().code == 0


# --- what passing means


def unmet(document: Any) -> set[str]:
    gate_1 = document["evaluation"]["gate_1"]
    clauses = {clause["text"] for clause in gate_1["clauses"] if clause["met"] is not True}
    return clauses | {guard["name"] for guard in gate_1["guards"] if guard["met"] is not True}


@pytest.mark.criterion("VG-07")
def test_each_missing_row_has_a_name(gate: Gate) -> None:
    gate.start()
    gate.paper("result.yaml", gate.result("failure"))
    document = gate.json("verify", "executor", "result.yaml")
    assert 'executor_status == "success"' in unmet(document)
    assert "verify_ran == true" in unmet(document)
    gate.project.write(planner=WRONG)
    gate.paper("result.yaml", gate.result(done_criteria_met=False))
    document = gate.json("verify", "executor", "result.yaml")
    assert "done_criteria_met == true" in unmet(document)
    assert document["previous_failures"][-1]["error"].endswith("also that the done-criteria are not met")
    gate.project.write(planner=WRONG + "\n")
    gate.executor()
    document = gate.json("verify", "run")
    assert "verify_exit_code == 0" in unmet(document)
    assert document["evaluation"]["gate_2"]["satisfied"] is False


@pytest.mark.criterion("VG-08", "VG-27")
def test_the_evidence_chain_of_a_passed_task_is_complete(gate: Gate) -> None:
    gate.approved()
    document = {"gate_result": gate.json("verify", "status", "--task", TASK)["gate_result"]}
    assert faults("verification-result", document) == []
    result = document["gate_result"]
    assert result["executor"]["files_modified"] == ["planner.py"]
    assert result["executor"]["evidence"] == "planner_id() returns 42"
    assert (result["verify"]["exit_code"], result["verify"]["output"]) == (0, "5 tests passed\n")
    assert (result["architect"]["verdict"], result["architect"]["recommendation"]) == ("APPROVED", "commit")
    assert (result["outcome"], result["commit_sha"], result["state_updated"]) == ("PASSED", None, True)
    assert result["duration_ms"] >= result["verify"]["duration_ms"]


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


# --- the verdict and its evidence


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


# --- failures


@pytest.mark.criterion("VG-11", "VG-12")
def test_each_type_of_failure_has_its_feedback(gate: Gate) -> None:
    gate.start()

    def prompt() -> str:
        return str(gate.json("verify", "show", "--task", TASK)["feedback"])

    gate.executor(gate.result("failure"))
    assert prompt().startswith(
        "PREVIOUS ATTEMPT FAILED:\nError: Cannot find module 'uuid'\n\nSUGGESTED FIX: Run `pip install uuid`\n\n"
        "Please address this before retrying the task."
    )
    gate.work(planner=WRONG)
    text = prompt()
    assert text.startswith("VERIFICATION FAILED:\nCommand: ")
    assert "Exit code: 1\n\nFAILURES:\n- FAILED test_planner.py::test_id - assert 0 == 42\n- FAILED test" in text
    assert "Please fix the failing tests and re-verify." in text
    gate.work(planner=RIGHT)
    gate.review(gate.verdict("REJECTED"))
    assert prompt().startswith(
        "ARCHITECT REJECTED:\n\nIssues found:\n1. No error handling\n2. Comments missing\n\n"
        "Please address these concerns and re-submit."
    )
    assert gate.failures == ["EXECUTION_FAILURE", "VERIFY_FAILURE", "ARCHITECT_REJECTION"]


@pytest.mark.sweep
@pytest.mark.criterion("VG-13", "VG-11", "VG-32")
def test_a_verify_command_that_takes_too_long_is_ended_with_its_children(gate: Gate) -> None:
    sleeps = "import time; time.sleep(60)"
    child = (
        f"import subprocess, sys\nprint('half way', flush=True)\nsubprocess.run([sys.executable, '-c', '{sleeps}'])\n"
    )
    gate.project.write({"slow.py": child})
    gate.start(verify=python("slow.py"), timeouts={"verify": 1})
    ran = gate.work()
    assert ran.code == 10
    assert (gate.state, gate.failures) == ("FAILED", ["TIMEOUT"])
    assert "half way" in gate.json("verify", "status", "--task", TASK)["gate_result"]["verify"]["output"], (
        "what it printed is kept"
    )
    assert gate.call("verify", "show").has(
        "TIMEOUT:",
        "- half way",
        "1. Retry with an extended time-out: up to 300 s for the verify step, 30 minutes for the whole gate",
        "2. Manual intervention",
        "3. Skip with a warning",
    )
    assert gate.executor().has("a time-out is retried after 30 s")
    gate.wait(31)
    assert gate.executor().code == 0, "on the same files"
    began = [line["data"] for line in gate.ledger() if line["kind"] == "attempt-began"]
    assert began[-1]["limits"]["verify"] == 2, "and with more time"


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


@pytest.mark.criterion("VG-32")
def test_the_whole_gate_has_thirty_minutes(gate: Gate) -> None:
    gate.start(timeouts={"executor": 900})
    gate.wait(890)
    gate.executor()
    gate.wait(920)
    assert gate.verify().has("TIMEOUT: the gate's 1800 s are over")


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


# --- escalation


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


# --- overrides


@pytest.mark.criterion("VG-16", "VG-23")
def test_a_skipped_task_is_complete_and_unverified(gate: Gate) -> None:
    gate.start()
    ran = gate.call("verify", "skip", "--task", "Task 3", "--kind", "time-pressure", *UNVERIFIED)
    assert ran.code == 0
    assert ran.has("complete (unverified)", "user risk: mara answers for it")
    entry = yaml.safe_load(gate.state_file.split("## Not verified")[1].split("```yaml\n")[1].split("```")[0])["tasks"][
        0
    ]
    assert entry["name"] == NAME
    assert entry["status"] == "complete (unverified)"
    assert (entry["skip_reason"], entry["skipped_by"]) == (UNVERIFIED[1], "mara")
    assert entry["skipped_at"]
    assert entry["requires_manual_commit"] is True
    commit = gate.call("verify", "commit", "--task", TASK)
    assert commit.code == 13
    assert commit.has("only an approved task can be committed")


@pytest.mark.criterion("VG-16")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(("--kind", "tests-take-too-long", *UNVERIFIED), 2, id="another-kind"),
        pytest.param(UNVERIFIED, 2, id="no-kind"),
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
        ran = gate.project.gate("verify", *words, "--task", TASK, *UNVERIFIED)
        assert ran.code == 13
        assert ran.has("is for a person at a terminal")


@pytest.mark.criterion("VG-17")
def test_force_needs_the_word_and_marks_the_task(gate: Gate) -> None:
    gate.start()
    force = ("verify", "force", "--task", TASK, *UNVERIFIED)
    assert gate.call(*force).has("needs the word OVERRIDE, and nothing was changed")
    ran = gate.call(*force, "--word", "OVERRIDE")
    assert ran.code == 0
    assert ran.has("complete (forced)", "Warning  ")
    assert "1 of them were forced" in gate.state_file
    assert [line["data"]["kind"] for line in gate.ledger() if line["kind"] == "overridden"] == ["force"]
    assert gate.call("status", "--task", TASK).has("mara forced VERIFICATION")


# --- what people see


@pytest.mark.criterion("VG-18")
def test_the_status_has_the_documents_fields(gate: Gate) -> None:
    gate.project.write(planner=WRONG)
    gate.start(phase="03-sequential-execution", plan="03-01")
    gate.work()
    document = gate.status()
    assert (document["phase"], document["plan"]) == ("03-sequential-execution", "03-01")
    assert (document["gate_status"], document["gate_step"]) == ("FAILED", 2)
    steps = [document[name] for name in ("executor_status", "verify_status", "architect_status")]
    assert steps == ["success", "failed", "pending"]
    assert document["started_at"] < document["last_step_at"]
    assert (document["attempt"], document["max_attempts"]) == (1, 3)
    assert document["previous_failures"][0]["type"] == "VERIFY_FAILURE"


@pytest.mark.criterion("VG-19")
def test_the_progress_is_drawn_as_in_the_document(gate: Gate) -> None:
    gate.start()
    gate.executor()
    clock = r"\(\d\d:\d\d:\d\d\)"
    drawn = (
        rf"## Current Task: {NAME}\n\nGate Progress: \[####----\] Step 2/3\n\n"
        rf"\[x\] Step 1: Executor    - SUCCESS {clock}\n"
        r"\[ \] Step 2: Verify      - PENDING\n"
        r"\[ \] Step 3: Architect   - PENDING\n\nStatus: VERIFYING\n"
    )
    assert re.search(drawn, gate.state_file)
    gate.verify()
    assert "Gate Progress: [#######-] Step 3/3" in gate.state_file
    assert gate.review().has("Gate Progress: [########] Step 3/3", "[x] Step 3: Reviewer    - APPROVED")
    assert gate.call("verify", "start", "--task", TASK).has("is APPROVED: no attempt is left to begin")
    assert gate.call("verify", "show").has("no task waits for a step")


@pytest.mark.criterion("VG-20", "VG-22")
def test_state_md_status_and_stats_show_the_same_numbers(gate: Gate) -> None:
    """The numbers of the document's own example are in tests/tasks/test_rules.py."""
    tasks = [gate.task(name=f"Task {number}: Part", files=[f"part_{number}.py"]) for number in (1, 2)]
    gate.start(document=[*tasks, gate.task()])
    gate.executor(gate.result("failure", task_name="Task 1: Part"))
    gate.executor()
    stats = gate.json("verify", "status")["gate_stats"]
    assert [stats[name] for name in ("total_tasks", "passed", "failed", "in_progress", "pending")] == [3, 0, 1, 1, 1]
    assert (stats["pass_rate"], stats["avg_attempts"]) == ("0%", 1.0)
    assert stats["current_gate"] == {"task": NAME, "status": "VERIFYING", "attempt": 1}
    text = gate.state_file.split("```yaml\n")[1].split("```")[0]
    assert yaml.safe_load(text)["gate_stats"] == stats
    assert gate.json("verify", "status")["gate_stats"] == stats
    assert gate.json("status")["verification"] == stats


def _edit(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


@pytest.mark.sampled(3)
@pytest.mark.criterion("VG-20")
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(shutil.rmtree, id="no-folder"),
        pytest.param(lambda folder: _edit(folder, "state.json", '"FAILED"', '"PENDING"'), id="an-edited-state"),
        pytest.param(lambda folder: _edit(folder, "ledger.jsonl", "failure", "success"), id="an-edited-ledger"),
        pytest.param(lambda folder: (folder / "ledger.jsonl").unlink(), id="no-ledger"),
        pytest.param(lambda folder: (folder / "state.json").write_text("{}"), id="an-empty-state"),
        pytest.param(lambda folder: [each.unlink() for each in folder.glob("*.json*")], id="neither"),
    ],
)
def test_a_task_whose_state_was_edited_stops_the_list(gate: Gate, damage: Callable[[Path], object]) -> None:
    others = [gate.task(name=f"Task {number}: Part", files=[f"part_{number}.py"]) for number in (1, 2)]
    gate.start(document=[*others, gate.task()])
    gate.executor(gate.result("failure", task_name="Task 1: Part"))
    gate.work()
    gate.review()
    assert gate.call("verify", "status").code == 10
    damage(gate.root / ".phase-gate" / "tasks" / "task-1-part")
    assert gate.call("verify", "status").code == 11
    assert gate.executor(gate.result(task_name="Task 2: Part")).code == 11
    stats = gate.json("status")["verification"]
    assert (stats["total_tasks"], stats["passed"], stats["not_trusted"]) == (3, 1, ["task-1-part"])
    assert stats["pass_rate"] == "50%"


@pytest.mark.criterion("VG-21")
def test_the_failure_log_tells_what_mended_it(gate: Gate) -> None:
    gate.project.write(planner=WRONG)
    gate.start()
    gate.work()
    gate.project.write(planner=RIGHT)
    gate.executor(gate.result(resolution="Returns the answer"))
    gate.verify()
    row = gate.json("verify", "status")["recent_failures"][0]
    assert (row["task"], row["attempt"], row["failure_type"]) == (NAME, 1, "VERIFY_FAILURE")
    assert row["error"].endswith("FAILED test_planner.py::test_id - assert 0 == 42")
    assert (row["recovered"], row["resolution"]) == (True, "Returns the answer")
    assert "resolution: Returns the answer" in gate.state_file


# --- the commit


@pytest.mark.criterion("VG-23", "VG-27")
def test_only_the_tasks_files_are_committed_and_the_id_is_in_the_result(gate: Gate) -> None:
    gate.project.write({"other.txt": "1\n"})
    gate.in_git(planner=WRONG)
    gate.project.write({"unasked.txt": "x\n"})
    gate.project.git("add", "unasked.txt")
    gate.start(files=["planner.py", "docs/planner.md", "other.txt"])
    gate.work({"planner.py": RIGHT, "docs/planner.md": "# Planner\n"})
    assert gate.call("verify", "commit").has("only an approved task can be committed")
    assert gate.review().code == 0
    ran = gate.call("verify", "commit")
    assert ran.code == 0, ran
    assert gate.json("verify", "status", "--task", TASK)["gate_result"]["commit_sha"] == gate.head
    listed = gate.project.git("show", "--name-only", "--format=", "HEAD").split()
    assert listed == ["docs/planner.md", "planner.py"]
    assert gate.project.git("diff", "--cached", "--name-only").split() == ["unasked.txt"], "what was staged stays so"
    assert gate.call("verify", "commit", "--task", TASK).has("was committed as")


@pytest.mark.criterion("VG-34", "VG-23")
@pytest.mark.parametrize(
    ("more", "why"),
    [({"confidence": "LOW"}, "confidence is LOW"), ({"recommendation": "manual_review"}, "recommends manual_review")],
    ids=["low-confidence", "another-recommendation"],
)
def test_what_the_reviewer_is_not_sure_of_is_not_committed(gate: Gate, more: dict[str, Any], why: str) -> None:
    ran = gate.reviewing().review(gate.verdict(**more))
    assert gate.state == "APPROVED"
    assert ran.has("manual review")
    commit = gate.call("verify", "commit")
    assert commit.code == 13
    assert commit.has(why, "manual review")


# --- tasks and their commands


@pytest.mark.criterion("VG-24")
@pytest.mark.parametrize("command", ["echo done", "true", "cat planner.py", "pytest test_x.py || true"])
def test_a_command_that_proves_nothing_is_refused(gate: Gate, command: str) -> None:
    ran = gate.start(verify=command)
    assert ran.code == 13
    assert not (gate.root / ".phase-gate").exists(), "nothing was taken"


@pytest.mark.criterion("VG-24")
def test_what_is_too_broad_or_vague_is_flagged(gate: Gate) -> None:
    ran = gate.start(verify="npm test", done="It works")
    assert ran.code == 0
    assert ran.has("Flagged  ")
    assert len(gate.status()["flags"]) == 2


@pytest.mark.criterion("VG-25")
@pytest.mark.parametrize(
    "output",
    ["Ran 0 tests in 0.000s\\n\\nOK", "no tests ran in 0.01s", "Tests:       0 total", "0 tests passed"],
    ids=["unittest", "pytest", "jest", "unknown"],
)
def test_zero_tests_with_exit_code_zero_are_refused(gate: Gate, output: str) -> None:
    gate.project.write({"run.py": f"print({output!r}.replace('\\\\n', chr(10)))\n"})
    gate.start(verify=python("run.py"))
    ran = gate.work()
    assert ran.code == 10, ran
    assert ran.has("ended with 0 and proves nothing: it ended with 0 and ran no test")
    assert gate.failures == ["VERIFY_FAILURE"]


@pytest.mark.criterion("VG-26", "VG-37")
def test_a_flaky_verify_runs_twice_only_where_declared_and_stands_in_state_md(gate: Gate) -> None:
    gate.project.write(
        {"shaky.py": "import os\nif not os.path.exists('seen'): open('seen', 'w'); exit(1)\nimport check\n"}
    )
    flaky = {"flaky": "accepted", "flaky_reason": "the clock jumps"}
    gate.reviewing(verify=python("shaky.py"), **flaky)
    ran = gate.review(gate.verdict(concerns=["3 warnings should be addressed"]))
    assert ran.has("approved by ann (weak)")
    gate.start(document=gate.task(name="Task 4: Other", files=["other.py"]))
    (block,) = re.findall(r"```yaml\n(.*?)```", gate.state_file, re.DOTALL)
    (row,) = yaml.safe_load(block)["concerns"]
    assert row["task"] == NAME
    flaky_once = "flaky: it ended with 1 first, and passed in a second run"
    assert row["because"] == ["concern: 3 warnings should be addressed", flaky_once]


@pytest.mark.criterion("VG-28")
def test_files_are_compared_with_git_and_not_with_the_claim(gate: Gate) -> None:
    gate.project.write({"setup.cfg": "[x]\n"})
    gate.in_git()
    gate.start()
    gate.project.write({"planner.py": RIGHT + "# done\n", "setup.cfg": "[y]\n", "extra.py": "x = 1\n"})
    gate.executor(gate.result(files_modified=["planner.py"]))
    refused = gate.verify()
    assert refused.code == 10
    assert refused.has("files-listed: changed files that the task does not list: 2 (extra.py, setup.cfg)")
    gate.project.remove("extra.py")
    gate.project.git("checkout", "-q", "setup.cfg")
    assert gate.verify().code == 0


@pytest.mark.criterion("VG-28")
def test_what_other_tasks_and_their_papers_change_is_theirs(gate: Gate) -> None:
    gate.project.write({".gitignore": "__pycache__/\n"})
    gate.project.commit_all()
    other = gate.task(name="Task 9: Other", files=["other.py"])
    gate.start(document=[gate.task(), other])
    gate.call("verify", "start", "--task", TASK)
    gate.call("verify", "start", "--task", "Task 9")
    ran = gate.work({"other.py": "x = 1\n", "planner.py": RIGHT + "\n"})
    assert ran.code == 0, ran


@pytest.mark.criterion("VG-29")
def test_a_task_is_read_from_the_documents_xml(gate: Gate) -> None:
    task = gate.task()
    xml = (
        f'<task type="auto"><name>{task["name"]}</name><files>planner.py</files><action>{task["action"]}</action>'
        f"<verify>{task['verify']}</verify><done>{task['done']}</done></task>"
    )
    gate.paper("task.xml", xml)
    assert gate.call("verify", "start", "--task-file", "task.xml").code == 0
    assert gate.state == "EXECUTING"
    assert gate.work().code == 0


@pytest.mark.criterion("VG-30")
def test_the_reviewers_three_inputs_are_one_bundle(gate: Gate) -> None:
    gate.reviewing()
    document = gate.json("verify", "show")
    assert document["task"]["action"] == gate.task()["action"]
    assert document["executor_result"]["evidence"] == "planner_id() returns 42"
    assert document["verify"]["output"] == "5 tests passed\n"
    text = gate.call("verify", "show").out
    assert text.index("# 1. Task") < text.index("# 2. Executor result") < text.index("# 3. Verify command")
    form = document["verdict_form"]
    assert gate.review({**gate.verdict(), "evidence": form["evidence"]}).code == 0


@pytest.mark.criterion("VG-37")
def test_the_reviewer_gets_the_diff_and_the_five_checks(gate: Gate) -> None:
    gate.in_git(planner=WRONG)
    gate.start(files=["planner.py", "docs/planner.md"])
    gate.work({"planner.py": RIGHT, "docs/planner.md": "# Planner\n"})
    document = gate.json("verify", "show")
    assert document["diff"].splitlines() == [
        *("--- a/planner.py", "+++ b/planner.py", "@@ -1,2 +1,2 @@", " def planner_id():", "-    return 0"),
        *("+    return 42", "--- /dev/null", "+++ b/docs/planner.md", "+# Planner"),
    ]
    assert document["weak_because"] == []
    assert len(document["checks"]) == 5
    text = gate.call("verify", "show").out
    assert "\n| +    return 42\n" in text
    assert "- there are no unintended side effects\n" in text


@pytest.mark.criterion("VG-37")
def test_a_known_test_that_was_emptied_makes_the_pass_weak(gate: Gate) -> None:
    gate.in_git(planner=WRONG)
    begin_pytest(gate)
    gate.project.write({"planner.py": WRONG, "test_planner.py": TESTS.replace("planner_id() == 42", "True")})
    ran = gate.verify()
    assert ran.code == 0, ran
    assert ran.has("Weak     changed since the task was taken: test_planner.py::test_id")
    assert gate.review().has("approved by ann (weak)")


@pytest.mark.criterion("VG-31")
@pytest.mark.parametrize(
    ("done", "way"),
    [
        pytest.param(False, "Task 2: Domain is PENDING: queue it first", id="not-done"),
        pytest.param(True, "Task 2: Domain is complete: the state is inconsistent", id="done"),
    ],
)
def test_a_blocked_task_names_what_blocks_it_and_which_way_to_go(gate: Gate, done: bool, way: str) -> None:
    gate.start(document=[gate.task(name="Task 2: Domain", files=["domain.py"]), gate.task()])
    if done:
        gate.call("verify", "skip", "--task", "Task 2", "--kind", "false-negative", *UNVERIFIED)
    error = "Required file not found: domain.py\nThis task depends on Task 2 which may not be complete."
    assert gate.executor(gate.result("blocked", error=error)).code == 12
    assert gate.call("verify", "show").has("BLOCKING DEPENDENCY: Task 2: Domain", way)
    dependency = gate.json("verify", "show")["dependency"]
    assert (dependency["name"], dependency["completed"]) == ("Task 2: Domain", done)


# --- pytest inside

PYTEST = "-m pytest -q " + " ".join(OURS)
TESTS = """\
from planner import planner_id


def test_id():
    assert planner_id() == 42


def test_type():
    assert isinstance(planner_id(), int)
"""


def begin_pytest(gate: Gate, tests: str = TESTS, *, arguments: str = "test_planner.py") -> None:
    gate.project.write({"test_planner.py": tests})
    files = ["planner.py", "test_planner.py", "conftest.py"]
    ran = gate.start(files=files, verify=python(f"{PYTEST} {arguments}"))
    assert ran.code == 0, ran
    gate.executor()


@pytest.mark.criterion("VG-04", "VG-08")
def test_a_run_of_pytest_is_evidence_of_the_task(gate: Gate) -> None:
    begin_pytest(gate)
    assert gate.verify().code == 0
    verify = gate.json("verify", "status", "--task", TASK)["gate_result"]["verify"]
    assert verify["tests"] == 2
    (run,) = gate.json("history", "--task", TASK)["runs"]
    assert verify["runs"] == [run["id"]]
    assert (run["kind"], run["counts"]) == ("complete", {"passed": 2})
    assert gate.json("history")["runs"] == [], "and of no other one"
    assert gate.review().code == 0


@pytest.mark.sampled(4)
@pytest.mark.criterion("VG-25")
@pytest.mark.parametrize(
    ("tests", "said"),
    [
        pytest.param(TESTS.replace("def test", "def no_test"), "ended with 5", id="no-test"),
        pytest.param(
            "import pytest\n\npytestmark = pytest.mark.skip\n\n\ndef test_id():\n    pass\n", "no test ran", id="skips"
        ),
        pytest.param(
            TESTS.split("\n\n\ndef test_type")[0] + "\n", "1 test known when the task was taken", id="dropped"
        ),
        pytest.param(
            TESTS.replace("def test_type", "@__import__('pytest').mark.skip\ndef test_type"),
            "1 test newly skipped",
            id="newly-skipped",
        ),
    ],
)
def test_a_run_of_pytest_that_proves_less_is_refused(gate: Gate, tests: str, said: str) -> None:
    begin_pytest(gate)
    gate.project.write({"test_planner.py": tests})
    ran = gate.verify()
    assert ran.code == 10, ran
    assert ran.has(said)
    assert gate.failures == ["VERIFY_FAILURE"]


@pytest.mark.sweep
@pytest.mark.criterion("VG-25")
def test_outcomes_that_are_not_the_tests_own_are_refused(gate: Gate) -> None:
    begin_pytest(gate)
    gate.project.write({"planner.py": WRONG})
    gate.project.write(
        {
            "conftest.py": "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n"
            "    done = yield\n    done.get_result().outcome = 'passed'\n"
        }
    )
    ran = gate.verify()
    assert ran.code == 10, ran
    assert ran.has("proves nothing", "that an outcome is not the test's own")
    assert gate.failures == ["VERIFY_FAILURE"]


@pytest.mark.sweep
@pytest.mark.criterion("VG-25")
def test_a_pytest_that_hides_from_us_proves_nothing(gate: Gate) -> None:
    begin_pytest(gate)
    gate.project.write({"conftest.py": "import os\n\nos._exit(print('2 passed in 0.01s', flush=True) or 0)\n"})
    ran = gate.verify()
    assert ran.code == 10, ran
    assert ran.has("this run was not recorded")


# --- what else may happen to a verify run


@pytest.mark.criterion("VG-04")
def test_an_interrupted_verify_run_is_recorded_and_may_be_run_again(gate: Gate) -> None:
    gate.project.write({"slow.py": "import os, sys, time\nos.kill(int(sys.argv[1]), 15)\ntime.sleep(30)\n"})
    gate.start(verify=python("slow.py $PPID"), files=["planner.py", "slow.py"])
    gate.executor()
    ran = gate.project.gate("verify", "run", "--task", TASK)
    assert ran.code != 0
    assert ran.has("interrupted")
    assert gate.status()["verify_status"] == "interrupted"
    assert gate.state == "VERIFYING"
    gate.project.write({"slow.py": "import check\n"})
    assert gate.project.gate("verify", "run").code == 0


# --- the document's short forms

#: As they stand in the source document, without a word more.
STRONG = """\
status: success
verification:
  command: "npm test -- PlannerId"
  exit_code: 0
  output_summary: "5 tests passed"
done_criteria_met: true
"""
WEAK = """\
status: success
verification:
  command: "npm run build"
  exit_code: 0
  output_summary: "Build succeeded with 3 warnings"
done_criteria_met: true
"""
APPROVED = """\
verdict: APPROVED
confidence: HIGH
findings:
  - "All 5 tests pass (verified output)"
  - "PlannerId class created with correct fields"
  - "Error handling implemented per spec"
recommendation: commit
"""
REJECTED = """\
verdict: REJECTED
confidence: HIGH
findings:
  - "Tests pass but implementation is incomplete"
concerns:
  - "Missing error handling for edge case"
  - "Documentation not updated"
recommendation: retry
feedback: |
  Implementation passes tests but:
  1. No error handling for null input
  2. JSDoc comments missing
"""


def begin_two(gate: Gate) -> None:
    """Two tasks of a list: one is being worked on, the other one waits."""
    gate.start(document=[gate.task(), gate.task(name="Task 4: Other", files=["other.py"])])
    assert gate.call("verify", "start", "--task", TASK).code == 0


@pytest.mark.criterion("VG-39")
@pytest.mark.parametrize(
    ("report", "verdict", "state"),
    [(STRONG, APPROVED, "APPROVED"), (WEAK, APPROVED, "APPROVED"), (STRONG, REJECTED, "REJECTED")],
    ids=["strong", "weak", "rejected"],
)
def test_the_documents_short_forms_are_of_the_task_that_waits(
    gate: Gate, report: str, verdict: str, state: str
) -> None:
    begin_two(gate)
    assert gate.executor(report).code == 0
    assert gate.verify().code == 0
    assert gate.review(verdict).code == (0 if state == "APPROVED" else 10)
    assert gate.state == state
    chain = gate.json("verify", "status", "--task", TASK)["gate_result"]
    assert chain["executor"]["evidence"] == yaml.safe_load(report)["verification"]["output_summary"]
    # Neither command is the task's own.
    assert any("another command" in why for why in gate.status()["weak_because"])


@pytest.mark.criterion("VG-39")
def test_a_short_form_is_refused_where_the_task_is_not_clear(gate: Gate) -> None:
    begin_two(gate)
    gate.call("verify", "start", "--task", "Task 4")
    ran = gate.executor(STRONG)
    assert ran.code == 2
    assert ran.has("2 tasks wait for an executor's report", "add --task", TASK, "task-4-other")
    assert gate.failures == []
    for task, name in ((TASK, NAME), ("task-4-other", "Task 4: Other")):
        assert gate.executor(gate.result(task_name=name)).code == 0
        assert gate.verify("--task", task).code == 0
    assert gate.review(APPROVED).code == 2
    assert gate.review(APPROVED, "--task", TASK).code == 0
    assert gate.state == "APPROVED"


PLAN = """\
# Plan

Each `<task>` block is one task, and
<tasks> may stand around them.

{task}

## Then

```xml
{other}
```
"""
BLOCK = """\
<task type="auto">
  <name>{name}</name>
  <files>{file}</files>
  <action>Create it: a && b</action>
  <verify>{verify}</verify>
  <done>planner_id() returns 42; 5 tests pass</done>
</task>"""


@pytest.mark.criterion("VG-35")
def test_a_plan_is_a_list_of_tasks(gate: Gate) -> None:
    first = BLOCK.format(name=NAME, file="planner.py", verify=python("check.py"))
    other = BLOCK.format(name="Task 4: Other", file="other.py", verify=f"{python('check.py')} && {python('check.py')}")
    gate.project.write({"PLAN.md": PLAN.format(task=first, other=other)})
    assert gate.call("verify", "start", "--task-file", "PLAN.md").code == 0
    found = gate.json("verify", "status")["tasks"]
    assert [(row["name"], row["files"]) for row in found] == [
        (NAME, ["planner.py"]),
        ("Task 4: Other", ["other.py"]),
    ]
    assert gate.call("verify", "start").code == 0
    assert gate.work().code == 0


# --- who may change what


@pytest.mark.criterion("VG-23", "VG-28")
def test_a_commit_during_the_attempt_is_said_and_makes_the_pass_weak(gate: Gate) -> None:
    gate.in_git(planner=WRONG)
    gate.start()
    gate.project.write(planner=RIGHT)
    made = gate.commit("planner.py")
    said = f"committed before it was approved, which makes the pass weak: {made[:10]}"
    ran = gate.executor()
    assert ran.code == 0, "a person who commits by habit is not held up"
    assert ran.has(said)
    assert gate.verify().has(said)
    assert gate.review().has("approved by ann (weak)")
    assert gate.status()["weak_because"] == [f"committed before it was approved: {made[:10]}"]
    assert gate.call("verify", "commit").has(f"committed as {made[:10]}")
    assert gate.head == made, "it has the files as they were approved"


@pytest.mark.criterion("VG-23", "VG-28")
def test_what_a_commit_brought_and_another_took_back_counts(gate: Gate) -> None:
    gate.in_git(planner=WRONG)
    gate.start()
    gate.project.write({"planner.py": RIGHT, "backdoor.py": "x = 1\n"})
    gate.commit("backdoor.py")
    gate.project.git("rm", "-q", "backdoor.py")
    gate.project.git("commit", "-q", "-m", "never mind")
    ran = gate.work()
    assert ran.code == 10
    assert ran.has("files-listed: changed files that the task does not list: 1 (backdoor.py)")


@pytest.mark.criterion("VG-23")
def test_a_hook_of_git_that_changes_what_was_approved_takes_the_commit_back(gate: Gate) -> None:
    gate.in_git(planner=WRONG)
    gate.start()
    gate.work(planner=RIGHT)
    gate.review()
    hook = gate.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho '# formatted' >> planner.py\ngit add planner.py\n", encoding="utf-8")
    hook.chmod(0o755)
    head = gate.head
    ran = gate.call("verify", "commit")
    assert ran.code == 13
    assert ran.has("a git hook changed approved files", "the commit was undone")
    assert gate.head == head
    hook.unlink()
    gate.project.write(planner=RIGHT)
    assert gate.call("verify", "commit").code == 0


@pytest.mark.criterion("VG-23")
def test_a_committed_task_waits_for_no_commit(gate: Gate) -> None:
    gate.in_git(planner=WRONG)
    begin_two(gate)
    gate.call("verify", "start", "--task", "Task 4")
    for task, name, file in ((TASK, NAME, "planner.py"), ("task-4-other", "Task 4: Other", "other.py")):
        gate.project.write({file: RIGHT})
        gate.executor(gate.result(task_name=name, files_modified=[file]))
        gate.verify("--task", task)
        assert gate.review(gate.verdict(task_name=name), "--task", task).code == 0
        assert gate.call("verify", "commit").code == 0
    ran = gate.call("verify", "commit")
    assert (ran.code, ran.has("no task waits for a commit")) == (13, True)


def test_a_task_that_has_begun_gets_no_other_text(gate: Gate) -> None:
    gate.start()
    gate.executor(gate.result("failure"))
    ran = gate.start(verify=python("other.py"))
    assert (ran.code, gate.status()["attempt"]) == (13, 1)
    assert ran.has("has begun: its text can't be changed any more")


def test_settings_of_the_project_hold_for_its_tasks(gate: Gate) -> None:
    gate.project.write({"phase-gate.yaml": "verification:\n  timeouts: {verify: 60}\n  untimed: true\n"})
    gate.start()
    gate.wait(9999)
    assert gate.work().has("at most 60 s")
    assert "Status: REVIEWING" in gate.state_file
    gate.project.write({"phase-gate.yaml": "verification: {timeouts: {verify: 301}}\n"})
    assert gate.call("verify", "status").has("verification.timeouts.verify can't be 301")


@pytest.mark.criterion("VG-08")
def test_a_report_on_the_task_tells_its_steps(gate: Gate) -> None:
    gate.project.write(planner=WRONG)
    gate.start()
    gate.work()
    gate.work(planner=RIGHT)
    gate.review(gate.verdict(confidence="MEDIUM"))
    for name in ("report.md", "report.html"):
        assert gate.call("report", "--output", name, "--task", TASK).code == 0
        written = (gate.root / name).read_text(encoding="utf-8")
        for text in ("Step 3: Reviewer", "APPROVED", "confidence is MEDIUM", "failed: VERIFY_FAILURE", "(eve)"):
            assert text in written.replace("&#x27;", "'").replace("\\", ""), (name, text)


# --- the key


def test_with_a_key_that_the_tasks_do_not_have_none_of_them_goes_on(gate: Gate) -> None:
    gate.reviewing()
    gate.call("verify", "status")  # and remembered by the cache, which no key vouches for
    gate.project.environment.setenv("PHASE_GATE_KEY", "kept elsewhere")
    gate.paper("verdict.yaml", gate.verdict())
    for words in (
        ("verify", "status"),
        ("verify", "status", "--task", TASK),
        ("verify", "status", "--task", "task-3"),
        ("verify", "run"),
        ("verify", "run", "--task", NAME),
        ("verify", "commit"),
        ("verify", "review", "verdict.yaml", "--by", "ann"),
    ):
        ran = gate.call(*words, "--json")
        assert (ran.code, ran.document["error"]["slug"]) == (11, "state-key"), (words, ran)


# --- what a step costs


@pytest.mark.parametrize("others", [0, 3])
def test_a_step_reads_a_ledger_once_or_twice(gate: Gate, monkeypatch: pytest.MonkeyPatch, others: int) -> None:
    more = [gate.task(name=f"Other {number}", files=[f"other{number}.py"]) for number in range(others)]
    gate.start(document=[gate.task(), *more])
    opened: list[str] = []
    read = TaskReader.open

    def count(opener: TaskReader, **given: bool) -> Opened:
        opened.append(opener.task)
        return read(opener, **given)

    monkeypatch.setattr(TaskReader, "open", count)
    for step in (gate.executor, gate.verify, gate.review):
        opened.clear()
        assert step().code == 0
        assert opened.count(TASK) <= 2, opened
        assert len(opened) <= 2 + others, opened


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


@pytest.mark.criterion("VG-22")
def test_state_md_is_never_read(gate: Gate) -> None:
    gate.start()
    path = gate.root / ".phase-gate" / "STATE.md"
    path.write_text("Status: APPROVED\n", encoding="utf-8")
    assert gate.state == "EXECUTING"
    gate.executor()
    assert "Status: VERIFYING" in gate.state_file
    path.unlink()
    assert gate.state == "VERIFYING"
