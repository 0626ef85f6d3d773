"""Acceptance criteria in real runs: from the list to failing tests, to passing ones, and into the next cycle."""

from __future__ import annotations

import pytest

from tests.conformance.stories import command, faults, judge, unmet_clauses, unmet_guards
from tests.support import Sample

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


def project(sample: Sample, tests: str = TESTS, *, criteria: str = CRITERIA, leap: str | None = STUB) -> Sample:
    sample.write({"criteria.md": criteria, "test_leap.py": tests})
    return sample if leap is None else sample.write(leap=leap)


def leave_red(sample: Sample, *arguments: str) -> Sample:
    """An honest RED with both criteria, exited; and the code."""
    ran = project(sample).pytest("--phase=red", "--phase-criteria=criteria.md", "--exit-signal=both", *arguments)
    assert ran.code == 0, ran.out
    return sample.write(leap=LEAP)


def standings(sample: Sample) -> dict[str, str]:
    table = command(sample, "status", "--criteria", "--json").document
    return {row["id"]: row["standing"] for row in table["criteria"]}


# --- the way through -------------------------------------------------------------------------------------------------


def test_from_a_missing_module_to_a_second_cycle(sample: Sample) -> None:
    ran, verdict = judge(
        project(sample, leap=None), "--phase=red", "--phase-criteria=criteria.md", "--exit-signal=both"
    )
    assert verdict["can_exit"], ran.out
    assert standings(sample) == {"AC-1": "failing", "AC-2": "failing"}
    sample.write(leap=LEAP)
    sample.pytest("--phase=green")
    _, verdict = judge(sample, "--phase=green", "--exit-signal=both")
    assert verdict["can_exit"]
    assert standings(sample) == {"AC-1": "passing", "AC-2": "passing"}

    # The next step adds to the same list: what older tests show is done.
    sample.write({"criteria.md": f"{CRITERIA}- [ ] AC-3 Every fourth century is one\n"})
    _, verdict = judge(sample, "--phase=red", "--phase-criteria=criteria.md")
    assert verdict["gate_1"]["values"]["criteria_count"] == 1
    assert unmet_guards(verdict) == ["criteria-covered"]
    assert standings(sample) == {"AC-1": "met before", "AC-2": "met before", "AC-3": "open"}
    sample.write({"test_leap.py": TESTS + OTHER})
    _, verdict = judge(sample, "--phase=red", "--exit-signal=one more")
    assert verdict["can_exit"]
    assert standings(sample)["AC-3"] == "failing"
    sample.write(leap=LEAP.replace("!= 0", "!= 0 or year % 400 == 0"))
    sample.pytest("--phase=green")
    _, verdict = judge(sample, "--phase=green")
    assert (verdict["reason"], verdict["metrics"]["criteria_passing"]) == (WAITS, 3)


@pytest.mark.sweep
def test_the_same_under_xdist(sample: Sample) -> None:
    grouped = TESTS.replace("def test_fourth", '@pytest.mark.xdist_group("a")\ndef test_fourth')
    project(sample, grouped)
    words = ("-n2", "--dist=loadgroup", "--strict-markers")
    red = sample.pytest_process(
        "--phase=red", "--phase-criteria=criteria.md", "--exit-signal=both", *words, plugins=("xdist",)
    )
    assert red.has("RED has exited")
    assert standings(sample) == {"AC-1": "failing", "AC-2": "failing"}
    sample.write(leap=LEAP)
    green = sample.pytest_process("--phase=green", *words, plugins=("xdist",))
    assert green.has("needs one more green run with no file changes")
    assert standings(sample) == {"AC-1": "passing", "AC-2": "passing"}


def test_marks_of_classes_modules_and_parameters(sample: Sample) -> None:
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
    project(sample, tests, criteria=f"{CRITERIA}- [ ] AC-3 There are years\n")
    ran = sample.pytest("--phase=red", "--phase-criteria=criteria.md", "--strict-markers")
    assert ran.code == 0, ran.out
    rows = command(sample, "status", "--criteria", "--json").document["criteria"]
    assert [sorted(row["tests"]) for row in rows] == [
        ["test_leap.py::TestFourth::test_fourth"],
        ["test_leap.py::test_others[1900]"],
        ["test_leap.py::TestFourth::test_fourth", "test_leap.py::test_others[1900]", "test_leap.py::test_others[2001]"],
    ]


def test_without_a_phase_the_mark_is_only_known(sample: Sample) -> None:
    ran = project(sample, leap=LEAP).pytest("--strict-markers", "-W", "error")
    assert ran.code == 0
    assert "phase gate" not in ran.out


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


