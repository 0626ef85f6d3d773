"""`phase-gate workflow schema`: JSON Schemas (draft-07) of our files."""

from __future__ import annotations

import json

import jsonschema
import pytest

from phase_gate.cli.workflow import schema_names
from tests.cli.conftest import Begin


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
