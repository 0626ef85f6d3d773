"""Acceptance criteria in real runs: from the list to failing tests, to passing ones, and into the next cycle."""

from __future__ import annotations

import pytest

from tests.e2e.sessions import judge, unmet_guards
from tests.support import Project

CRITERIA = """\
# Years

- [ ] AC-1 Every fourth year is a leap year
- [ ] AC-2 A century is none
"""

TESTS = """\
import pytest

from leap import is_leap


@pytest.mark.criterion("AC-1")
def test_fourth():
    assert is_leap(2024)


@pytest.mark.criterion("AC-2")
def test_century():
    assert not is_leap(1900)
"""

STUB = "def is_leap(year):\n    raise NotImplementedError\n"
LEAP = "def is_leap(year):\n    return year % 4 == 0 and year % 100 != 0\n"
INI = "[pytest]\npythonpath = .\n"
WAITS = "Gate 1 is open; Gate 2 waits for the exit signal"

OTHER = """\


@pytest.mark.criterion("AC-3")
def test_fourth_century():
    assert is_leap(2000)
"""


def begin(project: Project, tests: str = TESTS, *, criteria: str = CRITERIA, leap: str | None = STUB) -> Project:
    project.write({"criteria.md": criteria, "test_leap.py": tests})
    return project if leap is None else project.write(leap=leap)


def standings(project: Project) -> dict[str, str]:
    table = project.call("status", "--criteria", "--json").document
    return {row["id"]: row["standing"] for row in table["criteria"]}


# --- the way through -------------------------------------------------------------------------------------------------


def test_from_a_missing_module_to_a_second_cycle(project: Project) -> None:
    ran, verdict = judge(begin(project, leap=None), "--phase=red", "--phase-criteria=criteria.md", "--exit-signal=both")
    assert verdict["can_exit"], ran.out
    assert standings(project) == {"AC-1": "failing", "AC-2": "failing"}
    project.write(leap=LEAP)
    project.run("--phase=green")
    _, verdict = judge(project, "--phase=green", "--exit-signal=both")
    assert verdict["can_exit"]
    assert standings(project) == {"AC-1": "passing", "AC-2": "passing"}

    # The next step adds to the same list: what older tests show is done.
    project.write({"criteria.md": f"{CRITERIA}- [ ] AC-3 Every fourth century is one\n"})
    _, verdict = judge(project, "--phase=red", "--phase-criteria=criteria.md")
    assert verdict["gate_1"]["values"]["criteria_count"] == 1
    assert unmet_guards(verdict) == ["criteria-covered"]
    assert standings(project) == {"AC-1": "met before", "AC-2": "met before", "AC-3": "open"}
    project.write({"test_leap.py": TESTS + OTHER})
    _, verdict = judge(project, "--phase=red", "--exit-signal=one more")
    assert verdict["can_exit"]
    assert standings(project)["AC-3"] == "failing"
    project.write(leap=LEAP.replace("!= 0", "!= 0 or year % 400 == 0"))
    project.run("--phase=green")
    _, verdict = judge(project, "--phase=green")
    assert (verdict["reason"], verdict["metrics"]["criteria_passing"]) == (WAITS, 3)


def test_marks_of_classes_modules_and_parameters(project: Project) -> None:
    tests = """\
import pytest
from leap import is_leap

pytestmark = pytest.mark.criterion("AC-3")


@pytest.mark.criterion("AC-1")
class TestFourth:
    def test_fourth(self):
        assert is_leap(2024)


@pytest.mark.parametrize("year", [pytest.param(1900, marks=pytest.mark.criterion("AC-2")), 2001])
def test_others(year):
    assert not is_leap(year)
"""
    begin(project, tests, criteria=f"{CRITERIA}- [ ] AC-3 There are years\n")
    ran = project.run("--phase=red", "--phase-criteria=criteria.md", "--strict-markers")
    assert ran.code == 0, ran.out
    rows = project.call("status", "--criteria", "--json").document["criteria"]
    assert [sorted(row["tests"]) for row in rows] == [
        ["test_leap.py::TestFourth::test_fourth"],
        ["test_leap.py::test_others[1900]"],
        ["test_leap.py::TestFourth::test_fourth", "test_leap.py::test_others[1900]", "test_leap.py::test_others[2001]"],
    ]


