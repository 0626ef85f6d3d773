"""Evidence for a verdict that needs no test run. Taken before the lock: a command of the project may take minutes."""

from __future__ import annotations

import sys

from pytest_phase_gate.core.evidence import Measured
from pytest_phase_gate.project import Project, rules_of
from pytest_phase_gate.storage.store import TaskStore


def measure_now(project: Project, store: TaskStore, *, unless_measured: bool = False) -> Measured:
    """Return what the rules of the present phase speak of; nothing where that takes a run of the tests.

    :param unless_measured: nothing, too, where a run has measured it and its verdict is what is asked about.
    """
    opened = store.look()
    state = opened.state
    if state.phase is None or state.exited or (unless_measured and state.measurement is not None):
        return Measured()
    workflow = rules_of(project, store, opened)
    phase = workflow.phase(state.phase)
    if phase is None or phase.tests != "none":
        return Measured()
    return project.gather_evidence(
        workflow, phase, store, state, show=lambda text: print(text, file=sys.stderr, flush=True)
    )