def test_tags_of_gherkin_scenarios(sample: Sample) -> None:
    # In a process of its own: pytest-bdd keeps its configuration in a global.
    sample.write({"criteria.md": CRITERIA, "tests/leap.feature": FEATURE, "tests/test_leap.py": STEPS})
    sample.write({"pytest.ini": f"{INI}markers = AC-9: of another list\n"})
    words = ("--strict-markers", "-W", "error")
    ran = sample.pytest_process(
        "--phase=red", "--phase-criteria=criteria.md", "--exit-signal=both", *words, plugins=("pytest_bdd.plugin",)
    )
    assert ran.code == 0, ran.out
    assert standings(sample) == {"AC-1": "failing", "AC-2": "failing"}
    sample.write(leap=LEAP)
    ran = sample.pytest_process("--phase=green", *words, plugins=("pytest_bdd.plugin",))
    assert ran.has("needs one more green run with no file changes")
    assert standings(sample) == {"AC-1": "passing", "AC-2": "passing"}


# --- where the criteria come from ------------------------------------------------------------------------------------


@pytest.mark.sweep
def test_what_was_typed_once_holds_for_the_cycle(sample: Sample) -> None:
    one_test = TESTS.partition('@pytest.mark.criterion("AC-2")')[0]
    sample.write({"phase-gate.yaml": "run:\n  criteria: 1\n"})
    # Not even a run that does not count forgets it: the advice is to run again.
    project(sample, one_test).pytest("--phase=red", "--phase-criteria=criteria.md", "-k", "nothing")
    ran, verdict = judge(sample, "--phase=red")
    assert ran.has("criteria: criteria.md, as typed, instead of 1, as in phase-gate.yaml")
    assert unmet_guards(verdict) == ["criteria-covered"]
    # A number is remembered, too.
    _, verdict = judge(sample, "--phase=red", "--phase-criteria=5")
    assert verdict["reason"] == "1 test for 5 criteria"
    _, verdict = judge(sample, "--phase=red")
    assert verdict["reason"] == "1 test for 5 criteria"

    sample.write({"test_leap.py": TESTS})
    sample.pytest("--phase=red", "--phase-criteria=criteria.md", "--exit-signal=both")
    sample.write(leap=LEAP)
    sample.pytest("--phase=green")
    _, verdict = judge(sample, "--phase=green", "--exit-signal=both")
    assert (verdict["can_exit"], verdict["metrics"]["criteria_passing"]) == (True, 2)
    # The next cycle begins with what the project's file says, even if its first run does not count.
    sample.pytest("--phase=red", "-k", "fourth")
    _, verdict = judge(sample, "--phase=red")
    assert verdict["metrics"]["criteria_count"] == 1
    assert "criteria_passing" not in verdict["metrics"]


