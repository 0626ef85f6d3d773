"""`phase-gate rewind`: go back to an earlier phase, on purpose and with a reason."""

from __future__ import annotations

import argparse

from pytest_phase_gate.cli._answer import Answer, Call, refuse_while_running, require_task
from pytest_phase_gate.core.order import shorten
from pytest_phase_gate.core.state import Event
from pytest_phase_gate.core.words import DONE
from pytest_phase_gate.errors import PhaseOrderError, UsageError
from pytest_phase_gate.project import rules_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("phase", metavar="PHASE", help="the earlier phase to go back to")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who says so; the user's name by default")


def run(call: Call) -> Answer:
    project = call.project()
    store = call.store(project)
    if not call.arguments.reason.strip():
        raise UsageError("going back needs a reason", remedy='add --reason "..."')
    require_task(project, store)
    with store.transaction() as change:
        state = change.state
        assert state.phase is not None, "a task that exists is in a phase"
        refuse_while_running(store, change.opened)
        workflow = rules_of(project, store, change.opened)
        names = [phase.name for phase in workflow.phases]
        wanted = workflow.phase(call.arguments.phase)
        if wanted is None:
            raise UsageError(f"unknown phase {shorten(call.arguments.phase)}", remedy=f"use one of: {', '.join(names)}")
        if state.phase == DONE:
            raise PhaseOrderError("the cycle is done: there is no way back into it", remedy="pytest --phase=red")
        if names.index(wanted.name) > names.index(state.phase):
            raise PhaseOrderError(
                f"{wanted.name} lies ahead of {state.phase}: rewind only goes back", remedy="phase-gate status"
            )
        data = {"from": state.phase, "to": wanted.name, "reason": call.arguments.reason, "by": call.by()}
        remembered = project.remember(workflow, wanted, store, state, begins_cycle=False)
        entered = {"phase": wanted.name, "how": "rewind", "first": wanted is workflow.first}
        change.record(
            Event(kind="rewound", data=data),
            Event(kind="phase-entered", data={**entered, "remembered": dict(remembered.phase)}),
        )
    return Answer(
        text=f"back in {wanted.name}\n  next: pytest --phase={wanted.name.lower()}",
        document=data,
    )
