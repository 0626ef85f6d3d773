"""Reports and verdicts: what is one, and what is malformed."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from phase_gate.tasks.handins import (
    MAX_SIZE,
    UNFILLED,
    MalformedResultError,
    read_executor_result,
    read_verdict,
)
from tests.e2e.sessions import faults, load_schema

SUCCESS: dict[str, Any] = {
    "status": "success",
    "task_name": "Task 3: Create PlannerId",
    "files_modified": ["src/a.ts"],
    "verification": {"command": "npm test -- PlannerId", "exit_code": 0, "output_summary": "5 tests passed"},
    "done_criteria_met": True,
    "evidence": "5 of 5\npass",
    "error": None,
}
FAILURE: dict[str, Any] = {"status": "failure", "task_name": "Task 3", "error": "Cannot find module 'uuid'"}
APPROVED: dict[str, Any] = {
    "verdict": "APPROVED",
    "task_name": "Task 3",
    "confidence": "HIGH",
    "findings": ["All 5 tests pass"],
    "concerns": [],
    "recommendation": "commit",
}
REJECTED: dict[str, Any] = {**APPROVED, "verdict": "REJECTED", "recommendation": "retry", "feedback": "null input"}


def without(document: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in keys}


def claim(**more: object) -> dict[str, Any]:
    return {**SUCCESS, "verification": {**SUCCESS["verification"], **more}}


GOOD_RESULTS = [
    SUCCESS,
    FAILURE,
    {**FAILURE, "status": "blocked", "blocked_by": "Task 2"},
    {**without(SUCCESS, "evidence"), "done_criteria_met": False},
    {**SUCCESS, "evidence": 5, "files_modified": []},
    {**SUCCESS, "evidence": "f'{evidence}' is printed"},
    without(SUCCESS, "task_name"),
    without(SUCCESS, "evidence"),
]
BAD_RESULTS: list[Any] = [
    {},
    "success",
    without(SUCCESS, "status"),
    without(SUCCESS, "verification"),
    without(SUCCESS, "done_criteria_met"),
    without(claim(output_summary=None), "evidence"),
    {**SUCCESS, "status": "success | failure | blocked"},
    {**SUCCESS, "task_name": "Task N: Name"},
    {**SUCCESS, "files_modified": ["..."]},
    {**SUCCESS, "files_modified": "src/a.ts"},
    {**SUCCESS, "evidence": "{description}\n"},
    {**SUCCESS, "error": "no"},
    {**SUCCESS, "blocked_by": "Task 2"},
    {**SUCCESS, "done_criteria_met": "true | false"},
    {**SUCCESS, "notes": "x"},
    claim(command="{verify_command}"),
    claim(exit_code={"code": None}),
    claim(output_summary="{summary}"),
    {**SUCCESS, "verification": "npm test"},
    without(FAILURE, "error"),
    {**FAILURE, "done_criteria_met": True},
]
GOOD_VERDICTS = [
    APPROVED,
    REJECTED,
    without(APPROVED, "concerns"),
    without(APPROVED, "task_name"),
    {**APPROVED, "confidence": "LOW", "recommendation": "manual_review"},
    {**without(REJECTED, "feedback"), "concerns": ["no docs"]},
    {**APPROVED, "feedback": None},
]
BAD_VERDICTS: list[Any] = [
    {},
    "APPROVED",
    without(APPROVED, "verdict"),
    without(APPROVED, "confidence"),
    without(APPROVED, "findings"),
    without(APPROVED, "recommendation"),
    {**APPROVED, "verdict": "APPROVED | REJECTED"},
    {**APPROVED, "confidence": "HIGH | MEDIUM | LOW"},
    {**APPROVED, "findings": []},
    {**APPROVED, "findings": ["Criterion X met: {evidence}"]},
    {**APPROVED, "recommendation": "merge"},
    {**APPROVED, "mood": "fine"},
    {**REJECTED, "recommendation": "commit"},
    without(REJECTED, "feedback"),
]


READERS: dict[str, Any] = {"executor-result": read_executor_result, "verdict": read_verdict}


@pytest.mark.parametrize(
    ("name", "document", "is_good"),
    [
        *(("executor-result", each, True) for each in GOOD_RESULTS),
        *(("executor-result", each, False) for each in BAD_RESULTS),
        *(("verdict", each, True) for each in GOOD_VERDICTS),
        *(("verdict", each, False) for each in BAD_VERDICTS),
    ],
)
def test_reader_and_schema_agree(name: str, document: Any, is_good: bool) -> None:
    assert (faults(name, document) == []) is is_good
    if is_good:
        assert READERS[name](yaml.safe_dump(document), "r")
        return
    with pytest.raises(MalformedResultError) as caught:
        READERS[name](yaml.safe_dump(document), "r")
    assert caught.value.problem.startswith("r:")
    assert caught.value.remedy


@pytest.mark.parametrize("name", ["executor-result", "verdict"])
def test_the_schema_knows_the_same_forms(name: str) -> None:
    assert load_schema(name)["definitions"]["text"]["not"]["pattern"] == UNFILLED


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("```yaml\nstatus: success\n```\n", "begins with ```", id="a-fence"),
        pytest.param(b"\n ```\n", "begins with ```", id="a-fence-of-bytes"),
        pytest.param("", "empty", id="empty"),
        pytest.param("status: [", "not YAML", id="not-yaml"),
        pytest.param("status: success\nstatus: failure", "again", id="two-answers"),
        pytest.param("evidence: " + "x" * MAX_SIZE, "bigger than 65536 bytes", id="too-big"),
        pytest.param(b"\xff", "not UTF-8", id="not-utf-8"),
        pytest.param("evidence: \x1b[31m", "U+001B", id="orders-to-a-terminal"),
    ],
)
def test_what_is_no_document_is_malformed(text: str | bytes, problem: str) -> None:
    for read in (read_executor_result, read_verdict):
        with pytest.raises(MalformedResultError, match="r:") as caught:
            read(text, "r")
        assert problem in caught.value.problem
