"""Reports and verdicts: what is one, and what is malformed."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from phase_gate.errors import DocumentError
from phase_gate.tasks.handins import (
    MAX_SIZE,
    UNFILLED,
    MalformedResultError,
    VoteError,
    parse_vote,
    read_executor_result,
    read_json_document,
    read_verdict,
)
from tests.conftest import ROOT
from tests.e2e.sessions import faults, load_schema
from tests.tasks.verifying import TASK, Gate

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


@pytest.mark.processes
@pytest.mark.criterion("VG-03", "VG-11")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("status: maybe\ntask_name: x\n", id="another-status"),
        pytest.param("task_name: x\n", id="a-missing-field"),
        pytest.param("status: [success\n", id="no-yaml"),
    ],
)
def test_a_malformed_result_is_recorded_as_such(gate: Gate, text: str) -> None:
    gate.start()
    assert gate.executor(text).code == 10
    assert (gate.state, gate.failures) == ("FAILED", ["MALFORMED"])


@pytest.mark.processes
@pytest.mark.criterion("VG-06")
def test_the_verdict_is_read_against_its_schema_and_kept(gate: Gate) -> None:
    gate.reviewing()
    document = gate.verdict(confidence="MEDIUM", concerns=["3 warnings"], feedback="tidy up later")
    assert faults("verdict", document) == []
    assert gate.review(document).code == 0
    architect = gate.json("verify", "status", "--task", TASK)["gate_result"]["architect"]
    kept = {name: architect[name] for name in ("confidence", "findings", "concerns", "recommendation", "feedback")}
    assert kept == {name: document[name] for name in kept}


@pytest.mark.processes
@pytest.mark.criterion("VG-06", "VG-33")
def test_a_malformed_verdict_leaves_the_evidence_and_is_flagged_when_it_comes_again(gate: Gate) -> None:
    gate.reviewing()
    assert gate.review("verdict: YES\n", by="ann").code == 10
    assert (gate.state, gate.failures) == ("REVIEWING", ["MALFORMED"])
    assert not gate.status()["needs_manual_review"]
    gate.review("verdict: YES\n")
    assert gate.status()["needs_manual_review"]
    assert gate.review().code == 0


SCHEMAS = ROOT / "src" / "phase_gate" / "schemas"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vote: approve\nconfidence: 1\n", "'by' is missing"),
        ("vote: yes\nconfidence: 1\nby: ann\n", "vote can't be 'yes'"),
        ("vote: approve\nconfidence: 1.1\nby: ann\n", "confidence can't be 1.1"),
        ("vote: approve\nconfidence: true\nby: ann\n", "confidence has to be a number"),
        ("vote: reject\nconfidence: 1\nby: ann\n", "a vote to reject needs a reason"),
        ("vote: conditional\nconfidence: 1\nby: ann\nreason: ' '\n", "reason is blank"),
        ("vote: approve\nconfidence: 1\nby: ann\nweight: 5\n", "unknown key 'weight'"),
        ("vote: approve\nvote: reject\n", ""),
        ("- approve\n", ""),
    ],
)
def test_a_vote_that_is_not_plainly_one_is_refused(text: str, words: str) -> None:
    with pytest.raises((VoteError, DocumentError)) as caught:
        parse_vote(text, "vote.yaml")
    assert words in str(caught.value)


def test_a_vote_in_full() -> None:
    text = "vote: reject\nconfidence: 0.5\nby: Ann  Bee\nreason: too\n  vague\nphase: architecture\nversion: abc\n"
    ballot = parse_vote(text, "vote.yaml")
    assert (ballot.vote, ballot.confidence, ballot.by, ballot.reason) == ("reject", 0.5, "Ann Bee", "too vague")
    assert (ballot.phase, ballot.version) == ("ARCHITECTURE", "abc")


RECORD = {"failed_phase": "AUDIT", "summary": "s", "root_cause": "r", "requires_phase_rewind_to": None}


FINDING = {"id": "A-1", "severity": "blocking", "kind": "security", "title": "t"}


AUDIT = {"summary": "s", "findings": [FINDING]}


@pytest.mark.parametrize(
    ("name", "document", "is_right"),
    [
        ("root-cause", RECORD, True),
        ("root-cause", {**RECORD, "requires_phase_rewind_to": "INTAKE", "evidence": ["a.py:3"]}, True),
        ("root-cause", {**RECORD, "required_human_input": "a decision"}, True),
        ("root-cause", {**RECORD, "requires_phase_rewind_to": ""}, False),
        ("root-cause", {key: value for key, value in RECORD.items() if key != "requires_phase_rewind_to"}, False),
        ("root-cause", {**RECORD, "summary": " "}, False),
        ("root-cause", {**RECORD, "evidence": "a.py"}, False),
        ("root-cause", {**RECORD, "guess": 1}, False),
        ("audit", AUDIT, True),
        ("audit", {**AUDIT, "findings": []}, True),
        ("audit", {**AUDIT, "findings": [{**FINDING, "status": "resolved", "file": "a.py", "line": 3}]}, True),
        ("audit", {"findings": []}, False),
        ("audit", {**AUDIT, "findings": [{**FINDING, "severity": "BLOCKING"}]}, False),
        ("audit", {**AUDIT, "findings": [{**FINDING, "status": "wontfix"}]}, False),
    ],
)
def test_documents_are_read_as_their_schemas_say(name: str, document: Any, is_right: bool) -> None:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    assert jsonschema.Draft7Validator(schema).is_valid(document) is is_right
    if is_right:
        read_json_document(document, name)
    else:
        with pytest.raises(ValueError, match=r"\w"):
            read_json_document(document, name)
