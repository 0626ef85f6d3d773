"""Read the reports of executors and the verdicts of reviewers. The reader is strict: programs or models write them.

Anything else than a report is malformed, and so is a form that was not filled in. Whether a report is true is not
decided here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from phase_gate.codec import from_json
from phase_gate.config.documents import read_document
from phase_gate.config.reading import Items, Node, Reader, Table, Text, find, shorten
from phase_gate.errors import DocumentError, PhaseGateError
from phase_gate.evidence.documents.completeness import is_hole
from phase_gate.tasks.work import Choice
from phase_gate.values import Value, field, replace
from phase_gate.workflow.model import AUDIT, ROOT_CAUSE, SNAPSHOT

ExecutorStatus = Literal["success", "failure", "blocked"]
Answer = Literal["APPROVED", "REJECTED"]
Confidence = Literal["HIGH", "MEDIUM", "LOW"]
Recommendation = Literal["commit", "retry", "manual_review"]


class MalformedResultError(PhaseGateError):
    slug = "malformed-result"


class VoteError(PhaseGateError):
    slug = "bad-vote"


class Attachment(Value):
    """A report or a verdict as it was handed in."""

    data: bytes
    name: str
    #: When the file was written, in seconds; None for standard input.
    written: float | None = None
    #: The author, as given with `--by`.
    by: str | None = None
    #: The author if neither the command nor the file names one.
    user: str = ""


class Claimed(Value):
    """The executor's claim about the verify command. It is compared with our own run, and never replaces it."""

    command: str
    exit_code: int
    output_summary: str = field(default="", blank=True)


class ExecutorResult(Value):
    """Step 1: the executor's report."""

    status: ExecutorStatus
    #: Empty in a short form. Then the command has to name the task, or only one task can be meant.
    task_name: str = ""
    files_modified: tuple[str, ...] = ()
    #: None if it does not claim to have run the command. It is required with success.
    verification: Claimed | None = None
    done_criteria_met: bool = False
    evidence: str = field(default="", blank=True)
    #: Why it failed or is blocked.
    error: str = field(default="", blank=True)
    #: The task that it waits for, if it names one.
    blocked_by: str = field(default="", blank=True)
    #: How the previous failure was fixed.
    resolution: str = field(default="", blank=True)
    #: Who executed it.
    by: str = field(default="", blank=True, name=True)


class Verdict(Value):
    """Step 3: the reviewer's verdict."""

    verdict: Answer
    confidence: Confidence
    findings: tuple[str, ...]
    recommendation: Recommendation
    task_name: str = ""
    concerns: tuple[str, ...] = ()
    feedback: str = field(default="", blank=True)
    #: Who reviewed it.
    by: str = field(default="", blank=True, name=True)
    #: The verify run that it is about, if named.
    evidence: str = field(default="", blank=True)

    @property
    def is_approved(self) -> bool:
        return self.verdict == "APPROVED"


#: Bytes. No honest report is larger: a larger file is a mistake or an attack.
MAX_SIZE = 64 * 1024

#: Placeholders of the form: `...`, `{summary}`, `Criterion X met: {evidence}`, `Task N: Name`.
UNFILLED = r"^\s*(\.\.\.|…|Task N: Name|([^{}\n]*: )?\{(verify_command|code|summary|description|error|evidence)\})\s*$"
_UNFILLED = re.compile(UNFILLED)
#: Characters: no form has a longer placeholder.
_LONGEST_UNFILLED = 1000


def read_executor_result(text: str | bytes, name: str) -> ExecutorResult:
    """Return the executor's report. Raises MalformedResultError if the text is not one."""
    node, reader = _open(text, name), Reader(MalformedResultError)
    result = reader.read(ExecutorResult, node)
    if result.status == "success" and isinstance(node, Table):
        for key in ("verification", "done_criteria_met"):
            if key not in node:
                reader.stop(node, f"the key {key!r} is missing", f"add it: `{key}: …`")
    if result.verification is not None and not result.evidence:
        # As in the source document's own examples: the command's output is the evidence.
        result = replace(result, evidence=result.verification.output_summary)
    for key, problem, remedy in _contradictions(result):
        reader.stop(find(node, key), problem, remedy)
    return result


def _contradictions(result: ExecutorResult) -> Iterator[tuple[str, str, str]]:
    """Yield the contradictions in a report: the key, the problem, the remedy."""
    if result.status != "success":
        if not result.error:
            yield "error", f"{result.status} without an error", "describe in `error:` what went wrong"
        if result.done_criteria_met:
            problem = f"status is {result.status}, but done_criteria_met is true"
            yield "done_criteria_met", problem, "one of the two is wrong: set done_criteria_met: false"
        return
    if result.error:
        yield "error", "status is success, but there is an error", "set error: null, or status: failure"
    if result.blocked_by:
        yield "blocked_by", "status is success, but blocked_by is set", "remove it, or set status: blocked"
    if result.done_criteria_met and not result.evidence:
        yield "evidence", "the done-criteria are met, without evidence", "describe in `evidence:` what shows it"


