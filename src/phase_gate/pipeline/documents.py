"""The three JSON documents of a pipeline that we read ourselves: the root-cause record, the audit, the snapshot.

Pure. Each has a published schema; a test holds these readers against it. What is wrong is a ValueError in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NoReturn, get_args

from phase_gate.values import Value

Severity = Literal["blocking", "major", "minor", "info"]
FindingKind = Literal["architecture", "security", "correctness", "performance", "maintainability", "documentation"]
FindingStatus = Literal["open", "resolved"]

_SEVERITIES: tuple[str, ...] = get_args(Severity)
_KINDS: tuple[str, ...] = get_args(FindingKind)
_STATUSES: tuple[str, ...] = get_args(FindingStatus)

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
    fields = _fields(
        document,
        required=("failed_phase", "summary", "root_cause", "requires_phase_rewind_to"),
        optional=("evidence", "required_human_input"),
    )
    rewind = fields["requires_phase_rewind_to"]
    if rewind is not None and (not isinstance(rewind, str) or not rewind.strip()):
        _refuse("requires_phase_rewind_to", "has to be a phase, or null to go back to the failed one")
    evidence = fields.get("evidence", [])
    if not isinstance(evidence, list) or not all(isinstance(each, str) and each.strip() for each in evidence):
        _refuse("evidence", "has to be a list of texts")
    return RootCause(
        failed_phase=_text(fields, "failed_phase").upper(),
        summary=_text(fields, "summary"),
        root_cause=_text(fields, "root_cause"),
        rewind_to="" if rewind is None else rewind.strip().upper(),
        human_input=_text(fields, "required_human_input") if "required_human_input" in fields else "",
    )


def read_audit(document: object) -> tuple[AuditFinding, ...]:
    fields = _fields(document, required=("summary", "findings"))
    _text(fields, "summary")
    rows = fields["findings"]
    if not isinstance(rows, list):
        _refuse("findings", "has to be a list, an empty one if nothing was found")
    found = tuple(_read_finding(row, f"findings[{index}]") for index, row in enumerate(rows))
    ids = [finding.id for finding in found]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        _refuse("findings", f"has two findings with the id {twice[0]!r}")
    return found


def _read_finding(row: object, place: str) -> AuditFinding:
    try:
        fields = _fields(row, required=("id", "severity", "kind", "title"), optional=("status", "file", "line"))
        line = fields.get("line")
        if line is not None and (isinstance(line, bool) or not isinstance(line, int) or line < 1):
            _refuse("line", "has to be a whole number from 1 on")
        return AuditFinding(
            id=_text(fields, "id"),
            severity=_choice(fields, "severity", _SEVERITIES),
            kind=_choice(fields, "kind", _KINDS),
            title=_text(fields, "title"),
            status=_choice(fields, "status", _STATUSES) if "status" in fields else "open",
            file=_text(fields, "file") if "file" in fields else "",
            line=line,
        )
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def read_snapshot(document: object) -> Snapshot:
    fields = _fields(
        document, required=("tree", "task", "cycle", "phase", "attempt", "at", "files"), optional=("commit",)
    )
    attempt = fields["attempt"]
    if isinstance(attempt, bool) or not isinstance(attempt, int):
        _refuse("attempt", "has to be a whole number")
    return Snapshot(tree=_text(fields, "tree"), phase=_text(fields, "phase"), attempt=attempt)


def _fields(document: object, *, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise ValueError("has to be a JSON object")
    for name in required:
        if name not in document:
            raise ValueError(f"{name} is missing")
    unknown = sorted(set(document) - {*required, *optional})
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}")
    return document


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str) or not value.strip():
        _refuse(name, "has to be a text")
    return " ".join(value.split())


def _choice(fields: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> Any:
    if fields[name] not in allowed:
        _refuse(name, f"has to be one of: {', '.join(allowed)}")
    return fields[name]


def _refuse(name: str, problem: str) -> NoReturn:
    raise ValueError(f"{name} {problem}")