FEATURE = """\
Feature: Years

  @AC-1
  Scenario: a fourth year
    Given the year 2024
    Then it is a leap year

  @AC-2 @AC-9
  Scenario: a century
    Given the year 1900
    Then it is none
"""
STEPS = """\
from pytest_bdd import given, parsers, scenarios, then

scenarios("leap.feature")


@given(parsers.parse("the year {year:d}"), target_fixture="year")
def the_year(year):
    return year


@then("it is a leap year")
def it_is(year):
    from leap import is_leap

    assert is_leap(year)


@then("it is none")
def it_is_not(year):
    from leap import is_leap

    assert not is_leap(year)
"""


def test_tags_of_gherkin_scenarios(project: Project) -> None:
    # In a process of its own: pytest-bdd keeps its configuration in a global.
    project.write({"criteria.md": CRITERIA, "tests/leap.feature": FEATURE, "tests/test_leap.py": STEPS})
    project.write({"pytest.ini": f"{INI}markers = AC-9: of another list\n"})
    words = ("--strict-markers", "-W", "error")
    ran = project.run_process(
        "--phase=red", "--phase-criteria=criteria.md", "--exit-signal=both", *words, plugins=("pytest_bdd.plugin",)
    )
    assert ran.code == 0, ran.out
    assert standings(project) == {"AC-1": "failing", "AC-2": "failing"}
    project.write(leap=LEAP)
    ran = project.run_process("--phase=green", *words, plugins=("pytest_bdd.plugin",))
    assert ran.has("needs one more green run with no file changes")
    assert standings(project) == {"AC-1": "passing", "AC-2": "passing"}


# --- where the criteria come from ------------------------------------------------------------------------------------


def test_the_project_s_file_names_them_from_the_root(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"phase-gate.yaml": "run:\n  criteria: docs/criteria.yaml\n", "pytest.ini": INI})
    project.write({"docs/criteria.yaml": "AC-1: Every fourth year is a leap year\nAC-2: A century is none\n"})
    project.write({"tests/test_leap.py": TESTS}).write(leap=STUB)
    monkeypatch.chdir(project.root / "tests")
    assert project.run("--phase=red").code == 0
    assert standings(project) == {"AC-1": "failing", "AC-2": "failing"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["--phase-criteria=gone.md"], "it starts in the folder that you are in", id="typed"),
        pytest.param([], "put it there, or change run: criteria: in the settings", id="in-the-project-s-file"),
        pytest.param(["--phase-criteria="], "neither a number nor a file of criteria", id="empty"),
    ],
)
def test_criteria_that_are_not_there_are_a_usage_error(project: Project, words: list[str], message: str) -> None:
    project.write({"phase-gate.yaml": "run:\n  criteria: gone.md\n"})
    ran = begin(project).run("--phase=red", *words)
    assert ran.code == 4
    assert ran.has("[bad-criteria]", message)
    assert not (project.root / ".phase-gate").exists()


def test_a_list_that_is_gone_in_green_is_missed(project: Project) -> None:
    assert begin(project).run("--phase=red", "--phase-criteria=criteria.md", "--exit-signal=both").code == 0
    project.write(leap=LEAP).remove("criteria.md")
    ran = project.run("--phase=green")
    assert ran.code == 4
    assert ran.has("criteria.md: there is no such file", "it was given to this cycle: put it back")


# --- what people see -------------------------------------------------------------------------------------------------


def test_status_shows_the_table(project: Project) -> None:
    criteria = f"{CRITERIA}- [ ] Nothing else\n\n- UTF-8\n"
    begin(project, TESTS.replace('"AC-2"', '"AC-1"'), criteria=criteria, leap=None)
    project.run("--phase=red", "--phase-criteria=criteria.md")
    shown = project.call("status", "--criteria")
    assert shown.code == 10
    assert shown.out == (
        "+ AC-1  failing     Every fourth year is a leap year\n"
        "    test_leap.py::test_century  can't be imported yet\n"
        "    test_leap.py::test_fourth  can't be imported yet\n"
        "- AC-2  open        A century is none\n"
        "    no test is marked with it (criteria.md:4)\n"
        "criteria.md: 1 failing, 1 open, as the last complete run in RED saw it\n"
        "looks like a criterion, and is not taken for one:\n"
        "    criteria.md:5  Nothing else\n"
        "    criteria.md:7  UTF-8\n"
    )
