"""`phase-gate declare`, `withdraw`, `rewind`: say a fact, take something back, go back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from phase_gate.cli._answer import Call, Done
from phase_gate.errors import NotAllowedError, PhaseOrderError, StorageError, UsageError
from phase_gate.evidence.gathering import remember
from phase_gate.gate.measured import wanted_names
from phase_gate.gate.order import shorten, stuck_error
from phase_gate.gate.state import Event, State
from phase_gate.gate.verdict import way_to, way_to_begin
from phase_gate.storage.signal_file import read_signal_file, remove_signal_file
from phase_gate.stores.shared import again_if_moved
from phase_gate.task import Task
from phase_gate.tasks.pipeline import files_in, find_pipeline
from phase_gate.values import Value
from phase_gate.visible import show_rows
from phase_gate.workflow.metrics import ALIASES, METRIC_TYPES, MetricType, MetricValue
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import DONE, of_task

# --- `phase-gate declare`: a fact that the workflow asks a person for


def run_declare(call: Call) -> Done:
    project = call.project()
    name, separator, text = call.arguments.fact.partition("=")
    if not separator:
        raise UsageError(f"{shorten(call.arguments.fact)} has no value", remedy="write NAME=VALUE")
    if not call.arguments.reason.strip():
        raise UsageError("a fact needs a reason", remedy='add --reason "..."')
    declared = declare_fact(call.task(project), name, text, reason=call.arguments.reason, by=call.by())
    return Done(
        text=show_rows(
            (
                f"{declared.record['name']} = {text} counts until {declared.phase} ends",
                f"  next: {declared.next_command}",
            )
        ),
        document={"phase": declared.phase, **declared.record},
    )


# --- declare a fact that the workflow asks a person for


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


# --- `phase-gate withdraw`: take back a waiting signal, or a declared fact


def run_withdraw(call: Call) -> Done:
    task = call.task()
    name = call.arguments.fact
    if name is not None:
        withdraw_fact(task, name, by=call.by())
        return Done(text=f"{name} is taken back", document={"withdrawn": name})
    answer = withdraw_signal(task, by=call.by())
    following = of_task("phase-gate status", task.project.task)
    return Done(
        text=show_rows((f"signal {answer} is taken back", f"  next: {following}")),
        document={"withdrawn": "signal", "answer": answer},
    )


# --- take back a signal that waits, or a declared fact


@again_if_moved
def withdraw_fact(task: Task, name: str, *, by: str) -> None:
    """Record that a fact of the present phase counts no more."""
    task.require_begun()
    with task.transaction() as change:
        if all(fact.name != name for fact in change.state.facts):
            declared = ", ".join(fact.name for fact in change.state.facts) or "nothing"
            raise NotAllowedError(f"{name} is not declared in this phase", remedy=f"declared: {declared}")
        change.record(Event(kind="fact-withdrawn", data={"name": name, "by": by}))


@again_if_moved
def withdraw_signal(task: Task, *, by: str) -> str:
    """Record that the waiting signal is taken back, remove it, and return what it said."""
    store = task.store
    waiting = read_signal_file(store.signal_file, spent=task.state.spent_signal)
    if waiting is None:
        raise NotAllowedError("no signal is waiting", remedy="phase-gate status shows where the task stands")
    if store.signal_file.is_dir() and not store.signal_file.is_symlink():
        # Not ours to delete, with whatever is in it; and to say that it is taken back would be wrong.
        raise StorageError(waiting.problem, remedy=f"move {store.signal_file} out of the way")
    answer = waiting.signal.answer if waiting.signal is not None else "malformed"
    with task.transaction() as change:
        change.record(Event(kind="signal-withdrawn", data={"answer": answer, "by": by, "file": waiting.identity}))
    remove_signal_file(store.signal_file)
    return answer


# --- `phase-gate rewind`: go back to an earlier phase, on purpose and with a reason


def run_rewind(call: Call) -> Done:
    project = call.project()
    if not call.arguments.reason.strip():
        raise UsageError("going back needs a reason", remedy='add --reason "..."')
    rewound = rewind(call.task(project), call.arguments.phase, reason=call.arguments.reason, by=call.by())
    return Done(
        text=show_rows((f"back in {rewound.phase}", f"  next: {rewound.next_command}")),
        document=rewound.record,
    )


# --- go back to an earlier phase, on purpose and with a reason


class Rewound(Value):
    #: The phase that the task is in again.
    phase: str
    record: Mapping[str, Any]
    next_command: str


@again_if_moved
def rewind(task: Task, name: str, *, reason: str, by: str) -> Rewound:
    """Enter an earlier phase again.

    :param name: of the phase, as it was typed.
    """
    task.require_begun()
    with task.transaction() as change:
        state = change.state
        assert state.phase is not None, "a task that exists is in a phase"
        task.store.refuse_while_running(change.opened.state)
        workflow = task.after(change).rules
        names = [phase.name for phase in workflow.phases]
        wanted = workflow.phase(name)
        if wanted is None:
            raise UsageError(f"unknown phase {shorten(name)}", remedy=f"use one of: {', '.join(names)}")
        if state.phase == DONE:
            raise PhaseOrderError(
                "the cycle is done: there is no way back into it", remedy=way_to_begin(workflow, state.task)
            )
        if state.is_stuck:
            raise stuck_error(state)
        pipeline = find_pipeline(state)
        if pipeline is not None:
            names = _main_names(state, workflow, wanted)
        if names.index(wanted.name) > names.index(state.phase):
            raise PhaseOrderError(
                f"{wanted.name} lies ahead of {state.phase}: rewind only goes back", remedy="phase-gate status"
            )
        record = {"from": state.phase, "to": wanted.name, "reason": reason, "by": by}
        remembered = remember(task.after(change), workflow, wanted)
        entered: dict[str, Any] = {"phase": wanted.name, "how": "rewind", "first": wanted is workflow.first}
        if pipeline is not None:
            from phase_gate.tasks.routing import entry_data

            current = workflow.phase(state.phase)
            entered |= entry_data(pipeline, workflow, current, wanted, "rewind", files_in(remembered))
        change.record(
            Event(kind="rewound", data=record),
            Event(kind="phase-entered", data={**entered, "remembered": dict(remembered.phase)}),
        )
    return Rewound(phase=wanted.name, record=record, next_command=way_to(wanted, state.task))


def _main_names(state: State, workflow: Workflow, wanted: Phase) -> list[str]:
    """Return the phases on a pipeline's way. Raises PhaseOrderError where a rewind would lead round a recovery."""
    current = workflow.phase(state.phase or "")
    if wanted.recovers or current is None or current.recovers:
        raise PhaseOrderError(
            f"{wanted.name} can't be entered from {state.phase} by a rewind: a recovery has its own ways",
            remedy="phase-gate pipeline recover",
        )
    from phase_gate.tasks.routing import main_line

    return list(main_line(workflow))
