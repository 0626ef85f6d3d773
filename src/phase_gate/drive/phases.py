"""Which phase the agent works in, and what shows that it worked."""

from __future__ import annotations

from phase_gate.decisions.advancing import advance
from phase_gate.drive.pipelines import progress_in
from phase_gate.drive.session import DriveSession
from phase_gate.gate.state import Fact
from phase_gate.task import Task
from phase_gate.values import Value
from phase_gate.workflow.model import Phase, Workflow


def enter_phase(session: DriveSession, task: Task) -> Task:
    """Enter the phase that follows, where the present one has exited: the agent works in a phase that has begun."""
    state = task.state
    if state.phase is None or state.is_done:
        workflow = task.project.workflow()
        if workflow.pipeline is None or workflow.first.tests != "none":
            return task  # its first run begins it
    elif state.is_stuck or not state.exited:
        return task
    advance(task, template=False, show=session.note)
    return session.task()


def phase_of_work(task: Task) -> tuple[Workflow, Phase]:
    """Return the rules and the phase that the agent works in: the present one, or the first of a cycle to begin."""
    phase = task.rules.phase(task.state.phase or "")
    if phase is not None:
        return task.rules, phase
    workflow = task.project.workflow()
    return workflow, workflow.first


class Mark(Value):
    """What an agent that works changes."""

    tree: str
    phase: str | None
    exited: bool
    cycle: int
    facts: tuple[Fact, ...]
    #: The documents of a pipeline.
    documents: str


def progress_of(task: Task) -> Mark:
    """Return how far the work has come; the same twice: nothing was done."""
    state = task.state
    return Mark(
        tree=task.tree.digest,
        phase=state.phase,
        exited=state.exited,
        cycle=state.cycle,
        facts=state.facts,
        documents=progress_in(task),
    )
