"""Commits of verify tasks: only what was approved."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tasks.verifying import NAME, PERSON, RIGHT, TASK, WRONG, Gate

pytestmark = pytest.mark.processes


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
def test_what_was_changed_after_the_approval_is_not_committed(versioned: Gate) -> None:
    gate = versioned
    gate.start()
    gate.work(planner=RIGHT)
    assert gate.review().code == 0
    head = gate.head
    gate.project.write(planner=RIGHT + "import os\n")
    ran = gate.call("verify", "commit")
    assert (ran.code, gate.head) == (13, head)
    assert ran.has("files were changed after the approval")
    assert gate.call("check", "--task", TASK).code == 10


@pytest.mark.criterion("VG-23")
def test_a_committed_task_waits_for_no_commit(gate: Gate) -> None:
    gate.in_git(planner=WRONG)
    gate.start_two()
    gate.call("verify", "start", "--task", "Task 4")
    for task, name, file in ((TASK, NAME, "planner.py"), ("task-4-other", "Task 4: Other", "other.py")):
        gate.project.write({file: RIGHT})
        gate.executor(gate.result(task_name=name, files_modified=[file]))
        gate.verify("--task", task)
        assert gate.review(gate.verdict(task_name=name), "--task", task).code == 0
        assert gate.call("verify", "commit").code == 0
    ran = gate.call("verify", "commit")
    assert (ran.code, ran.has("no task waits for a commit")) == (13, True)


@pytest.mark.criterion("VG-23", "VG-28")
def test_a_waived_file_is_committed_and_makes_the_pass_weak(versioned: Gate) -> None:
    gate = versioned
    gate.start()
    assert gate.work({"planner.py": RIGHT, "other.py": "OTHER = 2\n"}).has("files-listed")
    assert gate.call("waive", "files-listed", "--task", TASK, *PERSON).code == 0
    assert gate.verify().code == 0
    assert gate.review().code == 0
    assert gate.status()["weak_because"] == ["waived: other.py changed, but the task does not list it"]
    ran = gate.call("verify", "commit")
    assert ran.code == 0, ran
    assert gate.project.git("show", "--name-only", "--format=", "HEAD").split() == ["other.py", "planner.py"]


@pytest.mark.criterion("VG-34")
def test_what_a_person_committed_ends_an_approval_with_low_confidence(versioned: Gate) -> None:
    gate = versioned
    gate.start()
    gate.work(planner=RIGHT)
    gate.review(gate.verdict(confidence="LOW"))
    refused = gate.call("verify", "commit")
    assert refused.code == 13
    assert refused.has("manual review", "commit it yourself, then phase-gate verify commit")
    made = gate.commit("planner.py")
    ran = gate.call("verify", "commit")
    assert ran.code == 0, ran
    assert ran.has(f"committed as {made[:10]}")
    assert (gate.status()["commit_sha"], gate.head) == (made, made)


@pytest.mark.parametrize("versioned", [True, False], ids=["no-change", "no-git"])
def test_an_approval_with_nothing_to_commit_stands(gate: Gate, versioned: bool) -> None:
    if versioned:
        gate.in_git()
    gate.approved()
    gate.start(document=gate.task(name="Task 4: Other", files=["other.py"], depends_on=["Task 5: Later"]))
    gate.start(document=gate.task(name="Task 5: Later", files=["later.py"]))
    ran = gate.call("verify", "commit", "--task", TASK)
    assert ran.code == 13
    assert ran.has("the approval is still valid: phase-gate verify status --task task-5-later")
