"""`phase-gate schema`: JSON Schemas (draft-07) of our files."""

from __future__ import annotations

import json

import jsonschema
import pytest

from pytest_phase_gate.cli.schema import schema_names
from tests.cli.conftest import Begin


@pytest.mark.parametrize("name", schema_names())
def test_each_is_a_draft_07_schema(begin: Begin, name: str) -> None:
    desk = begin("")
    ran = desk.gate("schema", name)
    assert ran.code == 0
    schema = json.loads(ran.out)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert schema["title"]
    jsonschema.Draft7Validator.check_schema(schema)
    assert desk.json("schema", name) == schema


def test_without_a_name_it_is_the_evaluation_s(begin: Begin) -> None:
    desk = begin("")
    assert desk.json("schema") == desk.json("schema", "evaluation")


@pytest.mark.parametrize("name", ["nonsense", "", "../pyproject", "évaluation", "x" * 300])
def test_there_is_no_other(begin: Begin, name: str) -> None:
    code, slug, _ = begin("").error("schema", name)
    assert (code, slug) == (2, "bad-usage")


def test_it_needs_no_project_and_minds_no_broken_one(begin: Begin) -> None:
    desk = begin("")
    desk.sample.write({"phase-gate.yaml": "[\n"})
    assert desk.gate("schema").code == 0
