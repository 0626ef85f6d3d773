"""`phase-gate workflow schema`: JSON Schemas (draft-07) of our files."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from phase_gate.cli.workflow import read_schema, schema_names
from phase_gate.config.files import shipped_workflow_names
from phase_gate.evidence.documents.diagrams import Diagram, check_mermaid
from tests.cli.conftest import Begin
from tests.config.test_check import PIPELINE


@pytest.mark.parametrize("name", schema_names())
def test_each_is_a_draft_07_schema(begin: Begin, name: str) -> None:
    desk = begin("")
    ran = desk.gate("workflow", "schema", name)
    assert ran.code == 0
    schema = json.loads(ran.out)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert schema["title"]
    jsonschema.Draft7Validator.check_schema(schema)
    assert desk.json("workflow", "schema", name) == schema


def test_without_a_name_it_is_the_evaluation_s(begin: Begin) -> None:
    desk = begin("")
    assert desk.json("workflow", "schema") == desk.json("workflow", "schema", "evaluation")


@pytest.mark.parametrize("name", ["nonsense", "", "../pyproject", "évaluation", "x" * 300])
def test_there_is_no_other(begin: Begin, name: str) -> None:
    code, slug, _ = begin("").error("workflow", "schema", name)
    assert (code, slug) == (2, "bad-usage")


def test_it_needs_no_project_and_minds_no_broken_one(begin: Begin) -> None:
    desk = begin("")
    desk.project.write({"phase-gate.yaml": "[\n"})
    assert desk.gate("workflow", "schema").code == 0


ROOT = Path(__file__).parents[2]
#: The files that people write, with their schemas: examples of each in this very project.
WRITTEN = {
    "configuration": ("examples/*/phase-gate.yaml",),
    "criteria-file": ("tests/criteria.yaml",),
    "workflow": ("src/phase_gate/workflows/*.yaml", "examples/*/rules/*.yaml"),
}
#: They have a form of their own, and are not for people.
OURS = ("guards.yaml", "pipeline-guards.yaml")


@pytest.mark.parametrize("name", WRITTEN)
def test_what_people_write_fits_its_schema(name: str) -> None:
    validator = jsonschema.Draft7Validator(json.loads(read_schema(name)))
    paths = [path for pattern in WRITTEN[name] for path in sorted(ROOT.glob(pattern)) if path.name not in OURS]
    assert paths
    for path in paths:
        for document in yaml.load_all(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader):
            errors = [f"{path.name}: {error.message}" for error in validator.iter_errors(_typed(document))]
            assert errors == []


def _typed(value: object) -> object:
    """Return what our reader makes of plain words: `on` and `no` stay texts."""
    if isinstance(value, dict):
        return {key: _typed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_typed(each) for each in value]
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


# Diagrams


def flaw(text: str) -> object:
    (checked,) = check_mermaid([Diagram(file="w.md", line=1, language="Mermaid", text=text)])
    return checked.flaw or checked.unknown


@pytest.mark.parametrize("name", shipped_workflow_names())
def test_a_shipped_workflow_is_drawn(begin: Begin, name: str) -> None:
    desk = begin("")
    ran = desk.gate("workflow", "schema", "--mermaid", name)
    assert ran.code == 0
    assert not flaw(ran.out)
    assert desk.json("workflow", "schema", "--mermaid", name) == {"workflow": name, "mermaid": ran.out}


def test_the_default_is_drawn_with_every_way(begin: Begin) -> None:
    assert begin("").gate("workflow", "schema", "--mermaid", "tdd").out == (
        "stateDiagram-v2\n"
        "    [*] --> RED\n"
        "    RED --> GREEN : Tests generated and failing\n"
        "    GREEN --> REFACTOR : All tests passing (stable)\n"
        "    GREEN --> DONE : may end the cycle\n"
        "    GREEN --> RED : rewind\n"
        "    REFACTOR --> DOCUMENT : Tests still passing, refactoring done\n"
        "    REFACTOR --> DONE : may end the cycle\n"
        "    REFACTOR --> RED : rewind\n"
        "    DOCUMENT --> DONE : Required documentation generated\n"
        "    DOCUMENT --> RED : rewind\n"
        "    DONE --> [*]\n"
    )


def test_every_failure_of_the_pipeline_is_drawn(begin: Begin) -> None:
    drawn = begin("").gate("workflow", "schema", "--mermaid", "pipeline").out
    assert drawn.count("--> RECOVERY_LOOP : the gate fails") == 12
    assert not flaw(drawn)


def test_a_file_is_drawn_from_where_one_is(begin: Begin) -> None:
    desk = begin("short-green")
    (desk.root / "below").mkdir()
    desk.project.environment.chdir(desk.root / "below")
    drawn = desk.gate("workflow", "schema", "--mermaid", "../short.yaml").out
    assert drawn == desk.gate("workflow", "schema", "--mermaid").out
    assert "GREEN --> NOTES : Green\n" in drawn


@pytest.mark.parametrize("phase", ["END", "STATE", "NOTE", "CLASS", "DIRECTION", "DEFAULT", "STATEDIAGRAM", "PHASES"])
def test_words_of_the_language_may_be_phases(begin: Begin, phase: str) -> None:
    desk = begin("")
    text = f"""\
workflow: odd
phases:
  A:
    gate_1: {{name: "it: is; #1 %% {{x}} [y] <z> -->|w| \\"q\\"", condition: tests_total > 0}}
  {phase}:
    gate_1: {{name: "***", condition: tests_total > 0}}
"""
    desk.project.write({"odd.yaml": text})
    drawn = desk.gate("workflow", "schema", "--mermaid", "odd.yaml").out
    assert not flaw(drawn)
    name = "PHASES" if phase == "PHASES" else f"phase_{phase}"
    assert f"    A --> {name} : it is 1 x y z -- w q\n    {name} --> DONE\n" in drawn
    assert (f'    state "{phase}" as {name}\n' in drawn) is (name != phase)


def test_some_failures_lead_elsewhere_than_others(begin: Begin) -> None:
    desk = begin("")
    desk.project.write({"line.yaml": PIPELINE.replace("    on_failure: MEND\n  SHIP", "  SHIP")})
    drawn = desk.gate("workflow", "schema", "--mermaid", "line.yaml").out
    assert not flaw(drawn)
    assert "SHIP --> MEND : the gate fails\n" in drawn
    assert "PLAN --> MEND" not in drawn
    assert "note right of MEND : leads to the phase that its record names\n" in drawn


def test_there_is_no_such_workflow(begin: Begin) -> None:
    assert begin("").error("workflow", "schema", "--mermaid", "nope") == (
        2,
        "bad-workflow",
        "there is no workflow 'nope'",
    )
