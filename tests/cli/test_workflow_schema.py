"""`phase-gate workflow schema`: JSON Schemas (draft-07) of our files."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from phase_gate.cli.workflow import read_schema, schema_names
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
