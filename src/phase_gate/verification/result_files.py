"""Read what executor and reviewer say of a task: strictly, for a program or a model wrote it.

What is not plainly a report is malformed, and so is a form that was handed in without being filled in. Whether a
report is true is not decided here.
"""

from __future__ import annotations

import re
from typing import get_args

from phase_gate.config.fields import Fields, is_null, shorten
from phase_gate.config.yaml import YamlMapping, YamlNode, YamlScalar, YamlSequence, read_document
from phase_gate.errors import DocumentError, MalformedResultError
from phase_gate.values import replace
from phase_gate.verification.spec import (
    Answer,
    Claimed,
    Confidence,
    ExecutorResult,
    ExecutorStatus,
    Recommendation,
    Verdict,
)

#: No honest report is longer; a larger file is a mistake or an attack.
MAX_SIZE = 64 * 1024

_STATUSES: tuple[ExecutorStatus, ...] = get_args(ExecutorStatus)
_ANSWERS: tuple[Answer, ...] = get_args(Answer)
_CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
_RECOMMENDATIONS: tuple[Recommendation, ...] = get_args(Recommendation)

#: What stands in the form where an answer belongs: `...`, `{summary}`, `Criterion X met: {evidence}`, `Task N: Name`.
UNFILLED = r"^\s*(\.\.\.|…|Task N: Name|([^{}\n]*: )?\{(verify_command|code|summary|description|error|evidence)\})\s*$"
_UNFILLED = re.compile(UNFILLED)
#: Characters: no form has a longer one.
_LONGEST_UNFILLED = 1000


def read_executor_result(text: str | bytes, name: str) -> ExecutorResult:
    """Return the executor's report. Raises MalformedResultError for what is none."""
    fields = _open(text, name)
    status = fields.choice("status", _STATUSES)
    is_success = status == "success"
    claimed = fields.mapping("verification") if is_success else fields.mapping("verification", None)
    result = ExecutorResult(
        status=status,
        task_name=fields.text("task_name", ""),
        files_modified=fields.text_list("files_modified", ()),
        verification=None if claimed is None else _read_claimed(claimed),
        done_criteria_met=fields.boolean("done_criteria_met")
        if is_success
        else fields.boolean("done_criteria_met", False),
        **{key: _optional(fields, key) for key in ("evidence", "error", "blocked_by", "resolution", "by")},
    )
    fields.finish()
    if result.verification is not None and not result.evidence:
        # As in the source document's own examples: what the command printed is what shows it.
        result = replace(result, evidence=result.verification.output_summary)
    _check_result(result, fields)
    return result


def _read_claimed(fields: Fields) -> Claimed:
    claimed = Claimed(
        command=fields.text("command"),
        exit_code=fields.integer("exit_code"),
        output_summary=_optional(fields, "output_summary"),
    )
    fields.finish()
    return claimed


def _check_result(result: ExecutorResult, fields: Fields) -> None:
    if result.status != "success":
        if not result.error:
            fields.refuse("error", f"{result.status} without an error", "say in `error:` what went wrong")
        if result.done_criteria_met:
            problem = f"it says {result.status}, and that the done-criteria are met"
            fields.refuse("done_criteria_met", problem, "one of the two is wrong: say done_criteria_met: false")
        return
    if result.error:
        fields.refuse("error", "it says success, and names an error", "say error: null, or status: failure")
    if result.blocked_by:
        fields.refuse("blocked_by", "it says success, and that it is blocked", "take it out, or say status: blocked")
    if result.done_criteria_met and not result.evidence:
        fields.refuse("evidence", "the done-criteria are met, without evidence", "say in `evidence:` what shows it")


def read_verdict(text: str | bytes, name: str) -> Verdict:
    """Return the reviewer's verdict. Raises MalformedResultError for what is none."""
    fields = _open(text, name)
    verdict = Verdict(
        verdict=fields.choice("verdict", _ANSWERS),
        task_name=fields.text("task_name", ""),
        confidence=fields.choice("confidence", _CONFIDENCES),
        findings=fields.text_list("findings"),
        recommendation=fields.choice("recommendation", _RECOMMENDATIONS),
        concerns=fields.text_list("concerns", ()),
        blockers=fields.text_list("blockers", ()),
        attempt=fields.integer("attempt", None, minimum=1),
        **{key: _optional(fields, key) for key in ("feedback", "by", "tree", "evidence")},
    )
    fields.finish()
    if not verdict.findings:
        fields.refuse("findings", "a verdict without findings", "name what was looked at, and what was found")
    if not verdict.is_approved:
        if verdict.recommendation == "commit":
            problem = "it says REJECTED, and recommends the commit"
            fields.refuse("recommendation", problem, "say retry or manual_review, or verdict: APPROVED")
        if not (verdict.feedback or verdict.concerns or verdict.blockers):
            fields.refuse("feedback", "REJECTED without a reason", "say in `feedback:` or `concerns:` what to change")
    return verdict


def _open(text: str | bytes, name: str) -> Fields:
    if re.match("\\s*```", text[:200].decode("utf-8", "replace") if isinstance(text, bytes) else text[:200]):
        raise MalformedResultError(f"{name}:1:1: the text begins with ```", "hand in the YAML alone, without a fence")
    try:
        node = read_document(text, name=name, limit=MAX_SIZE)
    except DocumentError as error:
        raise MalformedResultError(error.problem, error.remedy) from None
    for scalar in _scalars(node):
        if len(scalar.text) <= _LONGEST_UNFILLED and _UNFILLED.match(scalar.text):
            raise MalformedResultError(
                f"{name}:{scalar.line}:{scalar.column}: {shorten(scalar.text.strip())} stands in the form, not for it",
                "put the answer in its place",
            )
    return Fields(node, file=name, error=MalformedResultError)


def _scalars(node: YamlNode) -> list[YamlScalar]:
    """Return the values in the order of the file; the caller checks the keys."""
    if isinstance(node, YamlScalar):
        return [node]
    inner = node.items if isinstance(node, YamlSequence) else tuple(value for _, value in node.entries)
    assert isinstance(node, YamlSequence | YamlMapping)
    return [scalar for each in inner for scalar in _scalars(each)]


def _optional(fields: Fields, key: str) -> str:
    """Return a text that may be left out, null or blank."""
    node = fields.node_of(key)
    if node is None:
        return ""
    if isinstance(node, YamlScalar) and (is_null(node) or not node.text.strip()):
        return ""
    return (fields.name if key == "by" else fields.text)(key).strip()
