"""Tasks and pipelines as documents: status, evidence, statistics, failures, votes, and the result of a gate.

Pure. The names are from the source documents, followed by our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from phase_gate.codec import spell_out
from phase_gate.tasks.rules import Escalation, needs_manual_review, seconds_between
from phase_gate.tasks.work import FINISHED, MAX_ATTEMPTS, NOT_PASSED, Failure, FailureType, Status, Verification, Word
from phase_gate.values import as_dict

if TYPE_CHECKING:
    from phase_gate.tasks.overview import Overview
    from phase_gate.tasks.pipeline_steps import VoteStanding
    from phase_gate.tasks.work import Pipeline


# --- a verify task


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
    """Return pending, running, passed, failed or skipped; interrupted if the command has to run again."""
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
    words = {Status.REVIEWING: "reviewing", Status.APPROVED: "approved", Status.REJECTED: "rejected"}
    return words.get(verification.status, "pending")


def status_to_json(verification: Verification, escalation: Escalation) -> dict[str, Any]:
    """Return the status of a task with the document's fields."""
    spec = verification.spec
    document: dict[str, Any] = {
        "name": spec.name,
        "task": verification.task,
        "files": list(spec.files),
        "depends_on": list(spec.depends_on),
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
        "previous_failures": [failure_to_json(each) for each in verification.failures],
        "weak_because": list(verification.weak_because),
        "flags": list(verification.flags),
        "needs_manual_review": needs_manual_review(verification),
        "escalation": {**as_dict(escalation), "actions": list(escalation.actions)},
        "commit_sha": verification.commit or None,
    }
    return document | (skip_to_json(verification) if verification.skip is not None else {})


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """Return a failure, with the fields of its kind."""
    of_gate = ("phase", "error", "lines", "at")
    of_step = (
        *("attempt", "type", "step", "error", "at", "tree", "lines", "exit_code", "counts"),
        *("recovered", "resolution"),
    )
    spelled = spell_out(failure)
    if failure.type is not FailureType.GATE_FAILURE:
        return {name: spelled[name] for name in of_step}
    return {{"error": "reason", "lines": "unmet"}.get(name, name): spelled[name] for name in of_gate}


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


#: The fields of each step in the evidence chain.
_EXECUTOR = ("status", "files_modified", "evidence", "done_criteria_met")
_ARCHITECT = ("verdict", "confidence", "findings", "concerns", "recommendation", "feedback")
_VERIFY = ("command", "exit_code", "summary", "how", "tests")


def evidence_chain(verification: Verification, output: str) -> dict[str, Any]:
    """Return the evidence of each step; None for a step that has not been taken yet.

    :param output: the output of the verify command, as far as it is stored.
    """
    chain: dict[str, Any] = {"executor": None, "verify": None, "architect": None}
    report, check, review = verification.report, verification.check, verification.review
    if report is not None:
        said = {name: report.result[name] for name in _EXECUTOR}
        chain["executor"] = {**said, "claimed": report.result["verification"], "by": report.by, "timestamp": report.at}
    if check is not None:
        chain["verify"] = {
            **{name: getattr(check, name) for name in _VERIFY},
            "output": output or check.summary,
            "timestamp": check.at,
            "duration_ms": round(check.seconds * 1000),
            "runs": list(check.runs),
            "tree": check.after,
            "evidence": check.id,
            "problems": [{"slug": slug, "text": text} for slug, text in check.problems],
            "flags": list(check.flags),
        }
    if review is not None:
        said = {name: review.said[name] for name in _ARCHITECT}
        chain["architect"] = {**said, "by": review.by, "timestamp": review.at}
    return chain


def gate_result(verification: Verification, output: str, *, state_updated: bool) -> dict[str, Any]:
    """Return the gate's result with the document's fields. The outcome is None while it is open."""
    status = verification.status
    ended = verification.last_step_at if status in FINISHED | NOT_PASSED else ""
    if verification.review is not None:
        ended = verification.review.at
    took = seconds_between(verification.began_at, ended) if ended and verification.began_at else None
    return {
        "gate_result": {
            "task": verification.spec.name,
            **evidence_chain(verification, output),
            "outcome": "PASSED" if status is Status.APPROVED else "FAILED" if status in NOT_PASSED else None,
            "status": verification.word,
            "attempt": verification.attempt,
            "weak_because": list(verification.weak_because),
            "duration_ms": None if took is None else round(1000 * took),
            "timestamp": ended or None,
            "commit_sha": verification.commit or None,
            "state_updated": state_updated,
        }
    }