def test_the_project_s_file_names_them_from_the_root(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    sample.write({"phase-gate.yaml": "run:\n  criteria: docs/criteria.yaml\n", "pytest.ini": INI})
    sample.write({"docs/criteria.yaml": "AC-1: Every fourth year is a leap year\nAC-2: A century is none\n"})
    sample.write({"tests/test_leap.py": TESTS}).write(leap=STUB)
    monkeypatch.chdir(sample.root / "tests")
    assert sample.pytest("--phase=red").code == 0
    assert standings(sample) == {"AC-1": "failing", "AC-2": "failing"}


@pytest.mark.sweep
def test_a_typed_path_starts_where_one_stands(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    sample.write({"pytest.ini": INI, "docs/criteria.md": CRITERIA})
    sample.write({"tests/test_leap.py": TESTS}).write(leap=STUB)
    monkeypatch.chdir(sample.root / "docs")
    assert sample.pytest("--phase=red", "--phase-criteria=criteria.md", "..").code == 0
    monkeypatch.chdir(sample.root / "tests")
    assert sample.pytest("--phase=red").code == 0
    monkeypatch.chdir(sample.root)
    table = command(sample, "status", "--criteria", "--json").document
    assert table["file"] == "docs/criteria.md"
    assert [list(row["tests"]) for row in table["criteria"]] == [
        ["tests/test_leap.py::test_fourth"],
        ["tests/test_leap.py::test_century"],
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--phase-criteria=gone.md"], "it starts in the folder that you are in", id="typed"),
        pytest.param([], "put it there, or change run: criteria: in phase-gate.yaml", id="in-the-project-s-file"),
        pytest.param(["--phase-criteria=0"], "0 is not a number of criteria", id="nothing"),
        pytest.param(["--phase-criteria="], "neither a number nor a file of criteria", id="empty"),
    ],
)
def test_criteria_that_are_not_there_are_a_usage_error(sample: Sample, words: list[str], told: str) -> None:
    sample.write({"phase-gate.yaml": "run:\n  criteria: gone.md\n"})
    ran = project(sample).pytest("--phase=red", *words)
    assert ran.code == 4
    assert ran.has("[bad-criteria]", told)
    assert not (sample.root / ".phase-gate").exists()


def test_a_list_that_is_gone_in_green_is_missed(sample: Sample) -> None:
    leave_red(sample).remove("criteria.md")
    ran = sample.pytest("--phase=green")
    assert ran.code == 4
    assert ran.has("criteria.md: there is no such file", "it was given to this cycle: put it back")


# --- what closes the gate --------------------------------------------------------------------------------------------


def test_a_criterion_without_a_test_is_named_with_its_place(sample: Sample) -> None:
    project(sample, TESTS.replace('"AC-2"', '"AC-7"'))
    ran, verdict = judge(sample, "--phase=red", "--phase-criteria=criteria.md")
    assert ran.code == 10
    assert unmet_guards(verdict) == ["criteria-covered"]
    assert verdict["reason"] == "criteria-covered: no test shows 1 of the acceptance criteria (AC-2)"
    assert ran.has(
        "      AC-2 no test is marked with it",
        "advisory: test_leap.py::test_century is marked with AC-7, which is not in criteria.md [criterion-unknown]",
        'mark a test for each with @pytest.mark.criterion("ID")',
    )
    assert command(sample, "explain", "criteria-covered").has("    AC-2: no test is marked with it (criteria.md:4)")


def test_a_copy_shows_nothing_more(sample: Sample) -> None:
    copied = TESTS.replace("assert not is_leap(1900)", '"""As said."""\n    assert is_leap(2024)')
    project(sample, copied)
    _, verdict = judge(sample, "--phase=red", "--phase-criteria=criteria.md")
    (finding,) = (row for row in verdict["findings"] if row["slug"] == "criteria-covered")
    assert finding["id"] == "AC-1"
    assert finding["detail"] == (
        "its test test_leap.py::test_fourth is a copy of test_leap.py::test_century, which is marked with another"
    )
    _, verdict = judge(sample, "--phase=red", "--phase-criteria=2")
    assert verdict["reason"] == (
        "criteria-covered: no test shows 1 of the acceptance criteria"
        " (2 criteria, and 1 different test: a copy of a test shows nothing more)"
    )


def test_one_test_for_all_is_too_few(sample: Sample) -> None:
    one = TESTS.partition('@pytest.mark.criterion("AC-2")')[0].replace('"AC-1"', '"AC-1", "AC-2"')
    _, verdict = judge(project(sample, one), "--phase=red", "--phase-criteria=criteria.md")
    assert (unmet_guards(verdict), unmet_clauses(verdict)) == ([], ["tests_total >= criteria_count"])
    assert verdict["reason"] == "1 test for 2 criteria"


def test_a_test_that_fails_in_green_is_the_tests_business(sample: Sample) -> None:
    leave_red(sample).write(leap="def is_leap(year):\n    return year % 4 == 0\n")
    _, verdict = judge(sample, "--phase=green")
    assert verdict["reason"] == "1 of 2 tests fails"
    assert unmet_guards(verdict) == []
    assert standings(sample) == {"AC-1": "passing", "AC-2": "failing"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("criteria", "told"),
    [
        pytest.param(
            CRITERIA.replace("- [ ] AC-2 A century is none\n", ""), "was 'AC-1, AC-2', is 'AC-1'", id="dropped"
        ),
        pytest.param(f"{CRITERIA}- [ ] AC-3 New\n", "was 'AC-1, AC-2', is 'AC-1, AC-2, AC-3'", id="added"),
        pytest.param(CRITERIA.replace("AC-2", "AC-3"), "was 'AC-1, AC-2', is 'AC-1, AC-3'", id="renamed"),
        pytest.param(CRITERIA.replace("[ ]", "[x]").replace("none", "no leap year"), "", id="ticked-and-reworded"),
        pytest.param(CRITERIA.replace("- [ ]", "*"), "", id="without-its-boxes"),
    ],
)
def test_the_list_is_frozen_by_its_ids(sample: Sample, criteria: str, told: str) -> None:
    leave_red(sample).write({"criteria.md": criteria})
    sample.pytest("--phase=green")
    ran, verdict = judge(sample, "--phase=green")
    assert ("rules-unchanged" in unmet_guards(verdict)) is bool(told)
    assert ran.code == (10 if told else 0)
    details = [row["detail"] for row in verdict["findings"] if row["slug"] == "rules-unchanged"]
    assert details == ([told] if told else [])


def test_a_list_can_t_be_exchanged_for_a_number(sample: Sample) -> None:
    leave_red(sample)
    _, verdict = judge(sample, "--phase=green", "--phase-criteria=1")
    assert unmet_guards(verdict) == ["rules-unchanged"]


def test_a_list_that_comes_later_asks_for_more(sample: Sample) -> None:
    project(sample).pytest("--phase=red", "--exit-signal=both")
    sample.write({"criteria.md": f"{CRITERIA}- [ ] AC-3 New\n"}).write(leap=LEAP)
    _, verdict = judge(sample, "--phase=green", "--phase-criteria=criteria.md")
    assert unmet_guards(verdict) == ["criteria-covered"]


def test_a_mark_can_t_be_moved_after_red(sample: Sample) -> None:
    leave_red(sample).write({"test_leap.py": TESTS.replace("AC-2", "AC-x").replace("AC-1", "AC-2").replace("x", "1")})
    ran, verdict = judge(sample, "--phase=green")
    assert unmet_guards(verdict) == ["tests-unchanged"]
    assert ran.has("test_leap.py::test_century", "test_leap.py::test_fourth")


def test_a_linked_test_that_is_skipped_shows_nothing(sample: Sample) -> None:
    skipping = "import pytest\n\n\n" + LEAP.replace(
        "    return", "    if year == 1900:\n        pytest.skip()\n    return"
    )
    leave_red(sample).write(leap=skipping)
    _, verdict = judge(sample, "--phase=green")
    assert unmet_guards(verdict) == ["no-new-skips", "criteria-covered"]
    assert standings(sample) == {"AC-1": "passing", "AC-2": "open"}


# --- what people see -------------------------------------------------------------------------------------------------


def test_status_shows_the_table(sample: Sample) -> None:
    criteria = f"{CRITERIA}- [ ] Nothing else\n\n- UTF-8\n"
    project(sample, TESTS.replace('"AC-2"', '"AC-1"'), criteria=criteria, leap=None)
    sample.pytest("--phase=red", "--phase-criteria=criteria.md")
    shown = command(sample, "status", "--criteria")
    assert shown.code == 10
    assert faults("criteria", command(sample, "status", "--criteria", "--json").document) == []
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


def test_the_table_is_of_the_phase_that_saw_it(sample: Sample) -> None:
    leave_red(sample).pytest("--phase=green", "-k", "fourth")
    assert sample.status()["phase"] == "GREEN"
    assert command(sample, "status", "--criteria").has("as the last complete run in RED saw it")
    sample.write(leap="def is_leap(year):\n    return year % 4 == 0\n").pytest("--phase=green")
    shown = command(sample, "status", "--criteria")
    assert shown.has("+ AC-1  passing", "- AC-2  failing", "test_leap.py::test_century  failed", "in GREEN saw it")


def test_without_ids_there_is_no_table(sample: Sample) -> None:
    project(sample).pytest("--phase=red", "--phase-criteria=2")
    shown = command(sample, "status", "--criteria")
    assert shown.code == 13
    assert shown.has("no complete run of this cycle was given criteria with ids", "--phase-criteria=FILE")


def test_a_person_lets_a_criterion_pass(sample: Sample) -> None:
    sample.write({"phase-gate.yaml": "overrides:\n  allow_non_interactive: true\n"})
    one_test = TESTS.partition('@pytest.mark.criterion("AC-2")')[0]
    project(sample, one_test).pytest("--phase=red", "--phase-criteria=criteria.md", "-v")
    waived = command(sample, "waive", "criteria-covered", "--reason", "seen by hand", "--by", "M. Meier")
    assert waived.has("criteria-covered is waived for 1 finding")
    ran, verdict = judge(sample, "--phase=red", "--exit-signal=one test, one look")
    assert verdict["can_exit"], ran.out
    assert ran.has("criteria-covered (waived)", "by M. Meier")
    assert standings(sample) == {"AC-1": "failing", "AC-2": "waived"}
    sample.write(leap=LEAP)
    sample.pytest("--phase=green", "-v")
    _, verdict = judge(sample, "--phase=green")
    assert verdict["reason"] == WAITS
    # It was for this one.
    sample.write({"criteria.md": f"{CRITERIA}- [ ] AC-3 New\n"})
    _, verdict = judge(sample, "--phase=red", "--phase-criteria=criteria.md")
    assert not verdict["gate_1"]["satisfied"]
