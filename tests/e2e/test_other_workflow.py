"""Another workflow in the middle of a cycle opens nothing."""

from __future__ import annotations

from tests.support import Project

#: The shipped name and phases, and not one guard.
LAX = """\
workflow: tdd
phases:
  RED:
    tests: failing
    scope: targets
    gate_1: {name: Any, condition: tests_total >= 0}
  GREEN:
    gate_1: {name: Any, condition: tests_total >= 0}
    next: DONE
"""

OTHER = """\
workflow: other
phases:
  ONE:
    gate_1: {name: Any, condition: tests_total >= 0}
"""


def test_a_laxer_workflow_of_the_same_name_closes_the_gate(project: Project) -> None:
    project.red().write({"lax.yaml": LAX, "calc.py": "def add(a, b):\n    return 0\n"})
    ran = project.run("--phase=green", "--phase-workflow=lax.yaml", "--exit-signal=done", "--phase-exit=dual")
    assert ran.has("rules-unchanged", "workflow")
    assert project.gate("check").code == 10
    assert project.status()["phase"] == "GREEN"


def test_a_workflow_with_other_phases_is_refused(project: Project) -> None:
    project.red().write({"other.yaml": OTHER})
    ran = project.run("--phase=one", "--phase-workflow=other.yaml")
    assert ran.code == 13
    assert ran.has("the task is in RED, which workflow other does not have", "--phase-workflow=tdd")