# --- all verify tasks


def stats_to_json(overview: Overview) -> dict[str, Any]:
    """Return the statistics with the document's names, followed by our own."""
    current = overview.current
    return {
        "total_tasks": overview.total,
        **overview.counts,
        "weak_passes": overview.weak,
        "not_trusted": list(overview.damaged),
        "pass_rate": overview.pass_rate,
        "avg_attempts": overview.average_attempts,
        "current_gate": None
        if current is None
        else {"task": current.name, "status": str(current.status), "attempt": current.attempt},
        "waves": [
            {
                "name": wave,
                "tasks": sum(row.wave == wave for row in overview.rows),
                "failing": failing,
                "halted": bool(overview.halted(wave)),
            }
            for wave, failing in overview.waves.items()
        ],
    }


def failures_to_json(pairs: Iterable[tuple[Verification, Failure]]) -> list[dict[str, Any]]:
    """Return the failure log with the document's names."""
    return [
        {
            "task": row.name,
            "failure_type": str(failure.type),
            **{name: getattr(failure, name) for name in ("attempt", "step", "error", "recovered", "at")},
            "resolution": failure.resolution or None,
        }
        for row, failure in pairs
    ]


# --- a pipeline


def pipeline_to_json(pipeline: Pipeline) -> dict[str, Any]:
    """Return the status of the pipeline."""
    return {
        "pendingChangeRequests": [
            {"cr_id": each.id, "change_type": each.type, "target_phase": each.target, "status": each.status}
            for each in pipeline.pending
        ],
        "failedPhase": pipeline.failed_phase or None,
    }


def votes_to_json(votes: VoteStanding) -> dict[str, Any]:
    return {
        "phase": votes.phase,
        "on": dict(votes.on),
        "version": votes.version,
        "score": votes.tally.score,
        "threshold": votes.threshold,
        "voters": len(votes.tally.counted),
        "required_voters": votes.required_voters,
        "reached": votes.is_reached,
        "votes": [_vote(each) for each in votes.tally.counted],
        "outdated": [_vote(each) for each in votes.tally.outdated],
    }


def _vote(word: Word) -> dict[str, Any]:
    said = {name: getattr(word, name) for name in ("by", "confidence", "reason", "at")}
    return {**said, "vote": word.answer, "on": dict(word.about)}


def phase_result(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Return an evaluation's document as a gate result, without scores that were not measured."""
    gate = evaluation["gate_1"]
    closed = [guard for guard in gate["guards"] if guard["met"] is not True and not guard["waived"]]
    unmet = [clause for clause in gate["clauses"] if clause["met"] is not True and clause["group"] is None]
    blockers = [f"{guard['name']}: {guard['detail']}" for guard in closed]
    blockers += [f"{clause['text']} ({clause['shown'] or 'not measured'})" for clause in unmet]
    if not gate["open"] and not blockers:
        blockers = [evaluation["reason"]]
    found: dict[str, list[str]] = {"artifacts-made": [], "checks-passed": []}
    for row in evaluation["findings"]:
        found.setdefault(row["slug"], []).append(row["id"])
    result: dict[str, Any] = {
        "phase": evaluation["phase"],
        "pass": gate["open"],
        "blockers": blockers,
        "missingArtifacts": found["artifacts-made"],
        "failedChecks": found["checks-passed"],
        "timestamp": evaluation["timestamp"],
    }
    score = evaluation["metrics"].get("consensus_score")
    return result if score is None else {**result, "score": score, "consensusScore": score}


def merge_gate_results(handler: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two results: scores are the handler's, if it has them; everything else is the engine's."""
    kept = ("score", "consensusScore")
    return {**engine, **{name: handler[name] for name in kept if handler.get(name) is not None}}
