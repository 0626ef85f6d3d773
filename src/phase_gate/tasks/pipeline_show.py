"""What a phase of a pipeline asks for, and how its votes stand, in rows for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from phase_gate.tasks.asking import vote_command
from phase_gate.tasks.pipeline import WEIGHTS, Failure, Pipeline
from phase_gate.tasks.routing import budget, furthest_failure
from phase_gate.tasks.voting import VoteStanding
from phase_gate.values import Value, as_dict
from phase_gate.workflow.model import Workflow
from phase_gate.workflow.names import look_command


def vote_rows(votes: VoteStanding) -> list[str]:
    """Return how the votes of a phase stand, for people."""
    names, tally = ", ".join(votes.on), votes.tally
    rows = [f"{votes.phase}: {names}, version {votes.version}"]
    for each in tally.counted:
        said = f": {each.reason}" if each.reason else ""
        weight = WEIGHTS[each.vote] * each.confidence
        rows.append(f"  {each.by:12} {each.vote}, {each.confidence:g} sure, weighs {weight:g}{said}")
    rows += [f"  {each.by:12} voted on another version: it does not count" for each in tally.outdated]
    score = "none yet" if tally.score is None else f"{tally.score:.2f}"
    rows.append(
        f"  score        {score} of {votes.threshold:g}; {len(tally.counted)} of {votes.required_voters} voters"
    )
    if votes.is_reached:
        step = look_command(votes.task)
    elif votes.misses_voters:
        step = f"{vote_command(votes.file, votes.task)}, for the next reviewer"
    else:
        step = f"change {names}, and let all reviewers vote again; or another reviewer votes"
    return [*rows, f"  next: {step}"]


def pipeline_to_json(pipeline: Pipeline) -> dict[str, Any]:
    """Return where the pipeline stands, in the names of the source document."""
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
        "votes": [as_dict(each) for each in votes.tally.counted],
        "outdated": [as_dict(each) for each in votes.tally.outdated],
    }


# --- a verdict as the gate result of the phase gate engine's document, and how two of them are merged


#: What only the writer of the file knows: a merge keeps it.
_KEPT = ("score", "consensusScore")


def gate_result(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Return an evaluation's document as a gate result. A score that was not measured is left out."""
    gate = evaluation["gate_1"]
    closed = [guard for guard in gate["guards"] if guard["met"] is not True and not guard["waived"]]
    unmet = [clause for clause in gate["clauses"] if clause["met"] is not True and clause["group"] is None]
    blockers = [f"{guard['name']}: {guard['detail']}" for guard in closed]
    blockers += [f"{clause['text']} ({clause['shown'] or 'not measured'})" for clause in unmet]
    if not gate["open"] and not blockers:
        blockers = [evaluation["reason"]]
    result: dict[str, Any] = {
        "phase": evaluation["phase"],
        "pass": gate["open"],
        "blockers": blockers,
        "missingArtifacts": _named(evaluation, "artifacts-made"),
        "failedChecks": _named(evaluation, "checks-passed"),
        "timestamp": evaluation["timestamp"],
    }
    score = evaluation["metrics"].get("consensus_score")
    return result if score is None else {**result, "score": score, "consensusScore": score}


def _named(evaluation: Mapping[str, Any], slug: str) -> list[str]:
    return [row["id"] for row in evaluation["findings"] if row["slug"] == slug]


def merge_gate_results(handler: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """Return one result of two: scores are the handler's where it gave them, all that decides is the engine's."""
    return {**engine, **{name: handler[name] for name in _KEPT if handler.get(name) is not None}}


# --- the report of a pipeline that is stuck: what failed, why, how often, and what a person has to give


class PipelineStuck(Value):
    reason: str
    current_failure: Failure
    root_cause: str
    recoveries: int
    allowed: int
    #: Every gate that failed, oldest first.
    failures: tuple[Failure, ...]
    best: Failure
    human_input: tuple[str, ...]


def describe_pipeline_stuck(reason: str, pipeline: Pipeline, workflow: Workflow) -> PipelineStuck:
    """Return the report on a pipeline that has ended in STUCK."""
    last = pipeline.failures[-1]
    known = [each for each in reversed(pipeline.failures) if each.root_cause]
    return PipelineStuck(
        reason=reason,
        current_failure=last,
        root_cause=known[0].root_cause if known else "not recorded",
        recoveries=pipeline.recoveries,
        allowed=budget(workflow),
        failures=pipeline.failures,
        best=furthest_failure(pipeline, workflow) or last,
        human_input=tuple(_needed(pipeline, workflow)),
    )


def _needed(pipeline: Pipeline, workflow: Workflow) -> Iterator[str]:
    asked = [each.human_input for each in reversed(pipeline.failures) if each.human_input]
    if asked:
        yield asked[0]
    failed = pipeline.failed_phase or pipeline.failures[-1].phase
    last = next((each for each in reversed(pipeline.failures) if each.phase == failed), pipeline.failures[-1])
    # Guards have names that one can ask about; a clause without one stands as it is.
    guards = [name for name in last.unmet if name in workflow.guards] or list(last.unmet)
    yield f"Decide how the gate of {failed} can open: {', '.join(guards) or last.reason}"
    yield f'Say how to go on in {failed}: phase-gate pipeline recover resume --reason "..." --by NAME'
    yield 'Or begin anew, on the record: phase-gate pipeline recover restart --reason "..." --by NAME'


def stuck_to_json(report: PipelineStuck) -> dict[str, Any]:
    return {
        "reason": report.reason,
        "current_failure": failure_to_json(report.current_failure),
        "root_cause_summary": report.root_cause,
        "failed_iterations": len(report.failures),
        "recoveries": report.recoveries,
        "max_recoveries": report.allowed,
        "best_attempt": failure_to_json(report.best),
        "failures": [failure_to_json(each) for each in report.failures],
        "required_human_input": list(report.human_input),
    }


def failure_to_json(failure: Failure) -> dict[str, Any]:
    return {
        "phase": failure.phase,
        "reason": failure.reason,
        "unmet": list(failure.unmet),
        "failing": failure.failing,
        "root_cause": failure.root_cause,
        "at": failure.at,
    }


def stuck_sections(report: PipelineStuck) -> list[tuple[str, list[str]]]:
    """Return the report as headings with rows."""
    last = report.current_failure
    best = report.best
    counted = "" if best.failing is None else f", {best.failing} tests and checks failing"
    return [
        ("Current failure", [f"{last.phase}: {last.reason}", *(f"unmet: {name}" for name in last.unmet)]),
        ("Root cause", [report.root_cause]),
        (
            "Failed iterations",
            [
                f"{len(report.failures)} gates failed, {report.recoveries} of {report.allowed} recoveries are used up",
                *(f"{each.at} {each.phase}: {each.reason}" for each in report.failures),
                f"best attempt: {best.phase}{counted}",
            ],
        ),
        ("Required human input", list(report.human_input)),
    ]
