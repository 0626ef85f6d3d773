"""Hold what was seen of a project against what a phase of its pipeline requires: metrics, and findings in words.

Pure. `evidence.pipeline` looks; here is decided what that means for this attempt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_phase_gate.core.consensus import count_votes
from pytest_phase_gate.core.evidence import Measured
from pytest_phase_gate.core.findings import Finding
from pytest_phase_gate.core.metrics import MetricValue
from pytest_phase_gate.core.pipeline import Pipeline
from pytest_phase_gate.core.pipeline_documents import REQUESTING_KINDS, AuditFinding, RootCause
from pytest_phase_gate.core.pipeline_order import problem_of_rewind, requires_of
from pytest_phase_gate.core.pipeline_verdict import CHANGE_REQUESTED
from pytest_phase_gate.core.requirements import DRIFT, ROOT_CAUSE, SNAPSHOT, Artifact, settle
from pytest_phase_gate.core.runs import count
from pytest_phase_gate.core.values import Value, field
from pytest_phase_gate.core.workflow import Phase, Workflow


class Seen(Value):
    """An artifact as it is now."""

    #: What matches its glob, from the root.
    files: tuple[str, ...] = ()
    #: Of its content; empty if nothing is there.
    digest: str = ""
    #: What its content lacks, in words.
    problems: tuple[str, ...] = ()
    #: Where it is JSON: what stands in it, read by its schema.
    document: Any = None


class Drifted(Value):
    """What git shows since the plan was approved."""

    #: Configuration files that changed, with digests of their content.
    files: Mapping[str, str] = field(default_factory=dict)
    lines: int = 0


class Look(Value):
    """What was seen of the project."""

    artifacts: Mapping[str, Seen]
    #: Digests of the constitution's files; empty for one that is not there.
    constitution: Mapping[str, str]
    #: The tree, artifacts left out, as snapshots name it.
    tree: str
    #: Rules that are not what they were when the cycle began.
    changed_rules: tuple[str, ...] = ()
    #: None: nobody can tell.
    drift: Drifted | None = None


def measure(look: Look, pipeline: Pipeline, workflow: Workflow, phase: Phase) -> Measured:
    """Return what the look means in this phase, in this attempt."""
    parts = [
        _constitution(look, pipeline),
        _rules(look),
        _artifacts(look, pipeline, workflow, phase),
        _approved(look, pipeline, phase),
        _consensus(look, pipeline, workflow, phase),
        _requests(look, pipeline, phase),
        _recovery(look, pipeline, workflow, phase),
        _drift(look, workflow, phase),
    ]
    metrics: dict[str, MetricValue] = {
        "attempt": pipeline.attempts.get(phase.name, 0),
        "recoveries": pipeline.recoveries,
    }
    for part in parts:
        metrics |= part.metrics
    return Measured(
        metrics=metrics,
        findings=tuple(finding for part in parts for finding in part.findings),
        warnings=tuple(text for part in parts for text in part.warnings),
    )


def with_checks(measured: Measured, checks: Iterable[str]) -> Measured:
    """Return what was measured with what the phase's checks came to. One without a result has not passed."""
    failed, missing = [], []
    for name in checks:
        result = measured.metrics.get(f"{name}_ok")
        if result is False:
            failed.append(name)
        elif result is not True:
            missing.append(name)
    findings = [_hard("checks-passed", name, "it failed") for name in failed]
    findings += [
        _hard("checks-passed", name, f"no result: evidence.commands.{name} gave none, or is not set")
        for name in missing
    ]
    return Measured(
        metrics={**measured.metrics, "checks_failed": len(failed), "checks_missing": len(missing)},
        findings=(*measured.findings, *findings),
        notes=measured.notes,
        tables=measured.tables,
        warnings=measured.warnings,
        remembered=measured.remembered,
    )


