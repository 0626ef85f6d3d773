"""What a pipeline remembers when a phase is entered, and all the evidence that one of its phases asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from phase_gate.evidence.context import Provider
from phase_gate.evidence.gathering import PartEvidence, gather
from phase_gate.gate.measured import LOOKED_AT, Measured, Remembered
from phase_gate.gate.parts import PIPELINE
from phase_gate.pipeline.artifacts import digest_file, digest_of, look_at
from phase_gate.pipeline.documents import RootCause
from phase_gate.pipeline.evidence import with_checks, with_fix
from phase_gate.pipeline.model import PipelineFiles, find_pipeline
from phase_gate.pipeline.order import rules_of
from phase_gate.pipeline.provider import PipelineProvider, PipelineView
from phase_gate.pipeline.recovery import record_name
from phase_gate.pipeline.show import missing_commands
from phase_gate.storage.tree.git import head_of
from phase_gate.values import replace
from phase_gate.workflow.model import ROOT_CAUSE, PipelineRules, name_rules, requires_of
from phase_gate.workflow.model_json import workflow_to_json
from phase_gate.workflow.names import run_command

if TYPE_CHECKING:
    from phase_gate.gate.state import State
    from phase_gate.project import Project
    from phase_gate.storage.store import TaskStore
    from phase_gate.task import Task
    from phase_gate.workflow.model import Phase, Workflow


class PipelineEvidence(PartEvidence):
    def providers(self, task: Task, workflow: Workflow, phase: Phase) -> Mapping[str, Provider]:
        pipeline = find_pipeline(task.state)
        if pipeline is None:
            return {}
        view = PipelineView(
            workflow=workflow,
            phase=phase,
            pipeline=pipeline,
            load=task.store.objects.load,
            name_rules=lambda: rules_now(task.project, task.state, workflow),
            name_commands=lambda: commands_of(task.project, workflow),
            tree_files=lambda: task.project.take_tree(new_data=False).files,
        )
        return {PIPELINE: PipelineProvider(view)}

    def as_judged(self, task: Task, workflow: Workflow, phase: Phase) -> Phase:
        """Return a recovery with the checks of the phase that it leads back to: what failed there has to pass here."""
        failed = failed_phase(task, workflow, phase)
        if failed is None:
            return phase
        return replace(phase, requires=replace(requires_of(phase), checks=requires_of(failed).checks))

    def conclude(self, measured: Measured, task: Task, workflow: Workflow, phase: Phase) -> Measured:
        """Return what was measured, with the checks of the phase, and what its pipeline has no command for."""
        checks = requires_of(phase).checks
        if phase.recovers:
            failed = failed_phase(task, workflow, phase)
            is_tested = failed is None or failed.tests == "none" or task.state.trees.green == task.tree.digest
            run = "" if is_tested else run_command(phase.name, task.project.task)
            measured = with_fix(measured, checks, run=run)
        elif checks:
            measured = with_checks(measured, checks)
        missing = missing_commands(workflow, {each.name for each in task.project.configuration.commands})
        return replace(measured, warnings=(*measured.warnings, missing)) if missing else measured

    def remember(
        self, found: Remembered, task: Task, workflow: Workflow, phase: Phase, *, begins_cycle: bool
    ) -> Remembered:
        return remember_pipeline(task.project, found, workflow, phase, task.store, begins_cycle=begins_cycle)


def failed_phase(task: Task, workflow: Workflow, phase: Phase) -> Phase | None:
    """Return the phase that a recovery leads back to, if it is the failed one; None where no record says so."""
    pipeline = find_pipeline(task.state)
    if pipeline is None or not phase.recovers:
        return None
    record = look_at(task.project.root, rules_of(workflow).artifacts[record_name(workflow, phase)]).document
    if not isinstance(record, RootCause) or record.rewind_to not in ("", pipeline.failed_phase):
        return None
    return workflow.phase(pipeline.failed_phase)


def look_again(task: Task, workflow: Workflow, phase: Phase) -> Measured:
    """Return what a verdict that comes after a run has to look at anew; checks are the run's own."""
    return gather(task, workflow, replace(phase, requires=_without_checks(phase)), wanted=LOOKED_AT)


def _without_checks(phase: Phase) -> object:
    return replace(requires_of(phase), checks=())


def rules_now(project: Project, state: State, began_with: Workflow) -> Mapping[str, str]:
    """Return the rules as they stand in files now, each under its name."""
    # A cycle with another workflow than the file's was begun by naming it in the call: there is nothing to compare.
    now = project.workflow()
    return name_rules(now if now.name == state.workflow else began_with)


def commands_of(project: Project, workflow: Workflow) -> dict[str, str]:
    """Return the commands of the workflow's checks, by the names of their rules."""
    checks = {name for phase in workflow.phases for name in requires_of(phase).checks}
    return {
        f"evidence.commands.{each.name}": each.rule for each in project.configuration.commands if each.name in checks
    }


def remember_pipeline(
    project: Project, found: Remembered, workflow: Workflow, phase: Phase, store: TaskStore, *, begins_cycle: bool
) -> Remembered:
    """Return what was remembered, with how the pipeline's files are now."""
    rules = rules_of(workflow)
    root = project.root
    files = PipelineFiles(
        artifacts={name: digest_of(root, artifact) for name, artifact in rules.artifacts.items()},
        commit=head_of(root),
        root_cause=_root_cause(project, rules) if phase.recovers else {},
        commands=commands_of(project, workflow),
    )
    if begins_cycle:
        document = {"workflow": workflow_to_json(workflow), "names": name_rules(workflow)}
        files = replace(
            files,
            constitution={path: digest_file(root / path) for path in rules.constitution},
            rules=store.keep("rules", document),
        )
    return replace(found, parts={**found.parts, PIPELINE: files})


def _root_cause(project: Project, rules: PipelineRules) -> dict[str, str]:
    """Return what the record says that lies there, whatever attempt it is of."""
    for artifact in rules.artifacts.values():
        if artifact.schema == ROOT_CAUSE:
            record = look_at(project.root, artifact).document
            if isinstance(record, RootCause):
                summary = f"{record.summary}: {record.root_cause}"
                return {"artifact": artifact.name, "summary": summary, "human_input": record.human_input}
    return {}
