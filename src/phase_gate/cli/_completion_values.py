"""What can stand in a place of the command line right now: tasks, phases, guards, facts. Only looks.

A shell asks at the tab key, so that a project which can't be read has no values instead of an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from phase_gate.errors import PhaseGateError

if TYPE_CHECKING:
    from phase_gate.cli._answer import Call
    from phase_gate.gate.state import State
    from phase_gate.workflow.model import Workflow

#: Nothing that a shell would expand: whoever wrote the project must not be able to run a command by a file's name.
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=-]*")


def live_values(kind: str, call: Call) -> tuple[str, ...]:
    """Return the values of a kind, none that a shell could take for more than a word."""
    try:
        found = _tasks(call) if kind == "tasks" else _RULED[kind](*_rules(call))
    except PhaseGateError:
        return ()
    return tuple(dict.fromkeys(value for value in found if _PLAIN.fullmatch(value)))


def _tasks(call: Call) -> Iterable[str]:
    from phase_gate.storage.store import task_names

    return task_names(call.project().state_folder)


def _rules(call: Call) -> tuple[Workflow, State]:
    task = call.task()
    return task.rules, task.state


def _phases(workflow: Workflow, state: State) -> Iterable[str]:
    return (phase.name.lower() for phase in workflow.phases)


def _guards(workflow: Workflow, state: State) -> Iterable[str]:
    """Return the guards that the last verdict names; where it names none, all."""
    judged = () if state.evaluation is None else state.evaluation["gate_1"]["guards"]
    return [row["name"] for row in judged if not row["satisfied"]] or workflow.guards


def _facts(workflow: Workflow, state: State) -> Iterable[str]:
    return (f"{name}=true" if kind == "bool" else f"{name}=" for name, kind in workflow.facts.items())


def _declared(workflow: Workflow, state: State) -> Iterable[str]:
    return (fact.name for fact in state.facts)


def _names(workflow: Workflow, state: State) -> Iterable[str]:
    """Return what `explain` explains."""
    from phase_gate.errors import MESSAGES
    from phase_gate.workflow.metrics import METRICS

    metrics = (metric.name for metric in METRICS)
    return [*_phases(workflow, state), *workflow.guards, *workflow.facts, *metrics, *MESSAGES]


_RULED: Mapping[str, Callable[[Workflow, State], Iterable[str]]] = {
    "phases": _phases,
    "guards": _guards,
    "facts": _facts,
    "declared": _declared,
    "names": _names,
}

KINDS = ("tasks", *_RULED)
