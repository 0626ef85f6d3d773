"""What a recovery and a review find: where the root-cause record leads, and what drifted from the plan. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from phase_gate.core.pipeline import Pipeline
from phase_gate.core.pipeline_documents import RootCause
from phase_gate.core.pipeline_look import Drifted, Look, fault_of, fingerprint, hard
from phase_gate.core.pipeline_order import problem_of_rewind, requires_of
from phase_gate.core.pipeline_verdict import CHANGE_REQUESTED
from phase_gate.gate.findings import Finding
from phase_gate.gate.measured import Measured
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import DRIFT, ROOT_CAUSE, Phase, Workflow, settle


def measure_recovery(look: Look, pipeline: Pipeline, workflow: Workflow, phase: Phase) -> Measured:
    """Return whether the root-cause record says where to go on; nothing in a phase that does not recover."""
    if not phase.recovers:
        return Measured()
    assert workflow.pipeline is not None, "only a pipeline is asked"
    name = record_name(workflow, phase)
    seen, described = look.artifacts[name], workflow.pipeline.artifacts[name]
    fault = fault_of(seen, described, old=pipeline.old.get(name, ()), tree=look.tree)
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
    assert workflow.pipeline is not None, "only a pipeline is asked"
    artifacts = workflow.pipeline.artifacts
    return next(name for name in requires_of(phase).artifacts if artifacts[name].schema == ROOT_CAUSE)


def measure_drift(look: Look, workflow: Workflow, phase: Phase) -> Measured:
    """Return the changes that the approved plan did not speak of, each as a request; nothing where nobody asks."""
    if DRIFT not in phase.raises:
        return Measured()
    if look.drift is None:
        return Measured(
            warnings=("drift is unknown: git can't compare with what there was when the plan was approved",)
        )
    findings = list(_drift_findings(look.drift, workflow))
    metrics: dict[str, MetricValue] = {"drift_found": len(findings), "lines_changed": look.drift.lines}
    return Measured(metrics=metrics, findings=tuple(findings))


def _drift_findings(drift: Drifted, workflow: Workflow) -> Iterator[Finding]:
    assert workflow.pipeline is not None, "only a pipeline is asked"
    assert workflow.pipeline.drift is not None, "the file was checked"
    if drift.files:
        names = ", ".join(sorted(drift.files))
        detail = f"{names} changed since the plan was approved"
        proof = fingerprint("config", *(part for pair in sorted(drift.files.items()) for part in pair))
        yield Finding(slug=CHANGE_REQUESTED, tier="advisory", id="config", detail=detail, proof=proof)
    large = int(settle(workflow.pipeline.drift.lines, workflow))
    if drift.lines > large:
        detail = f"{drift.lines} lines changed since the plan was approved, more than {large}"
        # By its size: what comes on top of a large change that was agreed on is the same one until it doubles.
        proof = fingerprint("lines", str((drift.lines // large).bit_length()))
        yield Finding(slug=CHANGE_REQUESTED, tier="advisory", id="scope", detail=detail, proof=proof)
