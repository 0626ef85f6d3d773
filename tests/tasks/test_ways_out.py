"""No dead end: what an honest executor, reviewer or person is told to type leads on, after something unusual, too."""

from __future__ import annotations

import pytest

from tests.tasks.verifying import RIGHT, TASK, WRONG, Gate, python

pytestmark = pytest.mark.processes

PERSON = ("--reason", "the registry is back", "--by", "mara")


@pytest.fixture
def versioned(gate: Gate) -> Gate:
    """A project in git, with the work still to be done."""
    return gate.in_git(planner=WRONG, other="OTHER = 1\n")


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


@pytest.mark.criterion("VG-31")
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        pytest.param(["Task 9: Nowhere"], [], "'Task 9: Nowhere', which is not a task", id="unknown"),
        pytest.param(["Task 2: Second"], ["Task 1: First"], "a circle", id="circular"),
        pytest.param(["Task 1: First"], [], "a circle", id="on-itself"),
    ],
)
def test_dependencies_that_can_never_be_met_are_refused(
    versioned: Gate, first: list[str], second: list[str], said: str
) -> None:
    gate = versioned
    tasks = [
        gate.task(name="Task 1: First", files=["first.py"], depends_on=first),
        gate.task(name="Task 2: Second", files=["second.py"], depends_on=second),
    ]
    ran = gate.start(document=tasks)
    assert ran.code == 13
    assert ran.has(said)
    assert gate.json("verify", "status")["tasks"] == []


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


# --- mended outside of the files


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


# --- an attempt that is ended on purpose


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


# --- what is said


def test_the_steps_of_a_list_are_run_one_by_one(gate: Gate) -> None:
    gate.project.write({"first.py": "print('first', flush=True)\n", "planner.py": WRONG})
    gate.start(verify=" && ".join(map(python, ("first.py", "check.py", '-c \'open("last", "w")\''))))
    ran = gate.work()
    assert ran.code == 10
    assert ran.has("ended with 1: FAILED test_planner.py::test_id")
    assert not (gate.root / "last").exists()
    assert gate.work(planner=RIGHT).code == 0
    output = gate.json("verify", "status", "--task", TASK)["gate_result"]["verify"]["output"]
    assert output.splitlines() == ["first", "5 tests passed"]
    assert (gate.root / "last").exists()


# --- lists


def two(gate: Gate, **second: object) -> list[dict[str, object]]:
    return [
        gate.task(name="Task 1: First", files=["first.py"], depends_on=["Task 2: Second"]),
        gate.task(name="Task 2: Second", files=["planner.py"], **second),
    ]


def test_start_takes_the_next_task_whose_dependencies_are_finished(gate: Gate) -> None:
    assert gate.call("verify", "start").has("there is no task yet", "phase-gate verify start --task-file FILE")
    assert gate.start(document=two(gate)).has("next: phase-gate verify start")
    assert gate.call("verify", "start").has("Task 2: Second (task-2-second), attempt 1")
    refused = gate.call("verify", "start")
    assert refused.code == 10
    assert refused.has("phase-gate verify status --task task-2-second")
    assert gate.executor(gate.result(task_name="Task 2: Second")).code == 0
    gate.verify()
    assert gate.review(gate.verdict(task_name="Task 2: Second")).code == 0
    assert gate.call("verify", "start").has("Task 1: First (task-1-first), attempt 1")
