"""What `workflow check` finds in a workflow file beside what a run finds."""

from __future__ import annotations

from pathlib import Path

import pytest

import phase_gate
from phase_gate.config.rule_files import check_workflow, shipped_workflow_names
from phase_gate.errors import WorkflowError
from tests.config.test_pipeline_files import SMALL as PIPELINE

ROOT = Path(__file__).parent.parent.parent
SHIPPED = Path(phase_gate.__file__).parent / "workflows"

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


def found(text: str, **options: object) -> str:
    """Return the problem; empty if there is none."""
    try:
        check_workflow(text.encode(), name="w.yaml", **options)  # type: ignore[arg-type]
    except WorkflowError as error:
        return error.problem
    return ""


#: A source that offers a guard.
OFFERS = b"def pytest_phase_gate_guards(): return {'of-a-plugin': ...}"


def test_a_guard_that_a_plugin_offers_is_known() -> None:
    assert found(GOOD) == ""
    text = GOOD.replace("[complete-run, built]", "[of-a-plugin, of-nobody]")
    assert found(text, plugins=OFFERS) == "w.yaml:12:29: unknown guard 'of-nobody'"


def test_checks_need_a_command_of_the_project_that_has_the_workflow() -> None:
    assert found(PIPELINE, commands=["build"]) == ""
    assert found(PIPELINE, commands=["lint"]) == "w.yaml:24:25: nothing runs the check build, which BUILD requires"


@pytest.mark.parametrize(
    "path",
    [
        *(SHIPPED / f"{name}.yaml" for name in shipped_workflow_names()),
        ROOT / "tests" / "data" / "dual-gate.yaml",
    ],
    ids=lambda path: path.stem,
)
def test_no_false_alarm(path: Path) -> None:
    assert found(path.read_text(encoding="utf-8")) == ""


def test_a_gate_document_is_found_among_others() -> None:
    text = (ROOT / "tests" / "data" / "dual-gate.yaml").read_text(encoding="utf-8")
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines, start=1) if "docs_generated" in line)
    wrong = text.replace(lines[first - 1], lines[first - 1].replace("docs_generated", "docs_made"))
    place, _, problem = found(wrong).partition(": ")
    assert problem == "unknown name 'docs_made' in a condition"
    assert first - 2 <= int(place.split(":")[1]) <= first
