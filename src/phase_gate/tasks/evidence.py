"""Evidence of a pipeline: artifacts, votes on them, the constitution, requests, drift, and why a gate failed.

Reads each file of the project once, and compares it with the requirements of a phase in this attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from phase_gate.codec import to_json
from phase_gate.errors import ConditionError, ConfigurationError, WorkflowError
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import Evidence, Finding, Measured, Remembered
from phase_gate.gate.state import WORK
from phase_gate.storage.git_command import head_of
from phase_gate.tasks.artifacts import Artifacts, Drifted, digest_file, find_drift, fingerprint, read_artifact
from phase_gate.tasks.handins import REQUESTING_KINDS, AuditFinding, RootCause
from phase_gate.tasks.pipeline_show import missing_commands, votes_on
from phase_gate.tasks.routing import CHANGE_REQUESTED, PipelineFiles, main_line, rules_of
from phase_gate.tasks.work import Pipeline, find_pipeline
from phase_gate.values import replace
from phase_gate.visible import count
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import DRIFT, ROOT_CAUSE, Phase, Workflow, name_rules, requires_of, settle
from phase_gate.workflow.names import run_command

if TYPE_CHECKING:
    from phase_gate.project import Project
    from phase_gate.task import Task

#: Metrics that show the progress of a pipeline. The others are returned only if a rule uses them.
_ALWAYS = frozenset({"attempt", "recoveries", "recovery_target", "lines_changed"})


class PipelineEvidence:
    def providers(self, task: Task, workflow: Workflow, phase: Phase) -> Mapping[str, Provider]:
        pipeline = find_pipeline(task.state)
        return {} if pipeline is None else {"pipeline": PipelineProvider(task, pipeline, workflow, phase)}

    def as_judged(self, task: Task, workflow: Workflow, phase: Phase) -> Phase:
        """Return a recovery phase with the checks of the failed phase: they have to pass here."""
        failed = _failed_phase(task, workflow, phase)
        if failed is None:
            return phase
        return replace(phase, requires=replace(requires_of(phase), checks=requires_of(failed).checks))

    def conclude(self, evidence: Evidence, task: Task, workflow: Workflow, phase: Phase) -> Evidence:
        """Return the results of the phase's checks, and a warning about missing commands."""
        checks = requires_of(phase).checks
        measured = {name: value for each in evidence.values() for name, value in each.metrics.items()}
        results = {name: measured.get(f"{name}_ok") for name in checks}
        failed = [name for name, result in results.items() if result is False]
        missing = [name for name, result in results.items() if not isinstance(result, bool)]
        slug, words = ("fix-checked", "it still fails") if phase.recovers else ("checks-passed", "it failed")
        findings = [hard(slug, name, words) for name in failed]
        without = "no result: evidence.commands.{0} gave none, or is not set"
        findings += [hard(slug, name, without.format(name)) for name in missing]
        if phase.recovers:  # the checks of the failed phase, which may require passing tests, too
            of_phase = _failed_phase(task, workflow, phase)
            is_tested = of_phase is None or of_phase.tests == "none" or task.state.green_tree == task.tree.digest
            metrics: dict[str, MetricValue] = {"fix_checked": not findings, "fix_tested": is_tested}
            if not is_tested:
                command = run_command(phase.name, task.project.task)
                findings.append(hard("fix-tested", "", f"no green run of these files yet: {command}"))
        else:
            metrics = {"checks_failed": len(failed), "checks_missing": len(missing)} if checks else {}
        unset = missing_commands(task, workflow)
        return {"checks": Measured(metrics=metrics, findings=tuple(findings), warnings=(unset,) if unset else ())}

    def remember(
        self, found: Remembered, task: Task, workflow: Workflow, phase: Phase, *, begins_cycle: bool
    ) -> Remembered:
        """Return the remembered values with the current state of the pipeline's files."""
        rules, root = rules_of(workflow), task.project.root
        files = PipelineFiles(
            artifacts={name: read_artifact(root, artifact).digest for name, artifact in rules.artifacts.items()},
            commit=head_of(root),
        )
        if begins_cycle:
            ruled = to_json(workflow)
            document = {"workflow": ruled, "names": {**name_rules(ruled), **_commands_of(task.project, workflow)}}
            files = replace(
                files,
                constitution={path: digest_file(root / path) for path in rules.constitution},
                rules=task.store.keep("rules", document),
            )
        return replace(found, parts={**found.parts, WORK: files})


def record_name(workflow: Workflow, phase: Phase) -> str:
    """Return the name of the artifact with the root cause of a failed gate."""
    artifacts = rules_of(workflow).artifacts
    return next(name for name in requires_of(phase).artifacts if artifacts[name].schema == ROOT_CAUSE)


