"""Lay a project's own rules over its workflow.

Guards and Gate 2 stay whatever the project says, and a condition that it replaces is marked as replaced.
"""

from __future__ import annotations

from phase_gate.errors import ConfigurationError
from phase_gate.rules.faults import Faults
from phase_gate.rules.fields import closest_first, shorten
from phase_gate.rules.vocabulary import Vocabulary, check_condition, conjoin, digest_rules, name_types, type_of
from phase_gate.values import replace
from phase_gate.workflow.model import Gate1, PipelineRules, Workflow, move_artifacts
from phase_gate.workflow.settings import Overlay, PhaseOverlay


def apply_overlay(workflow: Workflow, overlay: Overlay) -> Workflow:
    """Return the workflow with a project's rules laid over it. Guards are only ever added, and Gate 2 stays."""
    _check_metrics(workflow, overlay)
    _check_parameters(workflow, overlay)
    laid = replace(
        workflow,
        parameters={**workflow.parameters, **overlay.parameters},
        metrics={**workflow.metrics, **overlay.metrics},
        guards={**workflow.guards, **overlay.guards},
    )
    vocabulary = Vocabulary(
        types=name_types(laid), constants=laid.parameters, guards=workflow.guards, faults=Faults(ConfigurationError)
    )
    for name, guard in overlay.guards.items():
        vocabulary.check_new_guard(guard, overlay.place(f"guards.{name}"))
    vocabulary = replace(vocabulary, guards=laid.guards)
    phases = {phase.name: phase for phase in workflow.phases}
    for key, change in overlay.phases.items():
        phase = workflow.phase(key)
        if phase is None:
            problem = f"{overlay.place(f'phases.{key}')}: workflow {workflow.name} has no phase {shorten(key)}"
            raise ConfigurationError(problem, f"use one of: {closest_first(key.upper(), phases)}")
        phases[phase.name] = replace(
            phase,
            gate_1=_change_gate(phase.gate_1, change, key, vocabulary, overlay),
            breaker=change.breaker or phase.breaker,
        )
    laid = replace(laid, phases=tuple(phases.values()), pipeline=_change_pipeline(workflow, overlay))
    return replace(laid, digest=digest_rules(laid))


def _change_pipeline(workflow: Workflow, overlay: Overlay) -> PipelineRules | None:
    rules = workflow.pipeline
    for name in overlay.artifacts:
        if rules is None or name not in rules.artifacts:
            place, names = overlay.place(f"artifacts.{name}"), closest_first(name, rules.artifacts if rules else ())
            problem = f"{place}: workflow {workflow.name} has no artifact {shorten(name)}"
            raise ConfigurationError(problem, f"use one of: {names}" if names else "take it out")
    if overlay.constitution is not None and rules is None:
        problem = f"{overlay.place('constitution')}: workflow {workflow.name} is no pipeline, and has no constitution"
        raise ConfigurationError(problem, "take it out")
    if rules is None:
        return None
    rules = move_artifacts(rules, overlay.artifacts)
    return rules if overlay.constitution is None else replace(rules, constitution=overlay.constitution)


def _change_gate(gate: Gate1, change: PhaseOverlay, key: str, vocabulary: Vocabulary, overlay: Overlay) -> Gate1:
    place = overlay.place(f"phases.{key}.condition")
    if change.condition is not None and change.replace:
        vocabulary.check_gate(change.condition, place)
        gate = replace(gate, condition=change.condition, replaced=True)
    elif change.condition is not None:
        check_condition(change.condition, vocabulary.types, place=place, faults=vocabulary.faults)
        gate = replace(gate, condition=conjoin(gate.condition, change.condition, place=place, faults=vocabulary.faults))
    elif change.replace:
        problem = f"{overlay.place(f'phases.{key}.replace')}: there is no condition to replace the workflow's"
        raise ConfigurationError(problem, "add a condition, or take replace out")
    for name in change.guards:
        vocabulary.knows_guard(name, overlay.place(f"phases.{key}.guards"))
    return replace(gate, guards=tuple(dict.fromkeys((*gate.guards, *change.guards))))


def _check_metrics(workflow: Workflow, overlay: Overlay) -> None:
    known = name_types(workflow)
    for name, kind in overlay.metrics.items():
        if name in known and workflow.metrics.get(name) != kind:
            place = overlay.place(f"metrics.{name}")
            raise ConfigurationError(f"{place}: {name} exists already", "give the metric a name of its own")


def _check_parameters(workflow: Workflow, overlay: Overlay) -> None:
    for name, value in overlay.parameters.items():
        place = overlay.place(f"parameters.{name}")
        if name not in workflow.parameters:
            names = closest_first(name, workflow.parameters)
            problem = f"{place}: workflow {workflow.name} has no parameter {shorten(name)}"
            raise ConfigurationError(problem, f"use one of: {names}" if names else "take it out")
        old, new = type_of(workflow.parameters[name]), type_of(value)
        if old != new and (old, new) != ("number", "int"):
            problem = f"{place}: parameter {name} has to be of type {old}, not {new}"
            raise ConfigurationError(problem, f"write a value like {workflow.parameters[name]}")
