"""`phase-gate declare`: a fact that the workflow asks a person for."""

from __future__ import annotations

import argparse
import re

from pytest_phase_gate.cli._answer import Answer, Call, refuse_while_running, require_task
from pytest_phase_gate.core.metrics import ALIASES, METRIC_TYPES, MetricType, MetricValue
from pytest_phase_gate.core.order import shorten
from pytest_phase_gate.core.state import Event
from pytest_phase_gate.core.words import run_command, signal_command
from pytest_phase_gate.core.workflow import Workflow
from pytest_phase_gate.errors import NotAllowedError, UsageError
from pytest_phase_gate.project import rules_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("fact", metavar="NAME=VALUE", help="a name from the workflow's facts, and its value")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why it is so, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who says so; the user's name by default")


def run(call: Call) -> Answer:
    project = call.project()
    store = call.store(project)
    name, separator, text = call.arguments.fact.partition("=")
    name = ALIASES.get(name, name)
    if not separator:
        raise UsageError(f"{shorten(call.arguments.fact)} has no value", remedy="write NAME=VALUE")
    if not call.arguments.reason.strip():
        raise UsageError("a fact needs a reason", remedy='add --reason "..."')
    require_task(project, store)
    with store.transaction() as change:
        assert change.state.phase is not None, "a task that exists is in a phase"
        if change.state.is_done:
            raise NotAllowedError("the cycle is done: facts belong to a phase", remedy="pytest --phase=red")
        refuse_while_running(store, change.opened)
        value = _read_value(rules_of(project, store, change.opened), name, text)
        data = {"name": name, "value": value, "reason": call.arguments.reason, "by": call.by()}
        change.record(Event(kind="fact-declared", data=data))
        phase = change.state.phase
    steps = f"{run_command('auto', project.task)}, or {signal_command(project.task)}"
    return Answer(
        text=f"{name} = {text} holds until {phase} ends\n  next: {steps}",
        document={"phase": phase, **data},
    )


def _read_value(workflow: Workflow, name: str, text: str) -> MetricValue:
    kind = workflow.facts.get(name)
    if kind is None:
        known = ", ".join(sorted(workflow.facts)) or "none"
        if name in METRIC_TYPES or name in workflow.metrics:
            raise NotAllowedError(
                f"{name} is measured, nobody declares it", remedy=f"facts that may be declared: {known}"
            )
        raise NotAllowedError(
            f"{shorten(name)} is not a fact of workflow {workflow.name}", remedy=f"declare one of: {known}"
        )
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