def _failed_phase(task: Task, workflow: Workflow, phase: Phase) -> Phase | None:
    """Return the phase that a recovery leads back to, if it is the failed one; None without such a record."""
    pipeline, record = find_pipeline(task.state), read_root_cause_of(task) if phase.recovers else None
    if pipeline is None or record is None or record.rewind_to not in ("", pipeline.failed_phase):
        return None
    return workflow.phase(pipeline.failed_phase)


def read_root_cause_of(task: Task) -> RootCause | None:
    """Return the existing root-cause record of a pipeline, from whatever attempt."""
    for artifact in rules_of(task.rules).artifacts.values():
        if artifact.schema == ROOT_CAUSE:
            record = read_artifact(task.project.root, artifact).document
            return record if isinstance(record, RootCause) else None
    return None


def _commands_of(project: Project, workflow: Workflow) -> dict[str, str]:
    """Return the commands of the workflow's checks, by the names of their rules."""
    checks = {name for phase in workflow.phases for name in requires_of(phase).checks}
    return {
        f"evidence.commands.{name}": each.rule
        for name, each in project.configuration.evidence.commands.items()
        if name in checks
    }


# --- findings


def hard(slug: str, name: str, detail: str, *, proof: str = "") -> Finding:
    """Return a finding that closes its guard."""
    return Finding(slug=slug, tier="hard", id=name, detail=detail, proof=proof)


