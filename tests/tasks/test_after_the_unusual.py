"""What happens to a verify task after something unusual: a waiver, a commit by hand, an escalation, a wrong list."""

from __future__ import annotations

import pytest

from tests.support import Project
from tests.tasks.verifying import RIGHT, TASK, Gate

pytestmark = pytest.mark.processes

PERSON = ("--reason", "the registry is back", "--by", "mara")
CONFIGURATION = "overrides: {allow_non_interactive: true}\n"


@pytest.fixture
def gate(project: Project, monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate(project, monkeypatch)
    project.write(
        {
            ".gitignore": "*.paper\nresult.yaml\nverdict.yaml\ntask.yaml\n__pycache__/\n",
            "phase-gate.yaml": CONFIGURATION,
            "planner.py": "def planner_id():\n    return 1\n",
            "other.py": "OTHER = 1\n",
        }
    )
    project.commit_all()
    for key in ("user.name", "user.email"):
        project.git("config", key, "dev@example.org")
    return gate


def head(gate: Gate) -> str:
    return gate.project.git("rev-parse", "HEAD").strip()


def commit(gate: Gate, *paths: str) -> str:
    gate.project.git("commit", "-q", "-m", "by hand", "--", *paths)
    return head(gate)


@pytest.mark.criterion("VG-23", "VG-28")
def test_a_waived_file_is_committed_and_makes_the_pass_weak(gate: Gate) -> None:
    gate.start()
    gate.project.write({"planner.py": RIGHT, "other.py": "OTHER = 2\n"})
    gate.executor()
    assert gate.verify().has("files-listed")
    assert gate.call("waive", "files-listed", "--task", TASK, *PERSON).code == 0
    assert gate.verify().code == 0
    assert gate.review().code == 0
    assert gate.status()["weak_because"] == ["waived: other.py changed, and the task does not list it"]
    ran = gate.call("verify", "commit")
    assert ran.code == 0, ran
    assert gate.project.git("show", "--name-only", "--format=", "HEAD").split() == ["other.py", "planner.py"]


@pytest.mark.criterion("VG-34")
def test_what_a_person_committed_ends_an_approval_with_low_confidence(gate: Gate) -> None:
    gate.start()
    gate.project.write(planner=RIGHT)
    gate.executor()
    gate.verify()
    gate.review(gate.verdict(confidence="LOW"))
    refused = gate.call("verify", "commit")
    assert refused.code == 13
    assert refused.has("manual review", "commit it yourself, then phase-gate verify commit")
    made = commit(gate, "planner.py")
    ran = gate.call("verify", "commit")
    assert ran.code == 0, ran
    assert ran.has(f"committed as {made[:10]}")
    assert (gate.status()["commit_sha"], head(gate)) == (made, made)


@pytest.mark.criterion("VG-34")
def test_another_content_than_the_approved_one_does_not_end_it(gate: Gate) -> None:
    gate.start()
    gate.project.write(planner=RIGHT)
    gate.executor()
    gate.verify()
    gate.review(gate.verdict(confidence="LOW"))
    gate.project.write(planner=f"{RIGHT}# more\n")
    commit(gate, "planner.py")
    assert gate.call("verify", "commit").code == 13


@pytest.mark.criterion("VG-23")
def test_the_executors_own_commit_counts_once_it_was_approved(gate: Gate) -> None:
    gate.start()
    gate.project.write(planner=RIGHT)
    made = commit(gate, "planner.py")
    gate.executor()
    gate.verify()
    assert gate.review().has("approved by ann (weak)")
    ran = gate.call("verify", "commit")
    assert ran.code == 0, ran
    assert gate.status()["commit_sha"] == made


@pytest.mark.criterion("VG-15", "VG-30")
def test_what_a_person_says_is_in_the_next_prompt_and_in_the_bundle(gate: Gate) -> None:
    gate.start()
    for _ in range(3):
        gate.executor(gate.result("failure"))
    assert gate.call("verify", "status").code == gate.call("verify", "status", "--task", TASK).code == 12
    assert gate.call("verify", "resume", "--task", TASK, *PERSON).code == 0
    assert gate.call("verify", "show").has("# What a person says", "mara: the registry is back")
    gate.project.write(planner=RIGHT)
    gate.executor()
    gate.verify()
    assert gate.json("verify", "show")["guidance"] == ["mara: the registry is back"]
    assert gate.call("verify", "show").has("# What a person says", "mara: the registry is back")


@pytest.mark.criterion("VG-33", "VG-37")
def test_a_verdict_that_cannot_be_read_is_told_to_the_next_reviewer(gate: Gate) -> None:
    gate.project.write(planner=RIGHT)
    gate.reviewing().review("verdict: LGTM\n")
    assert gate.call("verify", "show").has("MALFORMED RESULT", "The reviewer's verdict could not be read")
    assert gate.review().code == 0


@pytest.mark.criterion("VG-31")
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        pytest.param(["Task 9: Nowhere"], [], "'Task 9: Nowhere', which is no task", id="unknown"),
        pytest.param(["Task 2: Second"], ["Task 1: First"], "a circle", id="circular"),
        pytest.param(["Task 1: First"], [], "a circle", id="on-itself"),
    ],
)
def test_dependencies_that_can_never_be_met_are_refused(
    gate: Gate, first: list[str], second: list[str], said: str
) -> None:
    tasks = [
        gate.task(name="Task 1: First", files=["first.py"], depends_on=first),
        gate.task(name="Task 2: Second", files=["second.py"], depends_on=second),
    ]
    ran = gate.start(document=tasks)
    assert ran.code == 13
    assert ran.has(said)
    assert gate.json("verify", "status")["tasks"] == []


@pytest.mark.criterion("VG-21")
def test_a_failure_is_recovered_only_after_the_verify_command_passed(gate: Gate) -> None:
    gate.start()
    gate.executor(gate.result("failure"))
    gate.project.write(planner=RIGHT)
    gate.executor(gate.result(resolution="wrote it"))
    assert [each["recovered"] for each in gate.status()["previous_failures"]] == [False]
    gate.verify()
    assert [each["recovered"] for each in gate.status()["previous_failures"]] == [True]


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
    return head(gate)


@pytest.mark.criterion("VG-28")
def test_a_commit_of_somebody_else_is_not_the_executors(gate: Gate) -> None:
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
def test_what_is_changed_on_top_of_it_is_the_executors(gate: Gate) -> None:
    gate.start()
    pull_work_of_others(gate, other="OTHER = 2\n")
    gate.project.write({"planner.py": RIGHT, "other.py": "OTHER = 3\n"})
    gate.executor()
    assert gate.verify().has("files-listed", "other.py")


@pytest.mark.criterion("VG-28")
def test_a_commit_made_here_is_the_executors(gate: Gate) -> None:
    gate.start()
    pull_work_of_others(gate, planner="def planner_id():\n    return 2\n")
    gate.project.write({"planner.py": RIGHT, "other.py": "OTHER = 2\n"})
    commit(gate, "other.py")
    gate.executor()
    assert gate.verify().has("files-listed", "other.py")


@pytest.mark.criterion("VG-28")
def test_better_words_for_the_last_commit_are_no_work(gate: Gate) -> None:
    gate.project.write({".gitignore": "*.yaml\n__pycache__/\n"})
    gate.project.commit_all()
    gate.start()
    gate.project.git("commit", "-q", "--amend", "-m", "in better words")
    assert gate.executor().code == 0
    assert gate.status()["weak_because"] == []
