"""What an executor and a reviewer say of a task.

Pure: values. Read strictly in `rules.task_results`; what they are worth is decided elsewhere.
"""

from __future__ import annotations

from typing import Any, Literal

from phase_gate.values import Value

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
    task_name: str
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
    task_name: str
    confidence: Confidence
    findings: tuple[str, ...]
    recommendation: Recommendation
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
    claimed = result.verification
    document: dict[str, Any] = {
        "status": result.status,
        "task_name": result.task_name,
        "files_modified": list(result.files_modified),
        "done_criteria_met": result.done_criteria_met,
    }
    if claimed is not None:
        document["verification"] = {
            "command": claimed.command,
            "exit_code": claimed.exit_code,
            "output_summary": claimed.output_summary,
        }
    more = {name: getattr(result, name) for name in ("evidence", "error", "blocked_by", "resolution", "by")}
    return {**document, **{name: text for name, text in more.items() if text}}


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict for the ledger and for `--json`; what is not said is left out."""
    document: dict[str, Any] = {
        "verdict": verdict.verdict,
        "task_name": verdict.task_name,
        "confidence": verdict.confidence,
        "findings": list(verdict.findings),
        "concerns": list(verdict.concerns),
        "recommendation": verdict.recommendation,
    }
    more: dict[str, Any] = {
        "blockers": list(verdict.blockers),
        **{name: getattr(verdict, name) for name in ("feedback", "by", "attempt", "tree", "evidence")},
    }
    return {**document, **{name: value for name, value in more.items() if value}}
