"""Texts for agents: feedback, the executor's prompt, and the reviewer's bundle."""

from __future__ import annotations

import pytest

from tests.tasks.verifying import PERSON, RIGHT, TASK, WRONG, Gate

pytestmark = pytest.mark.processes


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
        gate.call("verify", "skip", "--task", "Task 2", "--kind", "false-negative", *PERSON)
    error = "Required file not found: domain.py\nThis task depends on Task 2 which may not be complete."
    assert gate.executor(gate.result("blocked", error=error)).code == 12
    assert gate.call("verify", "show").has("BLOCKING DEPENDENCY: Task 2: Domain", way)
    dependency = gate.json("verify", "show")["dependency"]
    assert (dependency["name"], dependency["completed"]) == ("Task 2: Domain", done)


@pytest.mark.criterion("VG-15", "VG-30")
def test_what_a_person_says_is_in_the_next_prompt_and_in_the_bundle(versioned: Gate) -> None:
    gate = versioned
    gate.start()
    for _ in range(3):
        gate.executor(gate.result("failure"))
    assert gate.call("verify", "status").code == gate.call("verify", "status", "--task", TASK).code == 12
    assert gate.call("verify", "resume", "--task", TASK, *PERSON).code == 0
    assert gate.call("verify", "show").has("# Instructions from a person", "mara: the registry is back")
    gate.work(planner=RIGHT)
    assert gate.json("verify", "show")["guidance"] == ["mara: the registry is back"]
    assert gate.call("verify", "show").has("# Instructions from a person", "mara: the registry is back")
