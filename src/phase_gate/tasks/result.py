"""A verify task as documents: its status, its evidence chain, and the result of the gate.

Pure. The names are the source document's; ours come behind them.
"""

from __future__ import annotations

from typing import Any

from phase_gate.codec import spell_out_each
from phase_gate.tasks.model import FINISHED, MAX_ATTEMPTS, NOT_PASSED, Check, Status, Verification
from phase_gate.tasks.rules import Escalation, needs_manual_review, seconds_between


def executor_status(verification: Verification) -> str:
    """Return pending, running, success, failure or blocked."""
    report = verification.report
    if report is not None:
        is_met = report.result["done_criteria_met"] or report.result["status"] != "success"
        return str(report.result["status"]) if is_met else "failure"
    if verification.status is Status.EXECUTING:
        return "running"
    return "failure" if verification.status is Status.FAILED else "pending"


def verify_status(verification: Verification) -> str:
    """Return pending, running, passed, failed or skipped; interrupted for one that has to be run again."""
    check = verification.check
    if verification.skip is not None and (check is None or not check.passes):
        return "skipped"
    if check is None:
        return "pending"
    if check.how in ("running", "interrupted", "not-started"):
        return "running" if check.how == "running" else "interrupted"
    return "passed" if check.passes else "failed"


def architect_status(verification: Verification) -> str:
    """Return pending, reviewing, approved or rejected."""
    if verification.status is Status.REVIEWING:
        return "reviewing"
    return {Status.APPROVED: "approved", Status.REJECTED: "rejected"}.get(verification.status, "pending")


def status_to_json(task: str, verification: Verification, escalation: Escalation) -> dict[str, Any]:
    """Return the status of a task with the document's fields."""
    spec, skip = verification.spec, verification.skip
    document: dict[str, Any] = {
        "name": spec.name,
        "task": task,
        "phase": spec.phase or None,
        "plan": spec.plan or None,
        "wave": spec.wave or None,
        "status": verification.word,
        "gate_status": str(verification.status),
        "gate_step": verification.step,
        "executor_status": executor_status(verification),
        "verify_status": verify_status(verification),
        "architect_status": architect_status(verification),
        "started_at": verification.began_at or None,
        "last_step_at": verification.last_step_at or None,
        "worker": verification.by or None,
        "attempt": verification.attempt,
        "max_attempts": MAX_ATTEMPTS,
        "previous_failures": spell_out_each(verification.failures),
        "weak_because": list(verification.weak_because),
        "flags": list(verification.flags),
        "needs_manual_review": needs_manual_review(verification),
        "escalation": {
            "level": escalation.level,
            "reason": escalation.reason,
            "actions": list(escalation.actions),
        },
        "commit_sha": verification.commit or None,
    }
    if skip is not None:
        document |= skip_to_json(verification)
    return document


def skip_to_json(verification: Verification) -> dict[str, Any]:
    """Return the entry of a task that a person took out of the gate."""
    skip = verification.skip
    assert skip is not None
    return {
        "name": verification.spec.name,
        "status": verification.word,
        "skip_kind": skip.kind or None,
        "skip_reason": skip.reason,
        "skipped_by": skip.by,
        "skipped_at": skip.at,
        "user_risk": skip.kind == "time-pressure",
        "requires_manual_commit": True,
    }


def evidence_chain(verification: Verification, output: str) -> dict[str, Any]:
    """Return what each step left as evidence.

    :param output: what the verify command printed, as far as it is kept.
    """
    report, check, review = verification.report, verification.check, verification.review
    return {
        "executor": None
        if report is None
        else {
            "status": report.result["status"],
            "files_modified": list(report.result.get("files_modified", ())),
            "evidence": report.result.get("evidence", ""),
            "done_criteria_met": report.result["done_criteria_met"],
            "claimed": report.result.get("verification"),
            "by": report.by,
            "timestamp": report.at,
        },
        "verify": None if check is None else _check(check, output),
        "architect": None
        if review is None
        else {
            "verdict": review.verdict["verdict"],
            "confidence": review.verdict["confidence"],
            "findings": list(review.verdict["findings"]),
            "concerns": list(review.verdict.get("concerns", ())),
            "recommendation": review.verdict["recommendation"],
            "feedback": review.verdict.get("feedback", ""),
            "by": review.by,
            "timestamp": review.at,
        },
    }


def _check(check: Check, output: str) -> dict[str, Any]:
    return {
        "command": check.command,
        "exit_code": check.exit_code,
        "output": output or check.summary,
        "summary": check.summary,
        "how": check.how,
        "timestamp": check.at,
        "duration_ms": round(check.seconds * 1000),
        "tests": check.tests,
        "runs": list(check.runs),
        "tree": check.after,
        "evidence": check.id,
        "problems": [{"slug": slug, "text": text} for slug, text in check.problems],
        "flags": list(check.flags),
    }


def gate_result(verification: Verification, output: str, *, state_updated: bool) -> dict[str, Any]:
    """Return the gate's result with the document's fields. The outcome is None as long as there is none."""
    outcome = None
    if verification.status is Status.APPROVED:
        outcome = "PASSED"
    elif verification.status in NOT_PASSED:
        outcome = "FAILED"
    ended = verification.last_step_at if verification.status in FINISHED | NOT_PASSED else ""
    if verification.review is not None:
        ended = verification.review.at
    return {
        "gate_result": {
            "task": verification.spec.name,
            **evidence_chain(verification, output),
            "outcome": outcome,
            "status": verification.word,
            "attempt": verification.attempt,
            "weak_because": list(verification.weak_because),
            "duration_ms": round(1000 * seconds_between(verification.began_at, ended))
            if ended and verification.began_at
            else None,
            "timestamp": ended or None,
            "commit_sha": verification.commit or None,
            "state_updated": state_updated,
        }
    }
