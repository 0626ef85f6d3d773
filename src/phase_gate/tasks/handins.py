"""Read what executor and reviewer say of a task: strictly, for a program or a model wrote it.

What is not plainly a report is malformed, and so is a form that was handed in without being filled in. Whether a
report is true is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NoReturn, get_args

from phase_gate.codec import spell_out
from phase_gate.config.fields import Fields, is_null, shorten
from phase_gate.config.yaml import YamlMapping, YamlNode, YamlScalar, YamlSequence, read_document
from phase_gate.errors import DocumentError, MalformedResultError, VoteError
from phase_gate.tasks.pipeline import CHOICES, Choice
from phase_gate.values import Value, replace

ExecutorStatus = Literal["success", "failure", "blocked"]
Answer = Literal["APPROVED", "REJECTED"]
Confidence = Literal["HIGH", "MEDIUM", "LOW"]
Recommendation = Literal["commit", "retry", "manual_review"]


class Claimed(Value):
    """What an executor says of the verify command: compared with our own run of it, never used instead of it."""

    command: str
    exit_code: int
    output_summary: str = ""


class ExecutorResult(Value):
    """Step 1: what the executor reports."""

    status: ExecutorStatus
    #: Empty in a short form: then the task has to be clear otherwise.
    task_name: str = ""
    files_modified: tuple[str, ...] = ()
    #: None where it does not say that it ran the command; with success it has to.
    verification: Claimed | None = None
    done_criteria_met: bool = False
    evidence: str = ""
    #: Why it failed or is blocked.
    error: str = ""
    #: The task that it waits for, where it names one.
    blocked_by: str = ""
    #: What mended the failure before.
    resolution: str = ""
    #: Who executed it.
    by: str = ""


class Verdict(Value):
    """Step 3: what the reviewer decides."""

    verdict: Answer
    confidence: Confidence
    findings: tuple[str, ...]
    recommendation: Recommendation
    task_name: str = ""
    concerns: tuple[str, ...] = ()
    #: Concerns that have to be gone before it may pass.
    blockers: tuple[str, ...] = ()
    feedback: str = ""
    #: Who reviewed it.
    by: str = ""
    #: What it speaks of, where it says so: an attempt, a tree, a verify run.
    attempt: int | None = None
    tree: str = ""
    evidence: str = ""

    @property
    def is_approved(self) -> bool:
        return self.verdict == "APPROVED"


def result_to_json(result: ExecutorResult) -> dict[str, Any]:
    """Return the report for the ledger and for `--json`; what is not said is left out."""
    return _said(result, "task_name", "files_modified", "done_criteria_met")


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict for the ledger and for `--json`; what is not said is left out."""
    return _said(verdict, "task_name", "findings", "concerns")


def _said(value: Value, *always: str) -> dict[str, Any]:
    """Return the fields that say something, and those that are always there."""
    return {name: each for name, each in spell_out(value).items() if each or name in always}


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


# --- a vote in a consensus phase


class Ballot(Value):
    """What a reviewer voted, and what for, as far as they said so."""

    vote: Choice
    confidence: float
    by: str
    reason: str = ""
    phase: str = ""
    version: str = ""


def parse_vote(text: str | bytes, name: str) -> Ballot:
    """Return the vote that the text gives. Raises VoteError, or DocumentError where it is no YAML."""
    fields = Fields(read_document(text, name=name, limit=MAX_SIZE), file=name, error=VoteError)
    ballot = Ballot(
        vote=fields.choice("vote", CHOICES),
        confidence=float(fields.number("confidence", minimum=0)),
        by=fields.name("by"),
        reason=" ".join(fields.text("reason", "").split()),
        phase=fields.text("phase", "").upper(),
        version=fields.text("version", ""),
    )
    fields.finish()
    if ballot.confidence > 1:
        fields.refuse("confidence", f"confidence can't be {ballot.confidence:g}", "write 0 to 1: 0.9 is rather sure")
    if ballot.vote != "approve" and not ballot.reason:
        raise VoteError(f"{fields.place()}: a vote to {ballot.vote} needs a reason", "say what has to change")
    return ballot


# --- The three JSON documents of a pipeline that we read ourselves: the root-cause record, the audit, the snapshot


Severity = Literal["blocking", "major", "minor", "info"]
FindingKind = Literal["architecture", "security", "correctness", "performance", "maintainability", "documentation"]
FindingStatus = Literal["open", "resolved"]

