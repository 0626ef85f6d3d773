"""Hold what was seen of a project against what a phase of its pipeline requires: metrics, and findings in words.

Pure. `provider` looks; here is decided what that means for this attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from phase_gate.gate.measured import Finding, Measured
from phase_gate.tasks.artifacts import Drifted, SeenProject, fault_of, fingerprint, hard
from phase_gate.tasks.handins import REQUESTING_KINDS, AuditFinding, RootCause
from phase_gate.tasks.pipeline import Pipeline, count_votes
from phase_gate.tasks.routing import CHANGE_REQUESTED, problem_of_rewind, rules_of
from phase_gate.values import replace
from phase_gate.visible import count
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import DRIFT, ROOT_CAUSE, Phase, Workflow, requires_of, settle


def measure(project: SeenProject, pipeline: Pipeline, workflow: Workflow, phase: Phase) -> Measured:
    """Return what was seen means in this phase, in this attempt."""
    parts = [
        _constitution(project, pipeline),
        _rules(project),
        _artifacts(project, pipeline, workflow, phase),
        _approved(project, pipeline, phase),
        _consensus(project, pipeline, workflow, phase),
        _requests(project, pipeline, phase),
        measure_recovery(project, pipeline, workflow, phase),
        measure_drift(project, workflow, phase),
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
    failed, missing = _results(measured, checks)
    findings = [hard("checks-passed", name, "it failed") for name in failed]
    findings += [hard("checks-passed", name, _no_result(name)) for name in missing]
    return replace(
        measured,
        metrics={**measured.metrics, "checks_failed": len(failed), "checks_missing": len(missing)},
        findings=(*measured.findings, *findings),
    )


def with_fix(measured: Measured, checks: Iterable[str], *, run: str) -> Measured:
    """Return what was measured in a recovery with whether what failed is mended.

    :param checks: those of the failed phase.
    :param run: what to type where the failed phase wants tests that pass, and none has run on these files; else empty.
    """
    failed, missing = _results(measured, checks)
    findings = [hard("fix-checked", name, "it still fails") for name in failed]
    findings += [hard("fix-checked", name, _no_result(name)) for name in missing]
    untested = [hard("fix-tested", "", f"no green run of these files yet: {run}")] if run else []
    return replace(
        measured,
        metrics={**measured.metrics, "fix_checked": not findings, "fix_tested": not untested},
        findings=(*measured.findings, *findings, *untested),
    )


def _results(measured: Measured, checks: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the checks that failed, and those without a result."""
    failed, missing = [], []
    for name in checks:
        result = measured.metrics.get(f"{name}_ok")
        if result is False:
            failed.append(name)
        elif result is not True:
            missing.append(name)
    return failed, missing


def _no_result(name: str) -> str:
    return f"no result: evidence.commands.{name} gave none, or is not set"


def _constitution(project: SeenProject, pipeline: Pipeline) -> Measured:
    findings = []
    for path, now in project.constitution.items():
        recorded = pipeline.constitution.get(path, "")
        if not recorded:
            words = "was never recorded: it was not there when the pipeline began"
        elif not now:
            words = "is missing"
        elif now != recorded:
            words = "was changed since the pipeline began"
        else:
            continue
        findings.append(hard("constitution-kept", path, words, proof=now))
    return Measured(metrics={"constitution_intact": not findings}, findings=tuple(findings))


def _rules(project: SeenProject) -> Measured:
    findings = [
        hard("rules-kept", name, "is not what it was when the pipeline began") for name in project.changed_rules
    ]
    if project.rules_problem:
        findings.append(hard("rules-kept", "phase-gate.yaml", project.rules_problem))
    return Measured(metrics={"pipeline_rules_changed": len(findings)}, findings=tuple(findings))


def _artifacts(project: SeenProject, pipeline: Pipeline, workflow: Workflow, phase: Phase) -> Measured:
    findings = []
    for name in requires_of(phase).artifacts:
        seen, described = project.artifacts[name], rules_of(workflow).artifacts[name]
        fault = fault_of(seen, described, old=pipeline.old.get(name, ()), tree=project.tree)
        if fault:
            findings.append(hard("artifacts-made", name, f"({described.path}) {fault}", proof=seen.digest))
    return Measured(metrics={"artifacts_missing": len(findings)}, findings=tuple(findings))


def _approved(project: SeenProject, pipeline: Pipeline, phase: Phase) -> Measured:
    findings = []
    for name in requires_of(phase).approved:
        agreed, now = pipeline.approved.get(name), project.artifacts[name].digest
        if agreed is None:
            findings.append(hard("as-approved", name, "has no consensus in this attempt", proof=now))
        elif agreed != now:
            findings.append(hard("as-approved", name, "was changed after the reviewers agreed on it", proof=now))
    return Measured(metrics={"artifacts_unapproved": len(findings)}, findings=tuple(findings))


def _consensus(project: SeenProject, pipeline: Pipeline, workflow: Workflow, phase: Phase) -> Measured:
    consensus = requires_of(phase).consensus
    if consensus is None:
        return Measured()
    on = {name: project.artifacts[name].digest for name in consensus.on}
    tally = count_votes(pipeline.votes, on)
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
        f"{vote.by} {words[vote.answer]}: {vote.reason or 'no reason given'}"
        for vote in tally.counted
        if vote.answer in words
    ]
    said += [f"the vote of {vote.by} is on another version" for vote in tally.outdated]
    proof = fingerprint(*on.values())
    return Measured(
        metrics=metrics, findings=tuple(hard("consensus-reached", "", text, proof=proof + text) for text in said)
    )


def _requests(project: SeenProject, pipeline: Pipeline, phase: Phase) -> Measured:
    """What waits for a decision, what blocks, and what an audit asks for."""
    pending = pipeline.pending
    findings = [hard("no-pending-request", each.id, f"{each.type}: {each.title}") for each in pending]
    blocking: list[Finding] = []
    if not phase.routes and not phase.recovers:  # there they lead back by themselves, and here they wait
        blocking += [
            hard("no-blocking-issue", each.id, f"{each.type}: {each.title}") for each in pending if each.blocking
        ]
    asked: list[Finding] = []
    for report in phase.raises:
        if report != DRIFT and project.artifacts[report].document is not None:
            for issue in project.artifacts[report].document:
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


# --- What a recovery and a review find: where the root-cause record leads, and what drifted from the plan. Pure


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
