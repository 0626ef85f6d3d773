"""Ask every provider whose names the rules speak of. One that raises is named, and takes nothing else with it."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_phase_gate.core.evidence import Measured
from pytest_phase_gate.core.workflow import Phase, Workflow
from pytest_phase_gate.evidence.commands import CommandProvider
from pytest_phase_gate.evidence.scene import Provider, Scene

#: In the order in which they are asked.
PROVIDERS: Mapping[str, Provider] = {"commands": CommandProvider()}


def wanted_names(workflow: Workflow, phase: Phase) -> frozenset[str]:
    """Return the names that decide about a phase: those of its condition, and of its guards."""
    guards = (workflow.guards[name].condition.names for name in phase.gate_1.guards if name in workflow.guards)
    return phase.gate_1.condition.names.union(*guards)


def gather_evidence(scene: Scene, providers: Mapping[str, Provider] = PROVIDERS) -> Measured:
    """Return what all of them measured, as one."""
    found = Measured()
    for name, provider in providers.items():
        try:
            if scene.wanted.isdisjoint(provider.measures(scene)):
                continue
            measured = provider.measure(scene)
        except Exception as error:
            problem = f"evidence of {name!r} is unknown: {type(error).__name__}: {error}"
            measured = Measured(warnings=(problem,))
        found = _join(found, measured)
    return found


def _join(one: Measured, other: Measured) -> Measured:
    return Measured(
        metrics={**one.metrics, **other.metrics},
        findings=(*one.findings, *other.findings),
        notes=(*one.notes, *other.notes),
        warnings=(*one.warnings, *other.warnings),
    )