_SEVERITIES: tuple[str, ...] = get_args(Severity)
_KINDS: tuple[str, ...] = get_args(FindingKind)
_FINDING_STATUSES: tuple[str, ...] = get_args(FindingStatus)

#: Findings that ask for a change of what was agreed on; a blocking one of another kind has to be mended.
REQUESTING_KINDS = ("architecture", "security")


class RootCause(Value):
    failed_phase: str
    summary: str
    root_cause: str
    rewind_to: str = ""
    human_input: str = ""


class AuditFinding(Value):
    id: str
    severity: Severity
    kind: FindingKind
    title: str
    status: FindingStatus = "open"
    file: str = ""
    line: int | None = None

    @property
    def blocks(self) -> bool:
        return self.severity == "blocking" and self.status == "open"


class Snapshot(Value):
    tree: str
    phase: str
    attempt: int


def read_root_cause(document: object) -> RootCause:
    keys = _keys(
        document,
        required=("failed_phase", "summary", "root_cause", "requires_phase_rewind_to"),
        optional=("evidence", "required_human_input"),
    )
    rewind = keys["requires_phase_rewind_to"]
    if rewind is not None and (not isinstance(rewind, str) or not rewind.strip()):
        _refuse_field("requires_phase_rewind_to", "has to be a phase, or null to go back to the failed one")
    evidence = keys.get("evidence", [])
    if not isinstance(evidence, list) or not all(isinstance(each, str) and each.strip() for each in evidence):
        _refuse_field("evidence", "has to be a list of texts")
    return RootCause(
        failed_phase=_text(keys, "failed_phase").upper(),
        summary=_text(keys, "summary"),
        root_cause=_text(keys, "root_cause"),
        rewind_to="" if rewind is None else rewind.strip().upper(),
        human_input=_text(keys, "required_human_input") if "required_human_input" in keys else "",
    )


def read_audit(document: object) -> tuple[AuditFinding, ...]:
    keys = _keys(document, required=("summary", "findings"))
    _text(keys, "summary")
    rows = keys["findings"]
    if not isinstance(rows, list):
        _refuse_field("findings", "has to be a list, an empty one if nothing was found")
    found = tuple(_read_finding(row, f"findings[{index}]") for index, row in enumerate(rows))
    ids = [finding.id for finding in found]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        _refuse_field("findings", f"has two findings with the id {twice[0]!r}")
    return found


def _read_finding(row: object, place: str) -> AuditFinding:
    try:
        keys = _keys(row, required=("id", "severity", "kind", "title"), optional=("status", "file", "line"))
        line = keys.get("line")
        if line is not None and (isinstance(line, bool) or not isinstance(line, int) or line < 1):
            _refuse_field("line", "has to be a whole number from 1 on")
        return AuditFinding(
            id=_text(keys, "id"),
            severity=_choice(keys, "severity", _SEVERITIES),
            kind=_choice(keys, "kind", _KINDS),
            title=_text(keys, "title"),
            status=_choice(keys, "status", _FINDING_STATUSES) if "status" in keys else "open",
            file=_text(keys, "file") if "file" in keys else "",
            line=line,
        )
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def read_snapshot(document: object) -> Snapshot:
    keys = _keys(document, required=("tree", "task", "cycle", "phase", "attempt", "at", "files"), optional=("commit",))
    attempt = keys["attempt"]
    if isinstance(attempt, bool) or not isinstance(attempt, int):
        _refuse_field("attempt", "has to be a whole number")
    return Snapshot(tree=_text(keys, "tree"), phase=_text(keys, "phase"), attempt=attempt)


def _keys(document: object, *, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise ValueError("has to be a JSON object")
    for name in required:
        if name not in document:
            raise ValueError(f"{name} is missing")
    unknown = sorted(set(document) - {*required, *optional})
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}")
    return document


def _text(keys: Mapping[str, Any], name: str) -> str:
    value = keys[name]
    if not isinstance(value, str) or not value.strip():
        _refuse_field(name, "has to be a text")
    return " ".join(value.split())


def _choice(keys: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> Any:
    if keys[name] not in allowed:
        _refuse_field(name, f"has to be one of: {', '.join(allowed)}")
    return keys[name]


def _refuse_field(name: str, problem: str) -> NoReturn:
    raise ValueError(f"{name} {problem}")
