"""What people see of verify tasks: status, evidence, statistics, failures, STATE.md, reports."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.e2e.sessions import faults
from tests.tasks.verifying import NAME, RIGHT, TASK, WRONG, Gate

pytestmark = pytest.mark.processes


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
