"""A workflow as a state diagram in Mermaid: any workflow, from its model alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phase_gate.gate.order import Transition, find_transitions
from phase_gate.workflow.model import Workflow
from phase_gate.workflow.names import DONE, STUCK

#: Words of the diagram language, in any case: a phase of that name gets another id, and keeps its name as a label.
_KEYWORDS = frozenset(
    {
        *("accdescr", "acctitle", "as", "choice", "class", "classdef", "click", "default", "direction", "end", "fork"),
        *("hide", "href", "join", "note", "scale", "state", "statediagram", "style", "title"),
    }
)
#: What ends a label, or means something else in one.
_NO_LABEL = re.compile(r"[^\w ,.()'/+=&-]+")


def render_mermaid(workflow: Workflow) -> str:
    """Return the text of the diagram, without a fence around it."""
    return "\n".join(("stateDiagram-v2", *(f"    {line}" for line in _body(workflow)))) + "\n"


def _body(workflow: Workflow) -> Iterator[str]:
    transitions = find_transitions(workflow)
    yield from (f'state "{phase.name}" as {_id(phase.name)}' for phase in workflow.phases if _is_keyword(phase.name))
    yield f"[*] --> {_id(workflow.first.name)}"
    for each in transitions:
        if each.why != "recovery":
            yield f"{_id(each.source)} --> {_id(each.target)}{_why(each, workflow)}"
    targets = {each.target for each in transitions}
    yield from (f"{each} --> [*]" for each in (DONE, STUCK) if each in targets)
    for phase in workflow.phases:
        if phase.recovers:
            yield f"note right of {_id(phase.name)} : leads to the phase that its record names"


def _why(transition: Transition, workflow: Workflow) -> str:
    phase = workflow.phase(transition.source)
    assert phase is not None, "a transition comes from a phase"
    if transition.why == "request":
        assert workflow.pipeline is not None, "only pipelines route requests"
        types = [name for name, target in workflow.pipeline.routes.items() if target == transition.target]
        return f" : {_label(' or '.join(types))} request"
    words = {
        "next": phase.gate_1.name,
        "end": "may end the cycle",
        "rewind": "rewind",
        "failure": "the gate fails",
        "recovery": "",
        "stuck": "no recovery is left",
    }
    label = _label(words[transition.why])
    return f" : {label}" if label else ""


def _id(name: str) -> str:
    return f"phase_{name}" if _is_keyword(name) else name


def _is_keyword(name: str) -> bool:
    return name.lower() in _KEYWORDS


def _label(text: str) -> str:
    return " ".join(_NO_LABEL.sub(" ", text).split())
