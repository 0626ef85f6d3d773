"""How far a task has come on its way through a workflow: each phase, and whether it is done, open or to be done again.

Pure: from the rules and the state alone. `report.route` draws it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal

from phase_gate.gate.state import State
from phase_gate.tasks.pipeline import find_pipeline
from phase_gate.tasks.routing import main_line
from phase_gate.values import Value, as_dict
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
    #: failure, recovered, guided, request or rewind.
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

    :param blocked: whether the present phase needs a person before it can go on.
    """
    pipeline = find_pipeline(state)
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


# --- draw how far a task has come: one row a phase, in plain text, at most 80 columns wide


#: In columns.
WIDTH = 80
#: Turns that are drawn, the last ones: a long history is for `history`.
MAX_TURNS = 5

_SIGNS: Mapping[Mark, str] = {
    "done": "x",
    "here": ">",
    "blocked": "!",
    "again": "~",
    "ahead": " ",
    "left-out": "-",
    "aside": " ",
}
_WORDS: Mapping[Mark, str] = {
    "done": "",
    "here": "here",
    "blocked": "here, blocked",
    "again": "to be done again",
    "ahead": "",
    "left-out": "left out: the cycle began later",
    "aside": "where a gate that fails leads to",
}
_TURNS: Mapping[str, str] = {
    "failure": "the gate failed",
    "recovered": "recovered",
    "guided": "a person said how to go on",
    "request": "a change request",
    "rewind": "rewound",
}


def render_route(route: Route, *, recoveries: int | None = None) -> list[str]:
    """Return the rows.

    :param recoveries: how many recoveries a cycle has; None if failures lead nowhere.
    """
    width = max(len(stop.phase) for stop in route.stops)
    rows = [_row(stop, width) for stop in route.stops]
    if route.turns:
        left_out = len(route.turns) - MAX_TURNS
        rows.append("turns" + (f", the last {MAX_TURNS} of {len(route.turns)}" if left_out > 0 else ""))
        rows += (
            f"  {turn.source} -> {turn.target}: {_TURNS.get(turn.how, turn.how)}" for turn in route.turns[-MAX_TURNS:]
        )
    if recoveries is not None:
        rows.append(f"recoveries  {route.recoveries} of {recoveries} used")
    return [_cut(row) for row in rows]


def _row(stop: Stop, width: int) -> str:
    return f"  [{_SIGNS[stop.mark]}] {stop.phase:{width}}  {', '.join(_notes(stop))}".rstrip()


def _notes(stop: Stop) -> Iterator[str]:
    if words := _WORDS[stop.mark]:
        yield words
    if stop.entered > 1:
        yield f"{_ordinal(stop.entered)} time" if stop.mark in ("here", "blocked") else f"{stop.entered} times"


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else endings.get(number % 10, 'th')}"


def _cut(row: str) -> str:
    return row if len(row) <= WIDTH else f"{row[: WIDTH - 3]}..."


def route_to_json(route: Route) -> dict[str, Any]:
    return {
        "phases": [as_dict(stop) for stop in route.stops],
        "turns": [as_dict(turn) for turn in route.turns],
        "recoveries": route.recoveries,
    }
