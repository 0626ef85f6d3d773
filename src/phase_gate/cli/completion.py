"""`phase-gate completion`: the script that a shell reads once, and the values that it asks for at the tab key.

The scripts are made from the parser ahead of time (`python -m scripts.generate`), so that printing one costs nothing.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.cli._answer import Answer, Call
from phase_gate.errors import PhaseGateError, StateError, UsageError
from phase_gate.visible import show_rows

if TYPE_CHECKING:
    from phase_gate.gate.state import State
    from phase_gate.workflow.model import Workflow

FOLDER = Path(__file__).parent.parent / "completions"
#: Shells, and what a script is called where that shell looks for it.
SHELLS = {"bash": "phase-gate.bash", "zsh": "_phase-gate", "fish": "phase-gate.fish"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", choices=tuple(SHELLS), metavar="SHELL", help=f"one of: {', '.join(SHELLS)}")
    parser.add_argument(
        "--values", choices=KINDS, metavar="KIND", help=f"what the scripts ask for instead: {', '.join(KINDS)}"
    )


def run(call: Call) -> Answer:
    kind, shell = call.arguments.values, call.arguments.shell
    if kind is not None:
        values = live_values(kind, call)
        return Answer(text=show_rows(values), document={"kind": kind, "values": list(values)})
    if shell is None:
        raise UsageError("no shell is named", remedy=f"use one of: {', '.join(SHELLS)}")
    script = (FOLDER / SHELLS[shell]).read_text(encoding="utf-8")
    return Answer(text=script.rstrip(), document={"shell": shell, "file": SHELLS[shell], "script": script})


# --- what can stand in a place of the command line right now: tasks, phases, guards, facts. Only looks


#: Nothing that a shell would expand: the project's author must not be able to run a command by a file's name.
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=-]*")


def live_values(kind: str, call: Call) -> tuple[str, ...]:
    """Return the values of a kind, none that a shell could take for more than a word."""
    try:
        found = _tasks(call) if kind == "tasks" else _RULED[kind](*_rules(call))
    except PhaseGateError:
        return ()
    return tuple(dict.fromkeys(value for value in found if _PLAIN.fullmatch(value)))


def _tasks(call: Call) -> Iterable[str]:
    from phase_gate.storage.places import task_names

    project = call.project()
    try:
        return project.task_names()
    except StateError:
        return task_names(project.state_folder)  # at the tab key, what is known here will do


def _rules(call: Call) -> tuple[Workflow, State]:
    task = call.task()
    return task.rules, task.state


def _phases(workflow: Workflow, state: State) -> Iterable[str]:
    return (phase.name.lower() for phase in workflow.phases)


def _guards(workflow: Workflow, state: State) -> Iterable[str]:
    """Return the guards that the last verdict names; where it names none, all."""
    judged = () if state.evaluation is None else state.evaluation["gate_1"]["guards"]
    return [row["name"] for row in judged if row["met"] is not True] or workflow.guards


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
