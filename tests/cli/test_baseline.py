"""`phase-gate baseline`: what was so before a cycle, taken by a real run of pytest."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Begin, CommandProject
from tests.support import Project

MIXED = """\
import pytest


def test_fine():
    pass


def test_broken():
    assert False


@pytest.mark.skip(reason="later")
def test_later():
    pass
"""

#: The inner pytest loads no plugins by itself here.
ARGUMENTS = ("--", "-p", "phase_gate.plugin", "-p", "no:cacheprovider")


@pytest.fixture
def mixed(begin: Begin) -> CommandProject:
    gated = begin("")
    gated.project.write({"pytest.ini": "[pytest]\n"}, test_old=MIXED)
    return gated


@pytest.mark.sweep
def test_known_failures_do_not_close_the_gate_afterwards(mixed: CommandProject) -> None:
    taken = mixed.project.gate("baseline", "--json", *ARGUMENTS)
    assert taken.code == 0
    said = {"total": 3, "known_failures": ["test_old.py::test_broken"], "revision": None}
    assert taken.document == {**said, "next_command": "pytest --phase=red"}
    assert "1 failed, 1 passed, 1 skipped" in taken.err, "pytest's own output is there, and not on stdout"
    (event,) = [each for each in mixed.json("history", "--events")["events"] if each["kind"] == "baseline-taken"]
    assert event["seq"] == 2
    mixed.project.write(test_new="def test_new():\n    from new import thing\n\n    assert thing\n")
    assert mixed.project.run("--phase=red", "--exit-signal=one new test", "--phase-exit=dual").code == 0
    mixed.project.write(new="thing = 1\n")
    report = "--phase-report=verdict.json"
    assert mixed.project.run("--phase=green", report).code == 1, "pytest itself fails, and that is not hidden"
    metrics = mixed.project.report()["metrics"]
    assert (metrics["tests_failing"], metrics["tests_known_failing"], metrics["consecutive_green_runs"]) == (0, 1, 1)


def test_from_another_revision(mixed: CommandProject) -> None:
    mixed.project.commit_all()
    (mixed.root / "test_old.py").write_text(MIXED.replace("assert False", "pass"), encoding="utf-8")
    taken = mixed.project.gate("baseline", "--rev", "HEAD", *ARGUMENTS)
    assert taken.code == 0
    assert taken.has("the next cycle starts from 3 tests", "  known failure: test_old.py::test_broken")
    assert mixed.project.git("worktree", "list").count("\n") == 1, "its worktree is gone again"


@pytest.mark.parametrize("story", ["red", "green-once", "green"], ids=["in-red", "in-green", "before-the-signal"])
def test_not_in_the_middle_of_a_cycle(begin: Begin, story: str) -> None:
    gated = begin(story)
    assert gated.error("baseline") == (13, "not-allowed", "cycle 1 has begun: a baseline could excuse what it broke")


@pytest.mark.parametrize(
    ("revision", "problem"),
    [
        pytest.param("no-such-revision", "git worktree: ", id="an-unknown-revision"),
        pytest.param("--help", "", id="an-option-is-no-revision"),
    ],
)
def test_a_revision_that_git_does_not_know(mixed: CommandProject, revision: str, problem: str) -> None:
    mixed.project.commit_all()
    code, slug, said = mixed.error("baseline", f"--rev={revision}")
    assert (code, slug) == (13, "not-allowed")
    assert said.startswith(problem)


def test_a_session_that_proves_nothing_is_no_baseline(project: Project) -> None:
    project.write({"pytest.ini": "[pytest]\n"})
    ran = project.gate("baseline", *ARGUMENTS)
    assert ran.code == 13
    assert ran.has("no baseline was taken [not-allowed]", "this is no baseline: no test was collected")
    assert not (project.root / ".phase-gate" / "ledger.jsonl").exists()
