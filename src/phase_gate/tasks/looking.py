"""Evidence of a pipeline: artifacts, votes on them, the constitution, requests, drift, and why a gate failed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from phase_gate.errors import ConditionError, ConfigurationError, WorkflowError
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.evidence.gathering import PartEvidence, gather
from phase_gate.gate.measured import LOOKED_AT, Measured, Remembered
from phase_gate.gate.parts import PIPELINE
from phase_gate.storage.tree.fingerprint import compile_globs
from phase_gate.storage.tree.git import NoGitError, head_of, run_git
from phase_gate.tasks.artifacts import Drifted, SeenArtifact, SeenProject, digest_file, digest_of, look_at
from phase_gate.tasks.asking import missing_commands
from phase_gate.tasks.evidence import measure, record_name, with_checks, with_fix
from phase_gate.tasks.handins import RootCause
from phase_gate.tasks.pipeline import Pipeline, PipelineFiles, find_pipeline
from phase_gate.tasks.routing import rules_of
from phase_gate.values import Value, replace
from phase_gate.workflow.model import DRIFT, ROOT_CAUSE, Drift, Phase, PipelineRules, Workflow, requires_of
from phase_gate.workflow.model_json import name_rules, workflow_to_json
from phase_gate.workflow.names import run_command

if TYPE_CHECKING:
    from phase_gate.gate.state import State
    from phase_gate.project import Project
    from phase_gate.storage.store import TaskStore
    from phase_gate.task import Task
    from phase_gate.workflow.model import Phase, Workflow


#: Metrics that tell where a pipeline is; the others are given where a rule asks for them.
_ALWAYS = frozenset({"attempt", "recoveries", "recovery_target", "lines_changed"})


class PipelineView(Value):
    """What only this provider looks at."""

    workflow: Workflow
    phase: Phase
    pipeline: Pipeline
    #: Returns a stored object.
    load: Callable[[str], Any]
    #: Returns the rules that hold now, each under its name.
    name_rules: Callable[[], Mapping[str, str]]
    #: Returns the commands of checks, by the names of their rules.
    name_commands: Callable[[], Mapping[str, str]]
    #: Returns the files of the tree, with ids of their contents.
    tree_files: Callable[[], Mapping[str, str]]


class PipelineProvider(Provider):
    def __init__(self, view: PipelineView) -> None:
        self._view = view

    def measure(self, context: EvidenceContext) -> Measured:
        view = self._view
        found = measure(look_at_project(context, view), view.pipeline, view.workflow, view.phase)
        wanted = context.wanted | _ALWAYS
        return Measured(
            metrics={name: value for name, value in found.metrics.items() if name in wanted},
            findings=tuple(each for each in found.findings if not _is_aside(each.slug, view.phase)),
            warnings=found.warnings,
        )


def _is_aside(slug: str, phase: Phase) -> bool:
    """Tell whether no rule of the phase speaks of a finding: a pending request is none of its business."""
    return slug == "no-pending-request" and slug not in phase.gate_1.guards


def look_at_project(context: EvidenceContext, view: PipelineView) -> SeenProject:
    """Return what is seen of the project, as far as the phase asks for it."""
    rules = rules_of(view.workflow)
    requires = requires_of(view.phase)
    wanted = {*requires.artifacts, *requires.approved, *(name for name in view.phase.raises if name != DRIFT)}
    if requires.consensus is not None:
        wanted |= set(requires.consensus.on)
    drift = None
    if DRIFT in view.phase.raises and rules.drift is not None:
        drift = look_for_drift(context, rules.drift, view.pipeline.base, left_out(context, rules))
    changed, problem = _changed_rules(view)
    return SeenProject(
        artifacts={
            name: look_at(context.root, artifact) if name in wanted else SeenArtifact()
            for name, artifact in rules.artifacts.items()
        },
        constitution={path: digest_file(context.root / path) for path in rules.constitution},
        tree=tree_of(view.tree_files(), rules),
        changed_rules=changed,
        rules_problem=problem,
        drift=drift,
    )


def left_out(context: EvidenceContext, rules: PipelineRules) -> Callable[[str], bool]:
    """Return what tells documents and artifacts from the code."""
    matches = compile_globs((*context.configuration.docs, *(each.path for each in rules.artifacts.values())))
    return lambda path: matches(path) or ".phase-gate" in path.split("/")


def tree_of(files: Mapping[str, str], rules: PipelineRules) -> str:
    """Return a digest of the tree without artifacts: a snapshot is one of them, and can't contain itself."""
    is_artifact = compile_globs([each.path for each in rules.artifacts.values()])
    text = "\0".join(part for pair in sorted(files.items()) for part in pair if not is_artifact(pair[0]))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _changed_rules(view: PipelineView) -> tuple[tuple[str, ...], str]:
    """Return the names of the rules that have changed, and why the present ones can't be read."""
    then: Mapping[str, str] = view.load(view.pipeline.rules)["names"]
    try:
        now, commands = view.name_rules(), view.name_commands()
    except (ConfigurationError, WorkflowError, ConditionError) as error:
        # The pipeline goes by the rules that it began with: everything else can still be looked at.
        return (), f"can't be read: {error.problem}; {error.remedy}"
    changed = {name for name in {*then, *now} if then.get(name) != now.get(name)}
    # One that was missing may be added; once a phase was entered or judged with it, it stays.
    changed |= {name for name, rule in view.pipeline.commands.items() if commands.get(name) != rule}
    return tuple(sorted(changed)), ""


# --- what git shows since the plan was approved: configuration files that changed, and how many lines did


def look_for_drift(
    context: EvidenceContext, rules: Drift, base: str, is_left_out: Callable[[str], bool]
) -> Drifted | None:
    """Return what changed since that commit, documents and artifacts left out; None if git can't tell."""
    if not base:
        return None
    root = str(context.root)
    try:
        changed = _count(root, base)
        others = run_git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
    except NoGitError:
        return None
    for path in os.fsdecode(others).split("\0"):
        if path:
            changed[path] = _count_lines(context, path)
    kept = {path: lines for path, lines in changed.items() if not is_left_out(path)}
    return Drifted(files=_configuration(context, rules, kept), lines=sum(kept.values()))


def _count(root: str, base: str) -> dict[str, int]:
    """Return how many lines of which tracked files are not those of a commit."""
    options = ("--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
    changed = {}
    for row in os.fsdecode(run_git(root, "diff", *options, "--relative", base, "--", ".")).split("\0"):
        added, _, rest = row.partition("\t")
        removed, _, path = rest.partition("\t")
        if path:
            # A binary file has dashes there: it changed, by no readable line.
            changed[path] = sum(int(number) for number in (added, removed) if number.isdigit())
    return changed


def _configuration(context: EvidenceContext, rules: Drift, changed: Mapping[str, int]) -> dict[str, str]:
    matches = compile_globs(rules.files)
    return {path: digest_file(context.root / path) for path in changed if matches(path)}


def _count_lines(context: EvidenceContext, path: str) -> int:
    try:
        with (context.root / path).open("rb") as file:
            # A binary file has no lines, as git sees it.
            if b"\0" in file.read(8192):
                return 0
            file.seek(0)
            return sum(1 for _ in file)
    except OSError:
        return 0


# --- What a pipeline remembers when a phase is entered, and all the evidence that one of its phases asks for


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
                return {
                    "artifact": artifact.name,
                    "phase": record.failed_phase,
                    "summary": summary,
                    "human_input": record.required_human_input,
                }
    return {}
