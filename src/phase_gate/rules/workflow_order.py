"""Refuse phases in an order that does not lead from the first to the end."""

from __future__ import annotations

from collections.abc import Sequence

from phase_gate.errors import WorkflowError
from phase_gate.rules.yaml_fields import Fields
from phase_gate.workflow.model import Phase
from phase_gate.workflow.names import DONE


def check_order(phases: Sequence[Phase], section: Fields) -> None:
    """Refuse a phase that nothing leads to, and a way without an end.

    :param section: the phases as they stand in the file.
    """
    places = {key.upper(): section.key_place(key) for key in section}
    following = {phase.name: phase.next for phase in phases}
    reached: dict[str, None] = dict.fromkeys(phase.on_failure for phase in phases if not phase.recovers)
    name = phases[0].name
    while name != DONE and name not in reached:
        reached[name] = None
        name = following[name]
    for phase in phases:
        if phase.name not in reached:
            problem = f"{places[phase.name]}: phase {phase.name} can't be reached from {phases[0].name}"
            key = "on_failure" if phase.recovers else "next"
            raise WorkflowError(problem, f"let the `{key}` of another phase name {phase.name}")
    if name != DONE and not any(phase.may_end_cycle for phase in phases):
        problem = f"{places[name]}: the phases go round for ever: no `next` is {DONE}"
        raise WorkflowError(problem, f"end with `next: {DONE}`, or give a phase `may_end_cycle: true`")
