"""The order of the phases of a task.

Pure. Given the state and the workflow, decide how a run in a phase begins, or refuse it and name what is missing.
"""

from __future__ import annotations

from phase_gate.errors import NotAllowedError, PhaseOrderError, UsageError
from phase_gate.gate.measured import NOTHING_REMEMBERED, Remembered
from phase_gate.gate.state import WORK, Event, State, load_part, pipeline_part
from phase_gate.gate.verdict import phase_command, show_next, start_command
from phase_gate.values import Literal, Value, as_dict
from phase_gate.visible import cut
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import DONE, of_task, rewind_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The phase name on the command line for the current phase, or the next one if it has exited.
AUTO = "AUTO"


#: How a run in a phase begins.
How = Literal[
    "stay",
    # The first phase of a task without state.
    "begin",
    "next",
    "new-cycle",
    # Back to the first phase in the middle of a cycle; takes effect when a complete run ends.
    "rewind",
    # In a pipeline: back because of a change request, and forward after a recovery.
    "request",
    "recovered",
    # A person has given guidance for a stuck task.
    "guided",
]


class Entry(Value, kw_only=False):
    phase: Phase
    how: How

    @property
    def begins_cycle(self) -> bool:
        return self.how in ("begin", "new-cycle")

    @property
    def enters(self) -> bool:
        return self.how not in ("stay", "rewind")


def named_phase(workflow: Workflow, requested: str) -> Phase | None:
    """Return the phase of that name, None for `auto`. Raises UsageError for an unknown one in any state."""
    if requested.upper() == AUTO:
        return None
    phase = workflow.phase(requested)
    if phase is None:
        raise UsageError(
            f"unknown phase {cut(requested)!r} in workflow {workflow.name}",
            remedy=f"use one of: {', '.join(each.name.lower() for each in workflow.phases)}, auto",
        )
    return phase


def decide_entry(state: State, workflow: Workflow, requested: str) -> Entry:
    """Return how a run in `requested` begins. Raises UsageError for an unknown phase, PhaseOrderError for a refusal."""
    phase = named_phase(workflow, requested)
    if state.phase is None:
        return _decide_first(workflow, phase or workflow.first, state.task)
    current = workflow.phase(state.phase)
    if current is not None and current is phase:
        return Entry(current, "stay")
    if state.is_stuck:
        raise stuck_error(state)
    if current is None and state.phase != DONE:
        raise _unknown_current(state, workflow)
    name, how = next_phase(state, workflow, current) if current is not None and state.exited else ("", "stay")
    if phase is not None:
        if phase.name == name:
            return Entry(phase, how)
        if phase is workflow.first:
            return _decide_return(state, workflow)
        raise _refusal(state, workflow, current, phase)
    if current is None:
        raise PhaseOrderError(
            f"the cycle is done: {AUTO.lower()} does not start a new one by itself",
            remedy=show_next(start_command(workflow, state.task), "starts the next cycle"),
        )
    following = workflow.phase(name)
    return Entry(current, "stay") if following is None else Entry(following, how)


def next_phase(state: State, workflow: Workflow, current: Phase) -> tuple[str, How]:
    """Return the phase that follows the current one after its exit, and how it is entered."""
    way = load_part(WORK).following(state, workflow, current) if state.work is not None else None
    return way or (current.next, "next")


def stuck_error(state: State) -> PhaseOrderError:
    recover = of_task("phase-gate pipeline recover", state.task)
    return PhaseOrderError(f"the pipeline is stuck: {state.stuck}", remedy=f"{recover} shows what is needed")


def _decide_first(workflow: Workflow, phase: Phase, task: str) -> Entry:
    if workflow.start == "any" or phase is workflow.first:
        return Entry(phase, "begin")
    raise PhaseOrderError(
        f"workflow {workflow.name} begins with {workflow.first.name}, not with {phase.name}",
        remedy=start_command(workflow, task),
    )


def may_end_here(state: State, workflow: Workflow) -> bool:
    """Return whether the cycle is over, or may be: it is done, or has exited a phase that may end it."""
    if state.phase == DONE:
        return True
    current = workflow.phase(state.phase or "")
    return current is not None and state.exited and current.may_end_cycle


