"""Workflow files of pipelines: what loads and to what, what is refused and where."""

from __future__ import annotations

import json

import jsonschema
import pytest

from phase_gate.codec import from_json, to_json
from phase_gate.config.documents import read_documents
from phase_gate.config.workflow_files import load_shipped_guards, load_shipped_workflow, parse_workflow
from phase_gate.errors import WorkflowError
from phase_gate.workflow.model import Consensus, Workflow, name_rules
from tests.config.test_workflow_files import as_json
from tests.conftest import ROOT

GUARDS = load_shipped_guards()
SCHEMA = json.loads((ROOT / "src/phase_gate/schemas/workflow.schema.json").read_text(encoding="utf-8"))

SMALL = """\
workflow: small
parameters: {enough: 0.8, mode: fast}
artifacts:
  plan: {path: plan.md, min_words: 5}
  record: {path: record.json, schema: root-cause}
  audit: {path: audit.json, schema: audit}
constitution: [RULES.md]
drift: {files: [tox.ini], lines: 100}
routes: {scope: PLAN}
phases:
  PLAN:
    tests: none
    requires:
      artifacts: [plan]
      consensus: {on: [plan], threshold: enough, voters: 1}
    gate_1: {name: Planned, condition: artifacts_missing == 0}
    on_failure: MEND
  MEND:
    tests: none
    requires: {artifacts: [record]}
    gate_1: {name: Mended, condition: artifacts_missing == 0}
    recovers: true
  BUILD:
    requires: {checks: [build], approved: [plan]}
    gate_1: {name: Built, condition: tests_failing == 0}
    routes: true
    raises: [drift, audit]
"""


def parse(text: str) -> Workflow:
    return parse_workflow(text, name="own.yaml", guards=GUARDS)


def test_what_a_pipeline_says() -> None:
    workflow = parse(SMALL)
    plan, mend, build = workflow.phases
    assert workflow.start == "first"
    assert workflow.parameters["max_recoveries"] == 5
    # What only recovers stands in nobody's way.
    assert (plan.next, mend.next, build.next) == ("BUILD", "", "DONE")
    assert (plan.on_failure, mend.recovers, build.routes, build.raises) == ("MEND", True, True, ("drift", "audit"))
    assert plan.requires is not None
    assert plan.requires.consensus == Consensus(on=("plan",), threshold="enough", voters=1)
    assert workflow.pipeline is not None
    assert workflow.pipeline.constitution == ("RULES.md",)
    assert workflow.pipeline.artifacts["plan"].min_words == 5


def test_what_a_phase_requires_is_a_guard_of_it() -> None:
    plan, mend, build = (set(phase.gate_1.guards) for phase in parse(SMALL).phases)
    always = {"constitution-kept", "rules-kept", "no-blocking-issue"}
    assert plan == {*always, "artifacts-made", "consensus-reached"}
    assert mend == {*always, "artifacts-made", "root-cause-known", "fix-checked", "fix-tested"}
    assert build == {*always, "checks-passed", "as-approved", "drift-known"}


def test_a_pipeline_comes_back_from_json_as_it_was() -> None:
    for workflow in (parse(SMALL), load_shipped_workflow("pipeline")):
        assert from_json(Workflow, json.loads(json.dumps(to_json(workflow)))) == workflow


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("min_words: 5", "min_words: 6"),
        ("path: plan.md", "path: other.md"),
        ("[RULES.md]", "[OTHER.md]"),
        ("{scope: PLAN}", "{scope: BUILD}"),
        ("lines: 100", "lines: 101"),
        ("threshold: enough", "threshold: 0.8"),
        ("voters: 1", "voters: 2"),
        ("checks: [build]", "checks: [lint]"),
        ("approved: [plan]", "approved: []"),
        ("    on_failure: MEND\n", ""),
        ("    routes: true\n", ""),
        ("raises: [drift, audit]", "raises: [drift]"),
    ],
)
def test_every_rule_of_a_pipeline_is_part_of_its_digest_and_has_a_name(old: str, new: str) -> None:
    text = SMALL if "on_failure" not in old else SMALL.replace("  BUILD:\n", "  BUILD:\n    on_failure: MEND\n")
    one, other = parse(text), parse(text.replace(old, new, 1))
    assert name_rules(to_json(one)) != name_rules(to_json(other))


def test_another_workflow_has_nothing_of_it() -> None:
    tdd = load_shipped_workflow("tdd")
    assert tdd.pipeline is None
    assert "pipeline" not in to_json(tdd)
    assert not [name for name in name_rules(to_json(tdd)) if "artifact" in name or "on_failure" in name]