def read_verdict(text: str | bytes, name: str) -> Verdict:
    """Return the reviewer's verdict. Raises MalformedResultError if the text is not one."""
    node, reader = _open(text, name), Reader(MalformedResultError)
    verdict = reader.read(Verdict, node)
    if not verdict.findings:
        remedy = "list what you looked at, and what you found"
        reader.stop(find(node, "findings"), "a verdict without findings", remedy)
    if not verdict.is_approved:
        if verdict.recommendation == "commit":
            problem = "the verdict is REJECTED, but recommends the commit"
            reader.stop(find(node, "recommendation"), problem, "write retry or manual_review, or verdict: APPROVED")
        if not (verdict.feedback or verdict.concerns):
            remedy = "describe in `feedback:` or `concerns:` what to change"
            reader.stop(find(node, "feedback"), "REJECTED without a reason", remedy)
    return verdict


def _open(text: str | bytes, name: str) -> Node:
    if re.match("\\s*```", text[:200].decode("utf-8", "replace") if isinstance(text, bytes) else text[:200]):
        raise MalformedResultError(f"{name}:1:1: the text begins with ```", "hand in the YAML alone, without a fence")
    try:
        node = read_document(text, name=name, limit=MAX_SIZE)
    except DocumentError as error:
        raise MalformedResultError(error.problem, error.remedy) from None
    for each in _texts(node):
        if len(each) <= _LONGEST_UNFILLED and _UNFILLED.match(each):
            problem = f"{each.at}: {shorten(each.strip())} is a placeholder of the form"
            raise MalformedResultError(problem, "replace it with the answer")
    return node


def _texts(node: Node) -> Iterator[Text]:
    """Yield the values in the order of the file; the caller checks the keys."""
    if isinstance(node, Text):
        yield node
        return
    for each in node if isinstance(node, Items) else node.values():
        yield from _texts(each)


# --- a vote in a consensus phase


class Ballot(Value):
    """A reviewer's vote, with the phase and the version that it is for, if given."""

    vote: Choice
    confidence: float = field(minimum=0)
    by: str = field(name=True)
    reason: str = field(default="", prose=True)
    phase: str = ""
    version: str = ""


def parse_vote(text: str | bytes, name: str) -> Ballot:
    """Return the vote in the text. Raises VoteError, or DocumentError if it is not YAML."""
    node, reader = read_document(text, name=name, limit=MAX_SIZE), Reader(VoteError)
    ballot = reader.read(Ballot, node)
    ballot = replace(ballot, confidence=float(ballot.confidence), phase=ballot.phase.upper())
    if ballot.confidence > 1:
        problem = f"confidence can't be {ballot.confidence:g}"
        reader.stop(find(node, "confidence"), problem, "write 0 to 1: 0.9 is rather sure")
    if ballot.vote != "approve" and not ballot.reason:
        reader.stop(node, f"a vote to {ballot.vote} needs a reason", "describe what has to change")
    return ballot


# --- the JSON documents of a pipeline that phase-gate reads; each has a published schema


Severity = Literal["blocking", "major", "minor", "info"]
FindingKind = Literal["architecture", "security", "correctness", "performance", "maintainability", "documentation"]
FindingStatus = Literal["open", "resolved"]

#: Findings that request a change of the approved plan. A blocking one of another kind has to be fixed.
REQUESTING_KINDS = ("architecture", "security")


class RootCause(Value):
    failed_phase: str
    summary: str
    root_cause: str
    #: None: back to the failed phase.
    requires_phase_rewind_to: str | None
    evidence: tuple[str, ...] = ()
    required_human_input: str = ""

    @property
    def rewind_to(self) -> str:
        return (self.requires_phase_rewind_to or "").upper()


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


class Audit(Value):
    summary: str
    findings: tuple[AuditFinding, ...]


class Snapshot(Value):
    """The tree at a moment. phase-gate writes it itself."""

    tree: str
    commit: str
    phase: str
    at: str


#: By the name of the schema.
DOCUMENTS: Mapping[str, type[Value]] = {AUDIT: Audit, ROOT_CAUSE: RootCause, SNAPSHOT: Snapshot}


def read_json_document(document: object, schema: str) -> Value:
    """Return the value of a parsed document. Raises ValueError, also for a form that was not filled in."""
    kind = DOCUMENTS[schema]
    for text in _texts_in(document) if schema != SNAPSHOT else ():  # that one is not written by hand
        if is_hole(text.strip()) or not text.strip():
            raise ValueError(f"a template's text is still in it: {text.strip()[:60]!r}")
    try:
        found = from_json(kind, document)
    except TypeError as error:
        raise ValueError(str(error).removeprefix(f"{kind.__name__}: ")) from None
    ids = [each.id for each in found.findings] if isinstance(found, Audit) else []
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise ValueError(f"findings has two findings with the id {twice[0]!r}")
    return found


def _texts_in(document: object) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict | list):
        for each in document.values() if isinstance(document, dict) else document:
            yield from _texts_in(each)