def _decide_return(state: State, workflow: Workflow) -> Entry:
    first = workflow.first
    if may_end_here(state, workflow):
        return Entry(first, "new-cycle")
    if workflow.start == "any":
        return Entry(first, "rewind")
    raise PhaseOrderError(
        f"{state.phase} has not ended the cycle, and workflow {workflow.name} does not go back by option",
        remedy=rewind_command(first.name, state.task),
    )


def _refusal(state: State, workflow: Workflow, current: Phase | None, phase: Phase) -> PhaseOrderError:
    names = [each.name for each in workflow.phases]
    first = start_command(workflow, state.task)
    if current is None:
        return PhaseOrderError(f"the cycle is done: {phase.name} can't follow", remedy=first)
    if phase.recovers or current.recovers:
        return PhaseOrderError(
            f"{phase.name} does not follow {current.name}: only a failing gate and its recovery lead there",
            remedy=of_task("phase-gate pipeline recover", state.task),
        )
    if names.index(phase.name) < names.index(current.name):
        return PhaseOrderError(
            f"{phase.name} is before {current.name}, where the task is",
            remedy=rewind_command(phase.name, state.task),
        )
    if state.exited:
        name = next_phase(state, workflow, current)[0]
        following = workflow.phase(name)
        return PhaseOrderError(
            f"{phase.name} does not follow {current.name}: {name} does",
            remedy=show_next(first, "starts the next cycle")
            if following is None
            else phase_command(following, state.task),
        )
    return not_exited(state, current, then=f"{phase.name} can't begin: ")


def entry_events(
    state: State,
    entry: Entry,
    workflow: Workflow,
    *,
    run: str | None,
    allow_non_interactive: bool,
    remembered: Remembered = NOTHING_REMEMBERED,
) -> list[Event]:
    """Return the events of entering a phase: possibly a new cycle, and the entry."""
    events: list[Event] = []
    part = pipeline_part(workflow)
    if entry.begins_cycle:
        latest = state.latest_snapshot
        data: dict[str, Any] = {
            "cycle": state.cycle + 1,
            "workflow": workflow.name,
            "baseline": None if latest is None else as_dict(latest),
            "unvisited": [phase.name for phase in workflow.phases if state.visited and phase.name not in state.visited],
            "allow_non_interactive": allow_non_interactive,
            # For the first cycle in a folder: whether a cycle was open in a folder that was removed.
            "vanished": state.vanished and state.cycle == 0,
            "remembered": dict(remembered.cycle),
            "run": run,
        }
        if part is not None:
            data |= part.cycle_data(remembered)
        events.append(Event(kind="cycle-began", data=data))
    if entry.enters:
        data = {"phase": entry.phase.name, "how": entry.how, "remembered": dict(remembered.phase), "run": run}
        if part is not None:
            value = None if entry.begins_cycle else state.work
            before, more = part.enter(value, state, workflow, entry, remembered)
            data |= more
            events += before
        events.append(Event(kind="phase-entered", data=data))
    return events


def not_exited(state: State, current: Phase, *, then: str = "") -> PhaseOrderError:
    """Return the error that the current phase has not exited, with what is missing.

    :param then: the consequence.
    """
    verdict, problem = state.verdict_now, f"{then}{current.name} has not exited"
    if verdict is not None:
        return PhaseOrderError(f"{problem} ({verdict.reason})", remedy=verdict.next_step)
    is_of_phase = state.evaluation is not None and state.evaluation.phase == state.phase
    # Without an iteration, the verdict is from an earlier entry.
    what = "the record was repaired or restored" if state.is_doubted else "a run came"
    why = f"{what} after its last verdict" if is_of_phase and state.iteration else "no complete run in it yet"
    return PhaseOrderError(f"{problem} ({why})", remedy=phase_command(current, state.task))


def _unknown_current(state: State, workflow: Workflow) -> PhaseOrderError:
    return PhaseOrderError(
        f"the task is in {state.phase}, which workflow {workflow.name} does not have",
        remedy=f"continue with the workflow that the cycle began with: --phase-workflow={state.workflow}",
    )


# --- the baseline: the tests before a cycle began


def refuse_baseline(state: State, workflow: Workflow) -> None:
    """Raise NotAllowedError in the middle of a cycle: a new baseline would excuse failures that the cycle caused."""
    if state.phase is None or may_end_here(state, workflow):
        return
    raise NotAllowedError(
        f"cycle {state.cycle} has begun: a baseline could excuse what it broke",
        remedy="finish the cycle first; the next one takes its baseline from the last complete run by itself",
    )
