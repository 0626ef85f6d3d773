"""Convert a workflow to JSON and back, and return the rules in it that affect verdicts.

Pure. Each run is stored with its rules. A later signal is judged by the same rules, including guards of conftest
plugins, without reading YAML.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import dumps, loads
from pathlib import Path

from phase_gate.codec import from_json, stand_as_text, to_json
from phase_gate.hashing import sha256
from phase_gate.values import replace
from phase_gate.workflow.conditions import Condition, stored_condition
from phase_gate.workflow.model import Phase, Workflow, requires_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Registered here, because the model does not import the condition language.
stand_as_text(Condition, lambda condition: condition.text, stored_condition)


#: Shipped workflows, compiled to JSON by `scripts.generate`. Every run loads one, without any parser.
COMPILED_FOLDER = Path(__file__).parents[1] / "workflows" / "compiled"


def load_compiled(name: str) -> Workflow | None:
    """Return a shipped workflow without any settings applied; None if there is none of that name."""
    if "/" in name or "\\" in name:
        return None  # a path in the project
    try:
        document = (COMPILED_FOLDER / f"{name}.json").read_bytes()
    except (OSError, ValueError):
        return None
    return workflow_from_json(loads(document))


def workflow_to_json(workflow: Workflow) -> dict[str, Any]:
    return to_json(workflow)


def workflow_from_json(document: Mapping[str, Any]) -> Workflow:
    """Return a workflow from the output of `workflow_to_json`. Raises TypeError or ValueError on other documents."""
    return from_json(Workflow, document)


# --- rules that affect verdicts: unlike prose, they must not change during a cycle. The digest and the frozen settings
# use the same document, so that a message can name every rule that the digest covers.


def decisive_rules(workflow: Workflow) -> dict[str, Any]:
    """Return all rules that affect verdicts. Default values are left out, so new kinds of rules don't change it."""
    named = {name for phase in workflow.phases for name in phase.gate_1.guards}
    # The metric of a required check is left out: its command is compared separately, and adding one changes no rule.
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
    # Only guards in use: a new guard in a newer version changes no rule.
    guards = {name: guard.condition.text for name, guard in workflow.guards.items() if name in named}
    return {**document, "guards": guards}


def digest_rules(workflow: Workflow) -> str:
    """Return a hash of the rules that affect verdicts."""
    canonical = dumps(decisive_rules(workflow), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(canonical.encode()).hexdigest()


def _without_prose(phase: Phase) -> Phase:
    return replace(phase, purpose="", gate_1=replace(phase.gate_1, name="", rationale=""))


def name_rules(workflow: Workflow) -> dict[str, str]:
    """Return these rules one by one, each with its dotted name in the workflow file."""
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
