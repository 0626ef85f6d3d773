"""Declare a fact that the workflow asks a person for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.measured import wanted_names
from phase_gate.gate.order import shorten
from phase_gate.gate.state import Event, State
from phase_gate.gate.verdict import way_to
from phase_gate.storage.again import again_if_moved
from phase_gate.task import Task
from phase_gate.values import Value
from phase_gate.workflow.metrics import ALIASES, METRIC_TYPES, MetricType, MetricValue
from phase_gate.workflow.model import Workflow


class Declared(Value):
    #: The phase that it counts in.
    phase: str
    record: Mapping[str, Any]
    next_command: str


@again_if_moved
def declare_fact(task: Task, name: str, text: str, *, reason: str, by: str) -> Declared:
    """Record a fact of the present phase.

    :param text: its value, as it was typed.
    """
    name = ALIASES.get(name, name)
    task.require_begun()
    with task.transaction() as change:
        phase = change.state.phase
        assert phase is not None, "a task that exists is in a phase"
        if change.state.is_done:
            raise NotAllowedError("the cycle is done: facts belong to a phase", remedy=task.project.begin_command)
        task.store.refuse_while_running(change.opened.state)
        workflow = task.after(change).rules
        _refuse_unasked(workflow, change.state, name)
        value = _read_value(workflow.facts[name], name, text)
        record = {"name": name, "value": value, "reason": reason, "by": by}
        change.record(Event(kind="fact-declared", data=record))
        current = workflow.phase(phase)
        assert current is not None, "a fact is asked for by a phase of the workflow"
    return Declared(phase=phase, record=record, next_command=way_to(current, task.project.task))


def _refuse_unasked(workflow: Workflow, state: State, name: str) -> None:
    """Refuse a name that decides nothing here: the user believes that it does."""
    asking = {phase.name: wanted_names(workflow, phase) & workflow.facts.keys() for phase in workflow.phases}
    here = asking.get(state.phase or "", frozenset())
    if name in here:
        return
    known = f"declare one of: {', '.join(sorted(here))}" if here else f"go on: {state.phase} asks for no fact"
    if name in METRIC_TYPES or name in workflow.metrics:
        raise NotAllowedError(f"{name} is measured, not declared", remedy=known)
    if name not in workflow.facts:
        raise NotAllowedError(f"{shorten(name)} is not a fact of workflow {workflow.name}", remedy=known)
    others = [phase for phase, names in asking.items() if name in names]
    if not others:
        raise NotAllowedError(f"no phase of workflow {workflow.name} asks for {name}", remedy=known)
    current = workflow.phase(state.phase or "")
    remedy = f"declare it once {others[0]} has begun"
    if current is not None and state.exited and current.next in others:
        following = workflow.phase(current.next)
        assert following is not None, "it asks for the fact"
        remedy = f"{way_to(following, state.task)} begins {current.next}, then declare it"
    if here:
        remedy += f"; here, {known}"
    raise NotAllowedError(f"{state.phase} does not ask for {name}: {' and '.join(others)} does", remedy=remedy)


def _read_value(kind: MetricType, name: str, text: str) -> MetricValue:
    value = _convert(text, kind)
    if value is None:
        raise UsageError(f"{name}={shorten(text)}: not of type {kind}", remedy=f"give {_EXAMPLES[kind]}")
    return value


_EXAMPLES: dict[MetricType, str] = {
    "bool": "true or false",
    "int": "a whole number",
    "number": "a number",
    "text": "some text",
}


def _convert(text: str, kind: MetricType) -> MetricValue:
    if kind == "bool":
        return {"true": True, "false": False}.get(text)
    if kind == "int":
        return int(text) if re.fullmatch(r"[-+]?[0-9]{1,18}", text) else None
    if kind == "number":
        return float(text) if re.fullmatch(r"[-+]?[0-9]{1,18}(\.[0-9]{1,18})?", text) else None
    return text