class PipelineProvider(Provider):
    def __init__(self, task: Task, pipeline: Pipeline, workflow: Workflow, phase: Phase) -> None:
        self.task, self.pipeline, self.workflow, self.phase = task, pipeline, workflow, phase
        self.requires, self.rules = requires_of(phase), rules_of(workflow)
        self.look = Artifacts(task, workflow, pipeline)

        self.measured = Measured(
            metrics={"attempt": pipeline.attempts.get(phase.name, 0), "recoveries": pipeline.recoveries}
        )

    def measure(self, context: EvidenceContext) -> Measured:
        self._constitution()
        self._rules()
        self._artifacts()
        self._approved()
        self._consensus()
        self._requests()
        if self.phase.recovers:
            self._recovery()
        if DRIFT in self.phase.raises and self.rules.drift is not None:
            self._drift(find_drift(context, self.rules, self.rules.drift, self.pipeline.base))
        wanted = context.wanted | _ALWAYS
        found = self.measured
        return replace(found, metrics={name: value for name, value in found.metrics.items() if name in wanted})

    def _add(self, findings: Iterable[Finding], **metrics: MetricValue) -> None:
        found = self.measured
        self.measured = replace(found, metrics={**found.metrics, **metrics}, findings=(*found.findings, *findings))

    def _constitution(self) -> None:
        findings = []
        for path in self.rules.constitution:
            now, recorded = digest_file(self.task.project.root / path), self.pipeline.constitution.get(path, "")
            if recorded and now == recorded:
                continue
            words = "was changed since the pipeline began" if now else "is missing"
            if not recorded:
                words = "was never recorded: it was not there when the pipeline began"
            findings.append(hard("constitution-kept", path, words, proof=now))
        self._add(findings, constitution_intact=not findings)

    def _rules(self) -> None:
        """Find the rules that changed since the cycle began."""
        project, state = self.task.project, self.task.state
        then: Mapping[str, str] = self.task.store.objects.load(self.pipeline.rules)["names"]
        try:
            rules = project.workflow()
            # A command named another workflow than the file's when the cycle began: there is nothing to compare.
            now = name_rules(to_json(rules if rules.name == state.workflow else self.workflow))
            now |= _commands_of(project, self.workflow)
        except (ConfigurationError, WorkflowError, ConditionError) as error:
            # The pipeline uses the rules that it began with, so everything else can still be measured.
            words = f"can't be read: {error.problem}; {error.remedy}"
            findings = [hard("rules-kept", "phase-gate.yaml", words)]
        else:
            changed = sorted(name for name in {*then, *now} if then.get(name) != now.get(name))
            findings = [hard("rules-kept", name, "has changed since the pipeline began") for name in changed]
        self._add(findings, pipeline_rules_changed=len(findings))

    def _artifacts(self) -> None:
        faults = {name: fault for name in self.requires.artifacts if (fault := self.look.fault(name))}
        findings = [
            hard("artifacts-made", name, f"({self.rules.artifacts[name].path}) {fault}", proof=self.look.digest(name))
            for name, fault in faults.items()
        ]
        self._add(findings, artifacts_missing=len(findings))

    def _approved(self) -> None:
        findings = []
        for name in self.requires.approved:
            agreed = self.pipeline.approved.get(name)
            words = "was changed after the reviewers agreed on it" if agreed else "has no consensus in this attempt"
            if agreed != self.look.digest(name):
                findings.append(hard("as-approved", name, words, proof=self.look.digest(name)))
        self._add(findings, artifacts_unapproved=len(findings))

    def _consensus(self) -> None:
        consensus = self.requires.consensus
        if consensus is None:
            return
        votes = votes_on(self.look, self.workflow, consensus)
        problems = []
        if votes.score is None:
            problems.append(f"no vote on {', '.join(consensus.on)} as it is now")
        elif votes.score < votes.threshold:
            problems.append(f"the score is {votes.score:.2f}, {votes.threshold:g} is needed")
        if votes.misses_voters:
            problems.append(f"{count(len(votes.counted), 'voter')}, {votes.required_voters} are needed")
        words = {"reject": "rejects", "conditional": "agrees on a condition"}
        problems += [
            f"{vote.by} {words[vote.answer]}: {vote.reason or 'no reason given'}"
            for vote in votes.counted
            if vote.answer in words
        ]
        problems += [f"the vote of {vote.by} is on another version" for vote in votes.outdated]
        findings = [hard("consensus-reached", "", text, proof=votes.version + text) for text in problems]
        self._add(
            () if votes.is_reached else findings,
            consensus_voters=len(votes.counted),
            consensus_reached=votes.is_reached,
            **({} if votes.score is None else {"consensus_score": votes.score}),
        )

    def _requests(self) -> None:
        """Find pending requests, blocking issues, and requests of an audit."""
        pending, phase, found = self.pipeline.pending, self.phase, list[Finding]()
        if "no-pending-request" in phase.gate_1.guards:
            found += [hard("no-pending-request", each.id, f"{each.type}: {each.title}") for each in pending]
        if not phase.routes and not phase.recovers:  # in those phases, requests lead back by themselves
            blocking = [each for each in pending if each.blocking]
            found += [hard("no-blocking-issue", each.id, f"{each.type}: {each.title}") for each in blocking]
        for report in phase.raises:
            issues = () if report == DRIFT else getattr(self.look.artifact(report).document, "findings", ())
            found += [each for issue in issues if issue.blocks for each in self._raised_by(issue, report)]
        blocked = sum(each.slug == "no-blocking-issue" for each in found)
        self._add(found, requests_pending=len(pending), blocking_issues=blocked)

    def _raised_by(self, issue: AuditFinding, report: str) -> Iterator[Finding]:
        """Yield what a blocking finding of an audit leads to: a request, or a blocking issue."""
        mark, text = fingerprint("audit", issue.kind, issue.id), f"{issue.kind}: {issue.title} ({report})"
        decided = {each.status for each in self.pipeline.requests if each.fingerprint == mark}
        if issue.kind in REQUESTING_KINDS and "approved" not in decided:
            detail = f"{issue.id}: {text}"
            # The change is decided in the phase of the architecture.
            yield Finding(slug=CHANGE_REQUESTED, tier="advisory", id="architecture", detail=detail, proof=mark)
        elif "rejected" not in decided:  # a person decided that one
            found = hard("no-blocking-issue", issue.id, text, proof=mark)
            yield replace(found, file=issue.file, line=issue.line)

    def _recovery(self) -> None:
        """Find out whether the root-cause record names the phase to continue with."""
        name = record_name(self.workflow, self.phase)
        seen, fault = self.look.artifact(name), self.look.fault(name)
        problem = f"{self.rules.artifacts[name].path} {fault}" if fault else ""
        problem = problem or problem_of_record(seen.document, self.pipeline, self.workflow)
        if problem:
            self._add([hard("root-cause-known", "", problem, proof=seen.digest)], root_cause_known=False)
        else:
            target = seen.document.rewind_to or self.pipeline.failed_phase
            self._add((), root_cause_known=True, recovery_target=target)

    def _drift(self, drift: Drifted | None) -> None:
        """Find the changes outside the approved plan, each as a request."""
        if drift is None:
            words = "drift is unknown: git can't compare with the commit of the approved plan"
            self.measured = replace(self.measured, warnings=(*self.measured.warnings, words))
        else:
            findings = list(drift_findings(drift, self.workflow))
            self._add(findings, drift_found=len(findings), lines_changed=drift.lines)


def problem_of_record(record: RootCause, pipeline: Pipeline, workflow: Workflow) -> str:
    """Return the problem of a readable record; empty if there is none."""
    line, failed, target = main_line(workflow), pipeline.failed_phase, record.rewind_to
    if record.failed_phase.upper() != failed:
        return f"the record is for {record.failed_phase}, but {failed} failed"
    if target and target not in line:
        return f"{target} is not a phase to go back to: {', '.join(line)}"
    if target and failed in line and line.index(target) > line.index(failed):
        return f"{target} comes after {failed}, which failed: no phase can be skipped"
    return ""


def drift_findings(drift: Drifted, workflow: Workflow) -> Iterator[Finding]:
    """Return the drift as change requests."""
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
        # By its size: a growing change that was approved stays the same request until it doubles.
        proof = fingerprint("lines", str((drift.lines // max(1, large)).bit_length()))
        yield Finding(slug=CHANGE_REQUESTED, tier="advisory", id="scope", detail=detail, proof=proof)
