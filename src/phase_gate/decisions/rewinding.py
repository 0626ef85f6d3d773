"""Go back to an earlier phase, on purpose and with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.errors import PhaseOrderError, UsageError
from phase_gate.evidence.gathering import remember
from phase_gate.gate.order import shorten, stuck_error
from phase_gate.gate.state import Event, State
from phase_gate.gate.verdict import way_to, way_to_begin
from phase_gate.storage.again import again_if_moved
from phase_gate.task import Task
from phase_gate.tasks.pipeline import files_in, find_pipeline
from phase_gate.values import Value
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import DONE


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
