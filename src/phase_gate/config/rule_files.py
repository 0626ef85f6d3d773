"""Find, load and check workflows and guards, and apply a project's own rules to them.

A project can't remove guards or Gate 2, and a condition that it replaces is marked as replaced.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path, PurePath

from phase_gate.config.documents import read_bytes
from phase_gate.config.reading import MAX_BYTES, Reader, closest_first, plain, shorten
from phase_gate.config.rule_checks import Vocabulary, name_types, type_of
from phase_gate.config.workflow_parser import parse_guards, parse_workflow
from phase_gate.errors import ConfigurationError, WorkflowError
from phase_gate.values import replace, without_defaults
from phase_gate.workflow.model import (
    Gate1,
    Guard,
    MetricType,
    PipelineRules,
    Workflow,
    requires_of,
)
from phase_gate.workflow.sections import Overlay, PhaseOverlay

_SHIPPED = Path(__file__).parents[1] / "workflows"
#: Guards for all workflows, and guards that only a pipeline can measure.
_GUARD_FILES = ("guards.yaml", "pipeline-guards.yaml")


def shipped_workflow_names() -> tuple[str, ...]:
    """Return the names of the workflows that come with the package, sorted."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.yaml") if path.name not in _GUARD_FILES))


def load_shipped_guards() -> dict[str, Guard]:
    """Return the guards that come with the package."""
    guards: dict[str, Guard] = {}
    for name in _GUARD_FILES:
        guards |= parse_guards((_SHIPPED / name).read_bytes(), name)
    return guards


def load_shipped_workflow(name: str) -> Workflow:
    """Return a workflow that comes with the package."""
    path = _SHIPPED / f"{name}.yaml"
    return parse_workflow(path.read_bytes(), name=path.name, guards=load_shipped_guards())


def find_workflow(name_or_path: str, *, root: Path) -> Path:
    """Return the path of a shipped workflow by its name, or of another one by its path from the root."""
    names = shipped_workflow_names()
    if name_or_path in names:
        return _SHIPPED / f"{name_or_path}.yaml"
    path = root / name_or_path
    if PurePath(name_or_path).name == name_or_path and not path.suffix and not os.path.lexists(path):
        remedy = f"use one of: {closest_first(name_or_path, names)}; or the path of a file"
        raise WorkflowError(f"there is no workflow {shorten(name_or_path)}", remedy)
    return path


def load_workflow(
    name_or_path: str,
    *,
    root: Path,
    extra_guards: Mapping[str, Guard] = {},
    extra_metrics: Mapping[str, MetricType] = {},
) -> Workflow:
    """Return a shipped workflow by its name, or one from a file by its path from the root.

    :param extra_guards: guards of plugins, which its phases may also name.
    :param extra_metrics: metrics of plugins, in addition to the built-in ones.
    """
    path = find_workflow(name_or_path, root=root)
    name = path.name if path.parent == _SHIPPED else name_or_path
    text = read_bytes(path, name=name, limit=MAX_BYTES, error=WorkflowError)
    shipped = load_shipped_guards()
    workflow = parse_workflow(text, name=name, guards={**extra_guards, **shipped}, extra_metrics=extra_metrics)
    vocabulary = Vocabulary(types=name_types(workflow), faults=Reader(WorkflowError))
    for guard in extra_guards.values():
        place = f"guard {guard.name!r} of a plugin"
        if guard.name in shipped:
            raise WorkflowError(f"{place}: a guard of that name is shipped", "give it another name")
        vocabulary.check_guard(guard, place)
    return workflow


# --- a project's changes to its workflow


