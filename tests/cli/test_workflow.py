"""`phase-gate workflow check`, `workflow schema`."""

from __future__ import annotations

import json

import jsonschema
import pytest

from phase_gate.cli.workflow import schema_names
from tests.cli.conftest import Begin

# --- check


WRONG = """\
workflow: wrong
phases:
  WORK:
    tests: passed
    gate_1: {name: Works, condition: tests_total > 0}
    scope: all
"""

MEASURED = """\
workflow: measured
metrics: {coverage: number, build_ok: bool}
phases:
  WORK:
    gate_1:
      name: Works
      condition: coverage > 90 AND build_ok
      guards: [complete-run]
"""

CONFTEST = "def pytest_phase_gate_metrics():\n    return {'coverage': 91.0}\n"


def test_the_text_has_file_line_and_remedy(begin: Begin) -> None:
    gated = begin("")
    gated.project.write({"rules/wrong.yaml": WRONG})
    before = gated.files()
    ran = gated.gate("workflow", "check", "rules/wrong.yaml", "tdd")
    assert ran.code == 2
    assert ran.out.splitlines() == [
        "rules/wrong.yaml:4:12: phases.WORK.tests can't be 'passed' [bad-workflow]",
        "  try: use one of: passing, failing, none",
        "tdd: nothing wrong in workflow tdd, 4 phases",
    ]
    assert gated.files() == before, "it only looks"
    document = gated.json("workflow", "check", "rules/wrong.yaml", "tdd", "missing.yaml")
    wrong, tdd, missing = document["files"]
    assert (wrong["file"], wrong["workflow"]) == ("rules/wrong.yaml", None)
    assert wrong["problem"] == {
        "slug": "bad-workflow",
        "problem": "rules/wrong.yaml:4:12: phases.WORK.tests can't be 'passed'",
        "remedy": "use one of: passing, failing, none",
    }
    assert tdd == {"file": "tdd", "workflow": "tdd", "problem": None}
    assert (missing["workflow"], missing["problem"]["problem"]) == (None, "missing.yaml: there is no such file")


def test_without_a_file_it_is_the_project_s_own(begin: Begin) -> None:
    gated = begin("")
    gated.project.write({"phase-gate.yaml": "workflow: wrong.yaml\n", "wrong.yaml": WRONG})
    ran = gated.gate("workflow", "check")
    assert ran.code == 2
    assert ran.has("wrong.yaml:4:12: phases.WORK.tests can't be 'passed'")
    (gated.root / "below").mkdir()
    gated.project.environment.chdir(gated.root / "below")
    assert gated.gate("workflow", "check").out == ran.out
    assert gated.gate("workflow", "check", "../wrong.yaml").code == 2


def test_a_guard_of_a_plugin_is_known_from_the_last_run(begin: Begin) -> None:
    gated = begin("")
    guard = "def pytest_phase_gate_guards():\n    return {'of-ours': {'condition': 'coverage > 1', 'remedy': 'x'}}\n"
    rules = MEASURED.replace("complete-run", "of-ours")
    gated.project.write({"measured.yaml": rules, "conftest.py": CONFTEST + guard})
    assert gated.gate("workflow", "check", "measured.yaml").has("measured.yaml:8:16: unknown guard 'of-ours'")
    gated.project.run("--phase=work", "--phase-workflow=measured.yaml")
    assert gated.gate("workflow", "check", "measured.yaml").code == 0


def test_checks_of_the_project_s_workflow_need_commands(begin: Begin) -> None:
    gated = begin("")
    assert gated.gate("workflow", "check", "pipeline").code == 0
    gated.project.write({"phase-gate.yaml": "workflow: pipeline\n"})
    assert gated.gate("workflow", "check").has("nothing runs the check build, which IMPLEMENTATION requires")


# --- schema


@pytest.mark.parametrize("name", schema_names())
def test_each_is_a_draft_07_schema(begin: Begin, name: str) -> None:
    gated = begin("")
    ran = gated.gate("workflow", "schema", name)
    assert ran.code == 0
    schema = json.loads(ran.out)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert schema["title"]
    jsonschema.Draft7Validator.check_schema(schema)
    assert gated.json("workflow", "schema", name) == schema


@pytest.mark.parametrize("name", ["nonsense", "", "../pyproject", "évaluation", "x" * 300])
def test_there_is_no_other(begin: Begin, name: str) -> None:
    code, slug, _ = begin("").error("workflow", "schema", name)
    assert (code, slug) == (2, "bad-usage")
