"""Evidence for a verdict that needs no test run. Taken before the lock: a command of the project may take minutes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from pytest_phase_gate.core.evidence import Measured
from pytest_phase_gate.core.workflow import Phase
from pytest_phase_gate.project import Project, rules_of
from pytest_phase_gate.storage.store import TaskStore


def measure_now(project: Project, store: TaskStore) -> Measured:
    """Return what the rules of the present phase speak of; nothing where that takes a run of the tests."""
    opened = store.look()
    state = opened.state
    if state.phase is None or state.exited:
        return Measured()
    workflow = rules_of(project, store, opened)
    phase = workflow.phase(state.phase)
    if phase is None or phase.tests != "none":
        return Measured()
    return project.gather_evidence(
        workflow, phase, store, state, show=lambda text: print(text, file=sys.stderr, flush=True)
    )


def remember_next(project: Project, store: TaskStore, *, may_end: bool = True) -> Callable[[Phase], Mapping[str, str]]:
    """Look at what the next phase is to be compared with; return what gives it, should the present one end."""
    opened = store.look()
    state = opened.state
    if not may_end or state.phase is None or state.exited:
        return lambda phase: {}
    workflow = rules_of(project, store, opened)
    present = workflow.phase(state.phase)
    if present is None:
        return lambda phase: {}
    seen = project.remember_next(workflow, present, store, state)
    # Somebody may have moved the task on meanwhile.
    return lambda phase: seen if phase.name == state.phase else {}
