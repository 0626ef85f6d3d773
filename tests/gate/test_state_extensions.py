"""The table of parts: `gate` asks it, and a task without a part does not load it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from phase_gate.gate.events import apply
from phase_gate.gate.state import NEW_STATE, PARTS, Event, load_part, state_from_json, state_to_json
from phase_gate.gate.state_extensions import Part

BEGAN = {"workflow": "any", "work": {"constitution": {}, "rules": "r"}}

ORDINARY = """
import sys
from phase_gate.gate import events, judging, order, freshness
from phase_gate.gate.state import NEW_STATE, Event, state_from_json, state_to_json

state = events.apply(NEW_STATE, Event(kind="cycle-began", data={"workflow": "tdd"}))
state = events.apply(state, Event(kind="phase-entered", data={"phase": "RED", "how": "begin"}))
state = state_from_json(state_to_json(state))
freshness.assess(state, tree="t", at="now", begin="", next_step=lambda: ("", True))
print(*(name for name in sys.modules if name.startswith("phase_gate.tasks")))
"""


@pytest.mark.parametrize("name", PARTS)
def test_every_part_is_there(name: str) -> None:
    assert isinstance(load_part(name), Part)


@pytest.mark.processes
def test_a_task_without_a_part_does_not_load_it() -> None:
    done = subprocess.run([sys.executable, "-c", ORDINARY], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []


def test_a_part_begins_with_the_event_that_names_it_and_ends_with_its_cycle() -> None:
    began = apply(NEW_STATE, Event(kind="cycle-began", data=BEGAN))
    assert set(began.parts) == {"work"}
    assert state_from_json(state_to_json(began)) == began
    assert apply(began, Event(kind="cycle-began", data={"workflow": "tdd"})).parts == {}


def test_an_event_of_a_part_that_is_not_there_begins_nothing() -> None:
    entered = Event(kind="phase-entered", data={"phase": "A", "how": "next", "work": {"anew": []}})
    assert apply(NEW_STATE, entered).parts == {}
    assert apply(NEW_STATE, Event(kind="reviewed", data={})).parts == {}
