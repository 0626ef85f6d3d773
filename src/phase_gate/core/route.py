"""How far a task has come on its way through a workflow: each phase, and whether it is done, open or to be done again.

Pure: from the rules and the state alone. `report.route` draws it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from phase_gate.core.pipeline_order import main_line
from phase_gate.gate.state import State
from phase_gate.values import Value
from phase_gate.workflow.model import Workflow
from phase_gate.workflow.names import DONE, STUCK

#: Behind the task; where it is, going on or blocked; done once and to be done again; not reached; passed by, for the
#: cycle began later; beside the way, for a gate that fails.
Mark = Literal["done", "here", "blocked", "again", "ahead", "left-out", "aside"]

#: With more phases than this, the name of the present one no longer says how far it is.
FEW = 4


class Stop(Value):
    phase: str
    mark: Mark
    #: How often it was entered in this cycle, where that is known.
    entered: int = 0


class Turn(Value):
    """A step that did not lead on to the next phase."""

    source: str
    target: str
    #: failure, recovered, request or rewind.
    how: str


class Route(Value):
    stops: tuple[Stop, ...]
    turns: tuple[Turn, ...] = ()
    recoveries: int = 0

    @property
    def is_straight(self) -> bool:
        """Whether nothing happened on the way that its present phase would not tell."""
        return not self.turns and not any(stop.mark in ("again", "aside") for stop in self.stops)


def find_route(state: State, workflow: Workflow, *, blocked: bool) -> Route:
    """Return the way of the present cycle.

    :param blocked: whether the present phase can't go on without somebody doing something about it.
    """
    pipeline = state.pipeline
    line = main_line(workflow)
    here = state.phase or ""
    # In a recovery, and stuck, the task stands before the gate that failed.
    place = here if here in line or here == DONE or pipeline is None else pipeline.failed_phase
    index = line.index(place) if place in line else -1
    entered = {} if pipeline is None else pipeline.attempts
    stops = [
        Stop(phase=name, mark=_mark(number, index, name, state, blocked), entered=entered.get(name, 0))
        for number, name in enumerate(line)
    ]
    aside: list[Stop] = []
    for phase in workflow.phases:
        if phase.name not in line:
            mark: Mark = ("blocked" if blocked else "here") if phase.name == here else "aside"
            aside.append(Stop(phase=phase.name, mark=mark, entered=entered.get(phase.name, 0)))
    end: Mark = "done" if here == DONE else "ahead"
    ends = [Stop(phase=DONE, mark=end), *([Stop(phase=STUCK, mark="blocked")] if here == STUCK else [])]
    return Route(
        stops=(*stops, *ends, *aside),
        turns=() if pipeline is None else _turns([(step.phase, step.how) for step in pipeline.steps]),
        recoveries=0 if pipeline is None else pipeline.recoveries,
    )


def _mark(number: int, index: int, name: str, state: State, blocked: bool) -> Mark:
    if state.phase == DONE or number < index:
        return "done" if name in state.visited or state.phase is None else "left-out"
    if number == index and state.phase == name:
        return "done" if state.exited else "blocked" if blocked else "here"
    if number == index:
        return "blocked"
    return "again" if name in state.visited else "ahead"


def _turns(steps: list[tuple[str, str]]) -> tuple[Turn, ...]:
    return tuple(
        Turn(source=before, target=target, how=how)
        for (before, _), (target, how) in pairwise(steps)
        if how not in ("begin", "new-cycle", "next")
    )
