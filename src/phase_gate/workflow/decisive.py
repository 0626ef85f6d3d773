"""Which parts of a workflow decide: they may not change in the middle of a cycle, prose may.

Pure. One list for the digest and for the settings that are frozen, so that everything the digest covers can be named.
"""

from __future__ import annotations

from typing import Any

from phase_gate.values import as_dict
from phase_gate.workflow.model import Limits, Phase, Workflow, requires_of


def decisive_rules(workflow: Workflow) -> dict[str, Any]:
    """Return everything that decides, as a document."""
    usual = as_dict(Limits())
    named = {name for phase in workflow.phases for name in phase.gate_1.guards}
    # A required check decides by its command, which is compared for itself: that it has one now changes no rule.
    checked = {f"{name}_ok" for phase in workflow.phases for name in requires_of(phase).checks}
    return {
        "workflow": workflow.name,
        "start": workflow.start,
        "rewind_by_option": workflow.rewind_by_option,
        "parameters": dict(workflow.parameters),
        "facts": dict(workflow.facts),
        "metrics": {name: kind for name, kind in workflow.metrics.items() if name not in checked},
        # Only those in use: a guard that a newer version ships besides changes no rule.
        "guards": {name: guard.condition.text for name, guard in workflow.guards.items() if name in named},
        "phases": [
            {
                "name": phase.name,
                "tests": phase.tests,
                "scope": phase.scope,
                "condition": phase.gate_1.condition.text,
                "replaced": phase.gate_1.replaced,
                "guards": phase.gate_1.guards,
                "next": phase.next,
                "may_end_cycle": phase.may_end_cycle,
                # Only what differs from the usual: a new kind of limit changes no rule that was there.
                "breaker": ", ".join(
                    f"{name} {value:g}" for name, value in as_dict(phase.breaker).items() if value != usual[name]
                ),
                **_pipeline_fields(phase),
            }
            for phase in workflow.phases
        ],
        **_pipeline_rules(workflow),
    }


def _pipeline_fields(phase: Phase) -> dict[str, Any]:
    """Return what only phases of a pipeline say; nothing for others, whose rules are what they were."""
    given: dict[str, Any] = {"on_failure": phase.on_failure, "raises": phase.raises}
    given |= {"routes": phase.routes, "recovers": phase.recovers}
    given = {name: value for name, value in given.items() if value}
    if phase.requires is not None:
        consensus = phase.requires.consensus
        given |= {f"requires.{name}": value for name, value in as_dict(phase.requires).items() if value}
        if consensus is not None:
            agreed = f"{', '.join(consensus.on)}: {consensus.threshold}, {consensus.voters} voters"
            given["requires.consensus"] = agreed
    return given


def _pipeline_rules(workflow: Workflow) -> dict[str, Any]:
    rules = workflow.pipeline
    if rules is None:
        return {}
    artifacts = {
        name: ", ".join(f"{key}: {value}" for key, value in as_dict(each).items() if value and key != "name")
        for name, each in rules.artifacts.items()
    }
    drift = "" if rules.drift is None else f"{rules.drift.lines} lines; {', '.join(rules.drift.files)}"
    return {
        "artifacts": artifacts,
        "constitution": ", ".join(rules.constitution),
        "routes": dict(rules.routes),
        "drift": drift,
    }


def name_rules(workflow: Workflow) -> dict[str, str]:
    """Return the same one by one, each under a name that people find in the file."""
    document = decisive_rules(workflow)
    phases = document.pop("phases")
    named = {"phases": _text([phase["name"] for phase in phases])}
    for phase in phases:
        named |= {f"phases.{phase['name']}.{name}": _text(value) for name, value in phase.items() if name != "name"}
    for name, value in document.items():
        if isinstance(value, dict):
            named |= {f"{name}.{key}": _text(each) for key, each in value.items()}
        else:
            named[name] = _text(value)
    return named


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    # A condition may stand in several lines, and mean the same in one.
    return " ".join(str(value).split())
