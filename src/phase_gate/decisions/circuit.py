"""The circuit breaker of a task: what was tried in the present phase; let it try once more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.codec import spell_out
from phase_gate.errors import NotAllowedError
from phase_gate.gate.breaker import Breaker, at_time, reset
from phase_gate.gate.overrides import Person, override_record, refuse_excuse
from phase_gate.gate.state import Event
from phase_gate.gate.stuck import StuckReport, Tried, describe_stuck
from phase_gate.gate.verdict import way_back
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.store import TaskStore, now
from phase_gate.task import Task
from phase_gate.values import Value, replace


class ResetCircuit(Value):
    phase: str
    breaker: Breaker
    #: The override, as it is recorded.
    record: Mapping[str, Any]
    next_command: str


@again_if_moved
def reset_circuit(task: Task, person: Person) -> ResetCircuit:
    """Let an open circuit try once more."""
    task.require_begun()
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        breaker = at_time(change.state.breaker, change.at)
        if not breaker.is_open:
            raise NotAllowedError(
                f"the circuit is {breaker.status}: there is nothing to reset", remedy="phase-gate breaker status"
            )
        person.require(change.opened.state, "a reset")
        refuse_excuse(person.reason)
        record = override_record("breaker-reset", change.state, reason=person.reason, by=person.by, at=change.at)
        moved = reset(breaker, at=change.at)
        change.record(
            Event(kind="overridden", data=record),
            Event(kind="breaker-reset", data={"breaker": spell_out(moved)}),
        )
    after = task.after(change)
    return ResetCircuit(phase=str(after.state.phase), breaker=moved, record=record, next_command=after.way_on)


def stuck_report(task: Task) -> StuckReport:
    """Return what is known about the work in the present phase."""
    task.require_begun()
    store, state = task.store, task.state
    assert state.phase is not None, "a task that exists is in a phase"
    tried: list[Tried] = []
    guards: dict[str, tuple[str, ...]] = {}
    for line in store.lines():
        kind, data = line.event.kind, line.event.data
        if kind == "phase-entered":
            tried, guards = [], {}
        elif kind == "run-ended" and data.get("iteration") is not None:
            tried.append(_tried(store, data, line.event.at))
        elif kind == "evaluated" and data["evaluation"]["run"] is not None:
            rows = data["evaluation"]["gate_1"]["guards"]
            unmet = tuple(row["name"] for row in rows if not row["met"] and not row["waived"])
            guards[data["evaluation"]["run"]] = unmet
    complete = [_with_guards(each, guards.get(each.run, ())) for each in tried]
    phase = task.rules.phase(state.phase)
    back = "" if phase is None else way_back(task.rules, phase, state.task)
    return describe_stuck(state.task, state.phase, at_time(state.breaker, now()), complete, back=back)


def _tried(store: TaskStore, data: Any, at: str) -> Tried:
    changed, failures = data.get("changed"), data.get("failures")
    return Tried(
        run=data["run"],
        at=at,
        iteration=data["iteration"],
        failing=data["metrics"]["suite_failing"],
        passing=data["metrics"]["suite_passing"],
        changed=None if changed is None else tuple(changed),
        failures={} if failures is None else store.objects.load(failures),
    )


def _with_guards(tried: Tried, guards: tuple[str, ...]) -> Tried:
    return replace(tried, guards=guards)
