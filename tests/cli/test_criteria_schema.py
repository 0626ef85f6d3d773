"""The schema of criteria files says what their reader says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from phase_gate.cli.workflow import read_schema
from phase_gate.config.criteria_files import CriteriaError, read_criteria

RIGHT = {
    "a-mapping": "AC-1: It adds up\nAC-2: Nothing is 0\n",
    "a-mapping-under-criteria": "criteria:\n  AC-1: It adds up\n",
    "beside-other-things": "title: Sums\nowner: [a]\ncriteria: {AC-1: It adds up}\n",
    "a-list-of-pairs": "- AC-1: It adds up\n- dogs: They are free\n",
    "no-text": "AC-1:\n",
    "json": '{"criteria": [{"AC-1": "It adds up"}]}',
}
WRONG = {
    "a-text-without-an-id": "- It adds up\n",
    "a-record": "- {id: AC-1, text: It adds up}\n",
    "a-text-that-is-a-list": "AC-1: [a]\n",
    "a-list-in-a-list": "- [AC-1]\n",
    "a-blank-in-an-id": "ac 1: a\n",
    "an-id-that-begins-with-a-digit": "1a: a\n",
    "a-pair-too-many": "- {AC-1: a, AC-2: b}\n",
    "a-number": "criteria: 3\n",
    "a-plain-text": "It adds up\n",
    "an-empty-list": "[]\n",
    "an-empty-mapping": "criteria: {}\n",
}


def is_valid(text: str) -> bool:
    schema: dict[str, Any] = yaml.safe_load(read_schema("criteria-file"))
    return jsonschema.Draft7Validator(schema).is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("name", RIGHT)
def test_both_take_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.yaml").write_text(RIGHT[name], encoding="utf-8")
    assert read_criteria("a.yaml", base=tmp_path, root=tmp_path).listed
    assert is_valid(RIGHT[name])


@pytest.mark.parametrize("name", WRONG)
def test_both_refuse_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.yaml").write_text(WRONG[name], encoding="utf-8")
    with pytest.raises(CriteriaError):
        read_criteria("a.yaml", base=tmp_path, root=tmp_path)
    assert not is_valid(WRONG[name])