def fingerprint(*parts: str) -> str:
    """Return what makes two requests the same one."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _hard(slug: str, name: str, detail: str, *, proof: str = "", file: str = "") -> Finding:
    return Finding(slug=slug, tier="hard", id=name, file=file, detail=detail, proof=proof)


def _constitution(look: Look, pipeline: Pipeline) -> Measured:
    findings = []
    for path, now in look.constitution.items():
        recorded = pipeline.constitution.get(path, "")
        if not recorded:
            words = "was never recorded: it was not there when the pipeline began"
        elif not now:
            words = "is missing"
        elif now != recorded:
            words = "was changed since the pipeline began"
        else:
            continue
        findings.append(_hard("constitution-kept", path, words, proof=now))
    return Measured(metrics={"constitution_intact": not findings}, findings=tuple(findings))


def _rules(look: Look) -> Measured:
    findings = [_hard("rules-kept", name, "is not what it was when the pipeline began") for name in look.changed_rules]
    return Measured(metrics={"pipeline_rules_changed": len(findings)}, findings=tuple(findings))


def _artifacts(look: Look, pipeline: Pipeline, workflow: Workflow, phase: Phase) -> Measured:
    assert workflow.pipeline is not None, "only a pipeline is asked"
    findings = []
    for name in requires_of(phase).artifacts:
        seen, described = look.artifacts[name], workflow.pipeline.artifacts[name]
        fault = fault_of(seen, described, old=pipeline.old.get(name, ()), tree=look.tree)
        if fault:
            findings.append(_hard("artifacts-made", name, f"({described.path}) {fault}", proof=seen.digest))
    return Measured(metrics={"artifacts_missing": len(findings)}, findings=tuple(findings))


def fault_of(seen: Seen, described: Artifact, *, old: Iterable[str], tree: str) -> str:
    """Say why an artifact does not count; nothing if it does."""
    if not seen.files:
        return "is missing" if described.schema != SNAPSHOT else "is missing: phase-gate snapshot makes it"
    if seen.problems:
        return "; ".join(seen.problems)
    if described.schema == SNAPSHOT and seen.document.tree != tree:
        return "shows another tree than the present one: phase-gate snapshot makes it anew"
    if seen.digest in old:
        phrase = "this phase" if described.made == "phase" else "this attempt"
        return f"is what lay there before {phrase} began: it has to be made anew"
    return ""


def _approved(look: Look, pipeline: Pipeline, phase: Phase) -> Measured:
    findings = []
    for name in requires_of(phase).approved:
        agreed, now = pipeline.approved.get(name), look.artifacts[name].digest
        if agreed is None:
            findings.append(_hard("as-approved", name, "has no consensus in this attempt", proof=now))
        elif agreed != now:
            findings.append(_hard("as-approved", name, "was changed after the reviewers agreed on it", proof=now))
    return Measured(metrics={"artifacts_unapproved": len(findings)}, findings=tuple(findings))


def _consensus(look: Look, pipeline: Pipeline, workflow: Workflow, phase: Phase) -> Measured:
    consensus = requires_of(phase).consensus
    if consensus is None:
        return Measured()
    on = {name: look.artifacts[name].digest for name in consensus.on}
    tally = count_votes(pipeline.votes, phase=phase.name, attempt=pipeline.attempts.get(phase.name, 0), on=on)
    threshold, voters = settle(consensus.threshold, workflow), int(settle(consensus.voters, workflow))
    reached = tally.score is not None and tally.score >= threshold and len(tally.counted) >= voters
    metrics: dict[str, MetricValue] = {"consensus_voters": len(tally.counted), "consensus_reached": reached}
    if tally.score is not None:
        metrics["consensus_score"] = tally.score
    if reached:
        return Measured(metrics=metrics)
    said = []
    if tally.score is None:
        said.append(f"no vote on {', '.join(consensus.on)} as it is now")
    elif tally.score < threshold:
        said.append(f"the score is {tally.score:.2f}, {threshold:g} is needed")
    if len(tally.counted) < voters:
        said.append(f"{count(len(tally.counted), 'voter')}, {voters} are needed")
    words = {"reject": "rejects", "conditional": "agrees on a condition"}
    said += [
        f"{vote.by} {words[vote.vote]}: {vote.reason or 'no reason given'}"
        for vote in tally.counted
        if vote.vote in words
    ]
    said += [f"the vote of {vote.by} is on another version" for vote in tally.outdated]
    proof = fingerprint(*on.values())
    return Measured(
        metrics=metrics, findings=tuple(_hard("consensus-reached", "", text, proof=proof + text) for text in said)
    )


def _requests(look: Look, pipeline: Pipeline, phase: Phase) -> Measured:
    """What waits for a decision, what blocks, and what an audit asks for."""
    pending = pipeline.pending
    findings = [_hard("no-pending-request", each.id, f"{each.type}: {each.title}") for each in pending]
    blocking: list[Finding] = []
    if not phase.routes:  # there, they lead back by themselves
        blocking += [
            _hard("no-blocking-issue", each.id, f"{each.type}: {each.title}") for each in pending if each.blocking
        ]
    asked: list[Finding] = []
    for report in phase.raises:
        if report != DRIFT and look.artifacts[report].document is not None:
            for issue in look.artifacts[report].document:
                if issue.blocks:
                    (asked if _asks(issue, pipeline) else blocking).append(_issue(issue, report))
    # One that a person rejected has been decided on.
    rejected = {each.fingerprint for each in pipeline.requests if each.status == "rejected"}
    blocking = [each for each in blocking if each.proof not in rejected or not each.proof]
    return Measured(
        metrics={"requests_pending": len(pending), "blocking_issues": len(blocking)},
        findings=(*findings, *blocking, *(_as_request(each) for each in asked)),
    )


def _asks(issue: AuditFinding, pipeline: Pipeline) -> bool:
    """Tell whether an audit's finding leads back by a request; one that did so before, and is still there, blocks."""
    known = [each for each in pipeline.requests if each.fingerprint == _mark(issue)]
    return issue.kind in REQUESTING_KINDS and not any(each.status == "approved" for each in known)


def _mark(issue: AuditFinding) -> str:
    return fingerprint("audit", issue.kind, issue.id)


def _issue(issue: AuditFinding, report: str) -> Finding:
    detail = f"{issue.kind}: {issue.title}"
    return Finding(
        slug="no-blocking-issue",
        tier="hard",
        id=issue.id,
        file=issue.file,
        line=issue.line,
        detail=f"{detail} ({report})",
        proof=_mark(issue),
    )


def _as_request(issue: Finding) -> Finding:
    return Finding(
        slug=CHANGE_REQUESTED,
        tier="advisory",
        # What to change is agreed on where the architecture is.
        id="architecture",
        detail=f"{issue.id}: {issue.detail}",
        proof=issue.proof,
    )


def _recovery(look: Look, pipeline: Pipeline, workflow: Workflow, phase: Phase) -> Measured:
    if not phase.recovers:
        return Measured()
    assert workflow.pipeline is not None, "only a pipeline is asked"
    name = record_name(workflow, phase)
    seen, described = look.artifacts[name], workflow.pipeline.artifacts[name]
    fault = fault_of(seen, described, old=pipeline.old.get(name, ()), tree=look.tree)
    problem = f"{described.path} {fault}" if fault else problem_of_record(seen.document, pipeline, workflow)
    if problem:
        finding = _hard("root-cause-known", "", problem, proof=seen.digest)
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


def _drift(look: Look, workflow: Workflow, phase: Phase) -> Measured:
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
