"""No dead end: what an honest executor, reviewer or person is told to type leads on."""

from __future__ import annotations

import pytest

from tests.support import Project, Ran
from tests.tasks.verifying import RIGHT, TASK, WRONG, Gate, python

pytestmark = pytest.mark.processes

PERSON = ("--reason", "the registry is back", "--by", "mara")


@pytest.fixture
def gate(project: Project, monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(project, monkeypatch)


# --- the state folder


# --- a verify program that is not there


def test_a_program_that_the_task_makes_is_not_missed_and_fails_where_it_never_came(gate: Gate) -> None:
    gate.start(verify="./check.sh", files=["check.sh"])
    for number in (1, 2, 3):
        assert gate.executor().code == 0, "it may have been mended outside of the files"
        ran = gate.verify()
        assert ran.code == (10 if number < 3 else 12)
        assert ran.has("VERIFY_FAILURE: `./check.sh` could not be started: No such file or directory")
    assert gate.failures == ["VERIFY_FAILURE"] * 3
    assert ran.has("Next     phase-gate verify resume --reason")


# --- a file that the task does not list


def stray(gate: Gate) -> Ran:
    """A task that waits for its verify command, with a file changed that it does not list."""
    gate.project.write({".gitignore": "*.yaml\n__pycache__/\n", "notes.txt": "1\n", "planner.py": WRONG})
    gate.project.commit_all()
    gate.start()
    gate.project.write({"planner.py": RIGHT, "notes.txt": "2\n"})
    return gate.executor()


# --- mended outside of the files


def test_a_person_says_that_something_else_was_mended(gate: Gate) -> None:
    gate.start(verify=python('-c \'import os, check; assert os.path.exists("/dev/null/x") or os.environ["UP"]\''))
    gate.executor()
    assert gate.verify().code == 10
    refused = gate.executor()
    assert refused.code == 13
    assert refused.has("no file has changed", f"phase-gate verify resume --task {TASK} --reason")
    assert gate.call("verify", "resume", "--task", TASK, *PERSON).code == 0
    gate.project.environment.setenv("UP", "1")
    assert gate.executor().code == 0
    assert gate.verify().code == 0
    assert gate.call("verify", "resume", "--task", TASK, *PERSON).has("does not wait for a person")


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
        gate.project.write({".gitignore": "*.yaml\n__pycache__/\n"})
        gate.project.commit_all()
    gate.approved()
    gate.start(document=gate.task(name="Task 4: Other", files=["other.py"], depends_on=["Task 5: Later"]))
    gate.start(document=gate.task(name="Task 5: Later", files=["later.py"]))
    ran = gate.call("verify", "commit", "--task", TASK)
    assert ran.code == 13
    assert ran.has("the approval stands: phase-gate verify status --task task-5-later")


# --- what is said


def test_the_steps_of_a_list_are_run_one_by_one(gate: Gate) -> None:
    gate.project.write({"first.py": "print('first', flush=True)\n", "planner.py": WRONG})
    gate.start(verify=" && ".join(map(python, ("first.py", "check.py", '-c \'open("last", "w")\''))))
    gate.executor()
    ran = gate.verify()
    assert ran.code == 10
    assert ran.has("check.py` (step 2 of 3) ended with 1")
    assert not (gate.root / "last").exists()
    gate.project.write(planner=RIGHT)
    gate.executor()
    assert gate.verify().code == 0
    output = gate.json("verify", "status", "--task", TASK)["gate_result"]["verify"]["output"]
    assert output.splitlines() == ["first", "5 tests passed"]
    assert (gate.root / "last").exists()


@pytest.mark.parametrize(
    ("verify", "ways"),
    [
        ("cd src && make check", ("sh check.sh", "shell: true", '<verify shell="true">')),
        ("make check | tail", ("sh check.sh",)),
    ],
)
def test_what_needs_a_shell_is_told_where_to_put_it(gate: Gate, verify: str, ways: tuple[str, ...]) -> None:
    ran = gate.start(verify=verify)
    assert ran.code == 13
    assert ran.has(*ways)


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


def test_a_list_without_waves_halts_and_goes_on(gate: Gate) -> None:
    names = [f"Task {number}: Part" for number in range(1, 5)]
    tasks = [gate.task(name=name, files=[f"part_{number}.py"]) for number, name in enumerate(names)]
    assert gate.start(document=tasks).code == 0
    ended = [gate.executor(gate.result("failure", task_name=name)) for name in names[:3]]
    assert [ran.code for ran in ended] == [10, 10, 12]
    assert ended[-1].has("Level    3: the list is halted", "Next     phase-gate verify resume --reason")
    assert gate.call("verify", "start").has("phase-gate verify resume --reason")
    assert gate.call("verify", "status").has("next: phase-gate verify resume --reason")
    assert gate.call("verify", "resume", *PERSON).has("the list goes on, by mara")
    assert gate.executor(gate.result(task_name=names[3])).code == 0
    assert gate.call("verify", "resume", *PERSON).has("is not halted")


def test_a_blocked_task_sends_to_what_blocks_it(gate: Gate) -> None:
    gate.start(document=[gate.task(), gate.task(name="Task 2: Second", files=["second.py"])])
    blocked = gate.result("blocked", blocked_by="Task 2: Second")
    assert gate.executor(blocked).code == 12
    assert gate.call("verify", "show").has("queue it first: phase-gate verify start --task task-2-second")
