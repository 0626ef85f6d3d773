"""A workflow as JSON, and back: the rules that a run was judged by are stored with it.

Pure. So a signal that comes later is judged by the same rules, guards of conftest plugins included, and no command
has to read YAML for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.codec import from_json, spell_out
from phase_gate.workflow.conditions import stored_condition
from phase_gate.workflow.model import Gate1, Guard, Limits, Phase, PipelineRules, Requires, Workflow


def workflow_to_json(workflow: Workflow) -> dict[str, Any]:
    return {
        "name": workflow.name,
        "start": workflow.start,
        "rewind_by_option": workflow.rewind_by_option,
        "parameters": dict(workflow.parameters),
        "facts": dict(workflow.facts),
        "metrics": dict(workflow.metrics),
        "digest": workflow.digest,
        "guards": {
            guard.name: {"condition": guard.condition.text, "remedy": guard.remedy, "detail": guard.detail}
            for guard in workflow.guards.values()
        },
        "phases": [
            {
                "name": phase.name,
                "purpose": phase.purpose,
                "tests": phase.tests,
                "scope": phase.scope,
                "next": phase.next,
                "may_end_cycle": phase.may_end_cycle,
                "breaker": spell_out(phase.breaker),
                **_pipeline_fields(phase),
                "gate_1": {
                    "name": phase.gate_1.name,
                    "condition": phase.gate_1.condition.text,
                    "guards": list(phase.gate_1.guards),
                    "rationale": phase.gate_1.rationale,
                    "replaced": phase.gate_1.replaced,
                },
            }
            for phase in workflow.phases
        ],
        **_pipeline_rules(workflow),
    }


def _pipeline_rules(workflow: Workflow) -> dict[str, Any]:
    # Only where there are some: what other workflows look like, and what reading them costs, stays as it was.
    if workflow.pipeline is None:
        return {}
    return {"pipeline": spell_out(workflow.pipeline)}


def _pipeline_fields(phase: Phase) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if phase.requires is not None:
        given["requires"] = spell_out(phase.requires)
    if phase.on_failure:
        given["on_failure"] = phase.on_failure
    if phase.routes:
        given["routes"] = True
    if phase.recovers:
        given["recovers"] = True
    if phase.raises:
        given["raises"] = list(phase.raises)
    return given


def workflow_from_json(document: Mapping[str, Any]) -> Workflow:
    """Return the workflow that `workflow_to_json` wrote."""
    fields = dict(document)
    fields["guards"] = {
        name: Guard(name=name, condition=stored_condition(row["condition"]), remedy=row["remedy"], detail=row["detail"])
        for name, row in document["guards"].items()
    }
    fields["phases"] = tuple(_phase(row) for row in document["phases"])
    if "pipeline" in fields:
        fields["pipeline"] = from_json(PipelineRules, fields["pipeline"])
    return Workflow(**fields)


def _phase(row: Mapping[str, Any]) -> Phase:
    gate = row["gate_1"]
    gate_1 = Gate1(
        name=gate["name"],
        condition=stored_condition(gate["condition"]),
        guards=tuple(gate["guards"]),
        rationale=gate["rationale"],
        replaced=gate["replaced"],
    )
    fields = {**row, "gate_1": gate_1, "breaker": from_json(Limits, row.get("breaker", {}))}
    if "requires" in fields:
        fields["requires"] = from_json(Requires, fields["requires"])
    if "raises" in fields:
        fields["raises"] = tuple(fields["raises"])
    return Phase(**fields)
