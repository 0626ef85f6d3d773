"""The changes of a task, from git: its own, those of other tasks, and those of other people."""

from __future__ import annotations

import pytest

from tests.tasks.verifying import RIGHT, TASK, WRONG, Gate

pytestmark = pytest.mark.processes


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


def pull_work_of_others(gate: Gate, **files: str) -> str:
    """Let another clone push a commit, and pull it here; return the commit."""
    project, outside = gate.project, gate.root.parent / f"{gate.root.name}-elsewhere"
    project.git("clone", "-q", "--bare", ".", str(outside / "shared.git"))
    project.git("remote", "add", "origin", str(outside / "shared.git"))
    project.git("clone", "-q", str(outside / "shared.git"), str(outside / "theirs"))
    for name, text in files.items():
        (outside / "theirs" / f"{name}.py").write_text(text, encoding="utf-8")
    project.git("-C", str(outside / "theirs"), "commit", "-q", "-a", "-m", "theirs")
    project.git("-C", str(outside / "theirs"), "push", "-q", "origin", "HEAD")
    project.git("fetch", "-q", "origin")
    project.git("merge", "-q", "--ff-only", f"origin/{project.git('branch', '--show-current').strip()}")
    return gate.head


@pytest.mark.criterion("VG-28")
def test_a_commit_of_somebody_else_is_not_the_executors(versioned: Gate) -> None:
    gate = versioned
    gate.start()
    made = pull_work_of_others(gate, other="OTHER = 2\n")
    gate.project.write(planner=RIGHT)
    ran = gate.executor()
    assert ran.has(f"made by others since the task was taken: {made[:10]}")
    assert gate.verify().code == 0
    assert gate.json("verify", "show")["changed_files"] == ["planner.py"]
    assert gate.review().code == 0
    assert gate.status()["weak_because"] == []


@pytest.mark.criterion("VG-28")
def test_what_is_changed_on_top_of_it_is_the_executors(versioned: Gate) -> None:
    gate = versioned
    gate.start()
    pull_work_of_others(gate, other="OTHER = 2\n")
    assert gate.work({"planner.py": RIGHT, "other.py": "OTHER = 3\n"}).has("files-listed", "other.py")


@pytest.mark.criterion("VG-28")
def test_better_words_for_the_last_commit_are_no_work(versioned: Gate) -> None:
    gate = versioned
    gate.start()
    gate.project.git("commit", "-q", "--amend", "-m", "in better words")
    assert gate.executor().code == 0
    assert gate.status()["weak_because"] == []
