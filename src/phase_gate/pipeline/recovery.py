"""What a recovery and a review find: where the root-cause record leads, and what drifted from the plan. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from phase_gate.gate.findings import Finding
from phase_gate.gate.measured import Measured
from phase_gate.pipeline.documents import RootCause
from phase_gate.pipeline.model import Failure, Pipeline
from phase_gate.pipeline.order import budget, problem_of_rewind, rules_of
from phase_gate.pipeline.seen import Drifted, SeenProject, fault_of, fingerprint, hard
from phase_gate.pipeline.verdict import CHANGE_REQUESTED, furthest_failure
from phase_gate.values import Value
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import DRIFT, ROOT_CAUSE, Phase, Workflow, requires_of, settle


def measure_recovery(project: SeenProject, pipeline: Pipeline, workflow: Workflow, phase: Phase) -> Measured:
    """Return whether the root-cause record says where to go on; nothing in a phase that does not recover."""
    if not phase.recovers:
        return Measured()
    name = record_name(workflow, phase)
    seen, described = project.artifacts[name], rules_of(workflow).artifacts[name]
    fault = fault_of(seen, described, old=pipeline.old.get(name, ()), tree=project.tree)
    problem = f"{described.path} {fault}" if fault else problem_of_record(seen.document, pipeline, workflow)
    if problem:
        finding = hard("root-cause-known", "", problem, proof=seen.digest)
        return Measured(metrics={"root_cause_known": False}, findings=(finding,))
    record: RootCause = seen.document
    target = record.rewind_to or pipeline.failed_phase
    return Measured(metrics={"root_cause_known": True, "recovery_target": target})


def problem_of_record(record: RootCause, pipeline: Pipeline, workflow: Workflow) -> str:
    """Say what is wrong with a record that can be read; nothing if nothing is."""
    if record.failed_phase != pipeline.failed_phase:
        return f"the record speaks of {record.failed_phase}, and {pipeline.failed_phase} failed"
    return problem_of_rewind(pipeline, workflow, record.rewind_to) if record.rewind_to else ""


def record_name(workflow: Workflow, phase: Phase) -> str:
    """Return the artifact that says why a gate failed."""
    artifacts = rules_of(workflow).artifacts
    return next(name for name in requires_of(phase).artifacts if artifacts[name].schema == ROOT_CAUSE)


def measure_drift(project: SeenProject, workflow: Workflow, phase: Phase) -> Measured:
    """Return the changes that the approved plan did not speak of, each as a request; nothing where no phase asks."""
    if DRIFT not in phase.raises:
        return Measured()
    if project.drift is None:
        return Measured(
            warnings=("drift is unknown: git can't compare with what there was when the plan was approved",)
        )
    findings = list(_drift_findings(project.drift, workflow))
    metrics: dict[str, MetricValue] = {"drift_found": len(findings), "lines_changed": project.drift.lines}
    return Measured(metrics=metrics, findings=tuple(findings))


def _drift_findings(drift: Drifted, workflow: Workflow) -> Iterator[Finding]:
    limits = rules_of(workflow).drift
    assert limits is not None, "the file was checked"
    if drift.files:
        names = ", ".join(sorted(drift.files))
        detail = f"{names} changed since the plan was approved"
        proof = fingerprint("config", *(part for pair in sorted(drift.files.items()) for part in pair))
        yield Finding(slug=CHANGE_REQUESTED, tier="advisory", id="config", detail=detail, proof=proof)
    large = int(settle(limits.lines, workflow))
    if drift.lines > large:
        detail = f"{drift.lines} lines changed since the plan was approved, more than {large}"
        # By its size: what comes on top of a large change that was agreed on is the same one until it doubles.
        proof = fingerprint("lines", str((drift.lines // large).bit_length()))
        yield Finding(slug=CHANGE_REQUESTED, tier="advisory", id="scope", detail=detail, proof=proof)


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
