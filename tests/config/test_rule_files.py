"""Everything that is wrong with a workflow file: all of it at once, each with its line, and nothing that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

import phase_gate
from phase_gate.config.rule_files import MAX_FAULTS, check_workflow, load_shipped_guards, shipped_workflow_names
from tests.config.test_pipeline_files import SMALL as PIPELINE

ROOT = Path(__file__).parent.parent.parent
SHIPPED = Path(phase_gate.__file__).parent / "workflows"
GUARDS = load_shipped_guards()

GOOD = """\
workflow: good
parameters: {needed: 2}
facts: {agreed: bool}
metrics: {build_ok: bool}
guards:
  built: {condition: build_ok, remedy: build it}
phases:
  BUILD:
    gate_1:
      name: Built
      condition: tests_total > 0 AND consecutive_green_runs >= needed
      guards: [complete-run, built]
  REVIEW:
    tests: none
    gate_1: {name: Read, condition: agreed}
"""

MANY = """\
workflow: no good
start: last
parameters: {needed: }
facts: {agreed: boolean}
guards:
  always: {condition: tests_total > 0, remedy: none}
  Wrong: {condition: tests_total > 0, remedy: none}
phases:
  BUILD:
    tests: passsing
    gate_1:
      condition: tests_total > 0 AND agreed
      guards: [complete-run, no-such, tests-kept, nor-this]
    nxt: TEST
  TEST:
    gate_1: {condition: tests_total > 0}
    next: REVEIW
  REVIEW:
    gate_1: {name: Read, condition: tests_total >}
    next: REVIEW
"""


MEANT = """\
workflow: meant
facts: {agreed: bool}
guards:
  own: {condition: no_such_name > 0, remedy: none}
phases:
  BUILD:
    gate_1: {name: Built, condition: tests_total > 0 AND agreed, guards: [complete-run, no-such, tests-kept, nor-this]}
    next: REVEIW
  REVIEW:
    gate_1: {name: Read, condition: tests_total > "2"}
    next: REVIEW
"""


def found(text: str, **options: object) -> list[tuple[int, str]]:
    checked = check_workflow(text, name="w.yaml", **options)  # type: ignore[arg-type]
    assert all(each.remedy for each in checked.problems)
    return [(each.line, each.problem) for each in checked.problems]


def test_all_problems_are_found_at_once_in_the_order_of_the_file() -> None:
    assert found(MANY) == [
        (2, "start can't be 'last'"),
        (3, "parameters.needed has no value"),
        (4, "facts.agreed can't be 'boolean'"),
        (7, "a guard can't be named 'Wrong'"),
        (10, "phases.BUILD.tests can't be 'passsing'"),
        (12, "the key 'name' is missing in phases.BUILD.gate_1"),
        (14, "unknown key 'nxt' in phases.BUILD"),
        (16, "the key 'name' is missing in phases.TEST.gate_1"),
        (
            19,
            "phases.REVIEW.gate_1.condition: column 14: the condition ends where a name or a value should be",
        ),
    ]


def test_all_problems_of_meaning_are_found_once_the_form_is_right() -> None:
    assert found(MEANT) == [
        (4, "unknown name 'no_such_name' in a condition"),
        (7, "unknown guard 'no-such'"),
        (7, "unknown guard 'nor-this'"),
        (8, "'REVEIW' can't follow BUILD"),
        (10, 'can\'t compare int with text: tests_total > "2"'),
        (11, "'REVIEW' can't follow REVIEW"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "condition: agreed}\n",
            "condition: agreed}\n    next: BUILD\n",
            (8, "no path leads from BUILD, REVIEW to DONE: the phases repeat forever"),
            id="no-way-to-an-end",
        ),
        pytest.param("facts: {agreed", "facts: {agreed: {", (3, "not YAML"), id="no-yaml"),
    ],
)
def test_each_alone(old: str, new: str, expected: tuple[int, str]) -> None:
    assert found(GOOD) == []
    changed = GOOD.replace(old, new)
    assert changed != GOOD
    ((line, problem),) = found(changed)
    assert (line, problem[: len(expected[1])]) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("needed: 2", "needed: ", (2, "parameters.needed has no value"), id="a-parameter"),
        pytest.param("agreed: bool", "agreed: 7", (3, "facts.agreed can't be '7'"), id="a-fact"),
        pytest.param("  built: {", "  built: {by: me, ", (6, "unknown key 'by' in guards.built"), id="a-guard"),
        pytest.param("  BUILD:\n", "  Auto:\n", (8, "the name AUTO is reserved"), id="a-phase"),
    ],
)
def test_what_follows_from_a_problem_is_no_other(old: str, new: str, expected: tuple[int, str]) -> None:
    assert found(GOOD.replace(old, new)) == [expected]


#: A source that offers a guard.
OFFERS = b"def pytest_phase_gate_guards(): return {'of-a-plugin': ...}"


def test_a_guard_that_a_plugin_offers_is_known() -> None:
    text = GOOD.replace("[complete-run, built]", "[of-a-plugin, of-nobody]")
    assert found(text, plugins=OFFERS) == [(12, "unknown guard 'of-nobody'")]


def test_checks_need_a_command_of_the_project_that_has_the_workflow() -> None:
    assert found(PIPELINE, commands=["build"]) == []
    assert found(PIPELINE, commands=["lint"]) == [(24, "nothing runs the check build, which BUILD requires")]


@pytest.mark.parametrize(
    "path",
    [
        *(SHIPPED / f"{name}.yaml" for name in shipped_workflow_names()),
        ROOT / "tests" / "data" / "dual-gate.yaml",
    ],
    ids=lambda path: path.stem,
)
def test_no_false_alarm(path: Path) -> None:
    assert found(path.read_text(encoding="utf-8")) == []


def test_a_gate_document_is_found_among_others() -> None:
    text = (ROOT / "tests" / "data" / "dual-gate.yaml").read_text(encoding="utf-8")
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines, start=1) if "docs_generated" in line)
    wrong = text.replace(lines[first - 1], lines[first - 1].replace("docs_generated", "docs_made"))
    ((line, problem),) = found(wrong)
    assert problem == "unknown name 'docs_made' in a condition"
    assert first - 2 <= line <= first


def test_a_way_back_is_no_way_to_the_end() -> None:
    text = GOOD.replace("  REVIEW:", "    may_end_cycle: true\n  REVIEW:") + (
        "  MORE:\n    gate_1: {name: m, condition: agreed}\n    next: REVIEW\n"
    )
    assert found(text) == [(14, "no path leads from REVIEW, MORE to DONE: the phases repeat forever")]


def test_more_faults_than_anybody_mends_end_the_search() -> None:
    guards = ", ".join(f"unknown-{number}" for number in range(MAX_FAULTS + 20))
    assert len(found(GOOD.replace("[complete-run, built]", f"[{guards}]"))) == MAX_FAULTS
