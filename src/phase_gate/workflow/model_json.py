"""A workflow as JSON, and back: the rules that a run was judged by are stored with it. And what of it decides.

Pure. So a signal that comes later is judged by the same rules, guards of conftest plugins included, and no command
has to read YAML for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import dumps

from phase_gate.codec import from_json, stand_as_text, to_json
from phase_gate.hashing import sha256
from phase_gate.values import replace
from phase_gate.workflow.conditions import Condition, stored_condition
from phase_gate.workflow.model import Phase, Workflow, requires_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Here, not where it is defined: the model does not import the language of conditions.
stand_as_text(Condition, lambda condition: condition.text, stored_condition)


def workflow_to_json(workflow: Workflow) -> dict[str, Any]:
    return to_json(workflow)


def workflow_from_json(document: Mapping[str, Any]) -> Workflow:
    """Return the workflow that `workflow_to_json` wrote. Raises TypeError or ValueError on anything else."""
    return from_json(Workflow, document)


# --- which parts decide: they may not change in the middle of a cycle, prose may. One document for the digest and for
# the settings that are frozen, so that everything the digest covers can be named.


def decisive_rules(workflow: Workflow) -> dict[str, Any]:
    """Return everything that decides, as a document. What is as usual is left out: a new kind of rule changes none."""
    named = {name for phase in workflow.phases for name in phase.gate_1.guards}
    # A required check decides by its command, which is compared for itself: that it has one now changes no rule.
    checked = {f"{name}_ok" for phase in workflow.phases for name in requires_of(phase).checks}
    document = to_json(
        replace(
            workflow,
            digest="",
            guards={},
            metrics={name: kind for name, kind in workflow.metrics.items() if name not in checked},
            phases=tuple(map(_without_prose, workflow.phases)),
        )
    )
    for phase in document["phases"]:
        del phase["gate_1"]["name"]
    # Only those in use: an additional guard of a newer version changes no rule.
    guards = {name: guard.condition.text for name, guard in workflow.guards.items() if name in named}
    return {**document, "guards": guards}


def digest_rules(workflow: Workflow) -> str:
    """Return a hash of what decides; prose may change in the middle of a cycle, rules may not."""
    canonical = dumps(decisive_rules(workflow), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(canonical.encode()).hexdigest()


def _without_prose(phase: Phase) -> Phase:
    return replace(phase, purpose="", gate_1=replace(phase.gate_1, name="", rationale=""))


def name_rules(workflow: Workflow) -> dict[str, str]:
    """Return the same one by one, each under a name that people find in the file."""
    document = decisive_rules(workflow)
    phases = {phase.pop("name"): phase for phase in document["phases"]}
    return {"phases": ", ".join(phases), **dict(_flatten({**document, "phases": phases}))}


def _flatten(document: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", _text(value)


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
