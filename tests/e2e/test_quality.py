"""Phase REFACTOR in real runs: what opens its gate, and what is shown beside it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.sessions import last_run
from tests.support import Project

pytestmark = pytest.mark.usefixtures("quality_extra")

TESTS = """\
from price import price


def test_small_orders_cost_a_fee():
    assert price(10, member=False) == 12


def test_members_pay_no_fee():
    assert price(10, member=True) == 10
"""
#: An import that nothing needs.
UGLY = """\
import os


def price(total, member):
    if member:
        return total
    else:
        if total < 50:
            return total + 2
        else:
            return total
"""
TIDY = """\
def price(total, member):
    return total if member or total >= 50 else total + 2
"""
WORSE = f"import sys\n{UGLY}"


def enter_refactor(project: Project, code: str = UGLY) -> Project:
    """RED and GREEN with that code, both exited."""
    project.write(test_price=TESTS)
    assert project.run("--phase=red", "--exit-signal=they fail").code == 0
    project.write(price=code)
    project.run("--phase=green")
    assert project.run("--phase=green", "--exit-signal=green twice").code == 0
    return project


def refactor(project: Project, *arguments: str) -> tuple[int, str, Any]:
    reports = ("--phase-report=verdict.json", "--phase-report=verdict.md")
    ran = project.run("-v", "--phase=refactor", *reports, *arguments)
    return ran.code, ran.out, project.report()


def test_the_probe_opens_the_gate(project: Project) -> None:
    enter_refactor(project)
    code, out, verdict = refactor(project)
    assert code == 10
    assert "- no_more_improvements_identified == true          false (measured)" in out
    assert "advisory: price.py:1 F401 `os` imported but unused [could-improve]" in out
    assert verdict["reason"].startswith("1 place could still be better; or one of these has to be met: ")
    assert verdict["next_command"] == "pytest --phase=refactor"
    assert verdict["metrics"]["quality_delta"] == 0

    project.write(price=TIDY)
    code, out, verdict = refactor(project)
    assert code == 0
    assert "+ no_more_improvements_identified == true          true (measured)" in out
    assert "could-improve" not in out
    assert verdict["reason"] == "Gate 1 is open; Gate 2 waits for the exit signal"
    assert verdict["facts"] == [
        {
            "name": "no_more_improvements_identified",
            "value": True,
            "source": "measured",
            "by": "",
            "reason": "",
            "at": "",
        }
    ]
    assert project.call("signal", "--reason", "tidy", "-v").has("both gates are open: REFACTOR has exited")


def test_before_is_what_green_ended_with_however_late_the_first_run_comes(project: Project) -> None:
    _, out, verdict = refactor(enter_refactor(project).write(price=TIDY))
    metrics = verdict["metrics"]
    assert (metrics["quality_before"], metrics["quality_after"], metrics["quality_delta"]) == (-1, 0, 1)
    assert "Quality, before -> now: fewer is better" in out
    assert "| price.py | 1->0 |" in (project.root / "verdict.md").read_text(encoding="utf-8")


def test_a_declaration_opens_the_gate_and_wins(project: Project) -> None:
    refactor(project.write(test_price=TESTS, price=UGLY))
    message = project.call("declare", "no_improvements_found=true", "--reason", "os is for later", "--by", "ann")
    assert message.code == 0
    code, out, verdict = refactor(project)
    assert code == 0
    assert "+ no_more_improvements_identified == true          true (declared by ann)" in out
    assert "ann declared no_more_improvements_identified to be true; measured, it is false" in verdict["notes"]
    assert last_run(project)["metrics"]["no_more_improvements_identified"] is False
    (fact,) = verdict["facts"]
    assert (fact["source"], fact["by"], fact["reason"]) == ("declared", "ann", "os is for later")


def test_code_that_became_worse_is_said_and_closes_nothing_by_itself(project: Project) -> None:
    refactor(project.write(test_price=TESTS, price=UGLY))
    _, out, verdict = refactor(project.write(price=WORSE))
    assert "ruff has 2 findings, and had 1 when the phase began" in out
    worse = [row for row in verdict["findings"] if row["slug"] == "quality-worse"]
    assert [row["tier"] for row in worse] == ["advisory"]