#: What a schema refuses too.
WRONG_STRUCTURE = [
    ("path: plan.md, ", "", "'path' is missing in artifacts.plan"),
    ("min_words: 5", "min_words: 0", "min_words can't be 0"),
    ("min_words: 5", "made: always", "made can't be 'always'"),
    ("  plan: {", "  Plan: {", "an artifact can't be named 'Plan'"),
    ("{scope: PLAN}", "{taste: PLAN}", "no change requests of type 'taste'"),
    ("routes: true", "routes: all", "has to be a boolean"),
    ("checks: [build]", "checks: [Build]", "a check can't be named 'Build'"),
    ("recovers: true", "recovers: yes", "has to be a boolean"),
    ("{on: [plan], ", "{on: [], ", "a consensus needs artifacts"),
    ("voters: 1", "voters: 0", "voters can't be 0"),
    ("threshold: enough", "threshold: 1.5", "threshold can't be 1.5"),
    ("threshold: enough, ", "", "'threshold' is missing"),
    ("lines: 100", "lines: -1", "lines can't be -1"),
    ("constitution: [RULES.md]", "constitution: RULES.md", "constitution has to be a list"),
    ("  BUILD:", "  STUCK:", "the name STUCK is reserved"),
]

#: What only the loader knows.
WRONG_MEANING = [
    ("path: plan.md", "path: ../plan.md", "is not a path below the root"),
    ("path: plan.md", "path: /plan.md", "is not a path below the root"),
    ("schema: audit", "schema: audits", "schema can't be 'audits'"),
    ("[RULES.md]", "[../RULES.md]", "is not a path below the root"),
    ("{scope: PLAN}", "{scope: MEND}", "a change request can't lead to 'MEND'"),
    ("{scope: PLAN}", "{scope: NOWHERE}", "a change request can't lead to 'NOWHERE'"),
    ("artifacts: [plan]", "artifacts: [plans]", "there is no artifact 'plans'"),
    ("on: [plan]", "on: [plans]", "there is no artifact 'plans'"),
    ("approved: [plan]", "approved: [plans]", "there is no artifact 'plans'"),
    ("threshold: enough", "threshold: plenty", "'plenty' is neither a number nor a parameter with one"),
    ("threshold: enough", "threshold: mode", "'mode' is neither a number nor a parameter with one"),
    ("enough: 0.8", "enough: 0", "threshold can't be 0"),
    ("on_failure: MEND", "on_failure: BUILD", "a failing gate can't lead to 'BUILD'"),
    ("{artifacts: [record]}", "{artifacts: [plan]}", "requires one artifact with the root cause"),
    (
        "    recovers: true\n",
        "    recovers: true\n    next: BUILD\n",
        "the record of a recovery names the phase that follows",
    ),
    ("routes: {scope: PLAN}\n", "", "the workflow has no routes for change requests"),
    ("drift: {files: [tox.ini], lines: 100}\n", "", "the workflow does not define drift"),
    ("raises: [drift, audit]", "raises: [plan]", "'plan' raises no requests"),
    ("workflow: small\n", "workflow: small\nstart: any\n", "begins with its first phase"),
    ("    on_failure: MEND\n", "    on_failure: MEND\n    next: MEND\n", "'MEND' can't follow PLAN"),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG_STRUCTURE + WRONG_MEANING)
def test_what_is_refused(old: str, new: str, words: str) -> None:
    assert old in SMALL
    with pytest.raises(WorkflowError) as caught:
        parse(SMALL.replace(old, new, 1))
    assert words in caught.value.problem
    assert caught.value.problem.startswith("own.yaml:")
    assert caught.value.remedy


@pytest.mark.parametrize(("old", "new", "words"), WRONG_STRUCTURE)
def test_the_schema_refuses_it_too(old: str, new: str, words: str) -> None:
    validator = jsonschema.Draft7Validator(SCHEMA)
    (right,) = read_documents(SMALL, name="own.yaml")
    validator.validate(as_json(right))
    (document,) = read_documents(SMALL.replace(old, new, 1), name="own.yaml")
    assert not validator.is_valid(as_json(document))


def test_a_recovery_comes_after_the_work() -> None:
    mend = SMALL[SMALL.index("  MEND:") : SMALL.index("  BUILD:")]
    text = SMALL.replace(mend, "").replace("  PLAN:\n", f"{mend}  PLAN:\n", 1)
    with pytest.raises(WorkflowError, match="the first phase can't be one that recovers"):
        parse(text)