def apply_overlay(workflow: Workflow, overlay: Overlay | None) -> Workflow:
    """Return the workflow with a project's rules applied. They can add guards but not remove them or Gate 2."""
    if overlay is None:
        return workflow
    faults = Reader(ConfigurationError)
    _check_names(workflow, overlay, faults)
    laid = replace(
        workflow,
        parameters={**workflow.parameters, **overlay.parameters},
        metrics={**workflow.metrics, **overlay.metrics},
    )
    vocabulary = Vocabulary(types=name_types(laid), constants=laid.parameters, guards=workflow.guards, faults=faults)
    vocabulary.check_new_guards(overlay.guards)
    guards = {**workflow.guards, **{guard.name: guard for guard in overlay.guards.values()}}
    vocabulary = replace(vocabulary, guards=guards)
    phases = {phase.name: phase for phase in workflow.phases}
    for key, change in overlay.phases.items():
        phase = workflow.phase(key)
        if phase is None:
            problem = f"workflow {workflow.name} has no phase {shorten(key)}"
            faults.stop(key, problem, f"use one of: {closest_first(key.upper(), phases)}")
        gate = _change_gate(phase.gate_1, change, vocabulary)
        phases[phase.name] = replace(phase, gate_1=gate, breaker=change.breaker or phase.breaker)
    pipeline = _change_pipeline(workflow, overlay, faults)
    return plain(replace(laid, guards=guards, phases=tuple(phases.values()), pipeline=pipeline))


def _change_pipeline(workflow: Workflow, overlay: Overlay, faults: Reader) -> PipelineRules | None:
    rules = workflow.pipeline
    known = {} if rules is None else rules.artifacts
    for name in overlay.artifacts:
        if name not in known:
            problem = f"workflow {workflow.name} has no artifact {shorten(name)}"
            faults.stop(name, problem, f"use one of: {closest_first(name, known)}" if known else "remove it")
    if overlay.constitution is not None and rules is None:
        where = next(iter(overlay.constitution), "constitution")
        faults.stop(where, f"workflow {workflow.name} is not a pipeline, and has no constitution", "remove it")
    if rules is None:
        return None
    moved = {name: replace(known[name], **without_defaults(each)) for name, each in overlay.artifacts.items()}
    constitution = rules.constitution if overlay.constitution is None else overlay.constitution
    return replace(rules, artifacts={**known, **moved}, constitution=constitution)


def _change_gate(gate: Gate1, change: PhaseOverlay, vocabulary: Vocabulary) -> Gate1:
    condition = gate.condition
    if change.condition is not None:
        vocabulary.check_condition(change.condition, change.condition)
        condition = change.condition if change.replace else vocabulary.conjoin(condition, change.condition)
    vocabulary.check_gate(condition, change.guards)
    guards = tuple(dict.fromkeys((*gate.guards, *change.guards)))
    return replace(gate, condition=condition, guards=guards, replaced=gate.replaced or change.replace)


def _check_names(workflow: Workflow, overlay: Overlay, faults: Reader) -> None:
    known = name_types(workflow)
    for name, kind in overlay.metrics.items():
        if name in known and workflow.metrics.get(name) != kind:
            faults.stop(name, f"{name} exists already", "give the metric a name of its own")
    for name, value in overlay.parameters.items():
        if name not in workflow.parameters:
            names = closest_first(name, workflow.parameters)
            problem = f"workflow {workflow.name} has no parameter {shorten(name)}"
            faults.stop(name, problem, f"use one of: {names}" if names else "remove it")
        old, new = type_of(workflow.parameters[name]), type_of(value)
        if old != new and (old, new) != ("number", "int"):
            problem = f"parameter {name} has to be of type {old}, not {new}"
            faults.stop(name, problem, f"write a value like {workflow.parameters[name]}")


def check_commands(workflow: Workflow, commands: Collection[str]) -> None:
    """Refuse a workflow that requires a check which no command of the project runs."""
    for phase in workflow.phases:
        for check in requires_of(phase).checks:
            if check not in commands:
                problem = f"nothing runs the check {check}, which {phase.name} requires"
                raise WorkflowError(problem, f"describe the command {check} under `evidence: commands:`")
