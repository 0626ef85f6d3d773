"""`phase-gate advance`: enter the next phase, or evaluate one that needs no tests."""

from __future__ import annotations

import argparse
from typing import Any

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._evidence import look_for, measure_now, remember_next
from phase_gate.cli.signal import answer_with, read_waiting
from phase_gate.errors import NotAllowedError, PhaseOrderError
from phase_gate.evidence.gathering import remember
from phase_gate.gate.order import Entry, How, entry_events, stuck_error, way_on, what_is_missing, what_to_do
from phase_gate.gate.rejudging import evaluate_without_run, judgement_events
from phase_gate.gate.state import State
from phase_gate.gate.ways import way_to
from phase_gate.pipeline.model import find_pipeline
from phase_gate.project import Project
from phase_gate.storage.signal_file import read_signal_file, remove_signal_file
from phase_gate.task import Task
from phase_gate.visible import show_rows
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import DONE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(call: Call) -> Answer:
    task = call.task()
    project, store = task.project, task.store
    if task.state.phase in (None, DONE):
        begun = begin_pipeline(task)
        if begun is not None:
            return begun
    task.require_begun()
    measured, remembered = measure_now(task), remember_next(task)
    with task.transaction() as change:
        store.refuse_while_running(change.opened.state)
        store.close_lost(change)
        state = change.state
        assert state.phase is not None, "a task that exists is in a phase"
        if state.is_stuck:
            raise stuck_error(state)
        if state.phase == DONE:
            raise NotAllowedError("the cycle is done", remedy=f"{project.begin_command} starts the next one")
        locked = task.after(change)
        workflow = locked.rules
        phase = workflow.phase(state.phase)
        assert phase is not None, "a task is in a phase of its own rules"
        if state.exited:
            name, how = way_on(state, workflow, phase)
            following = workflow.phase(name)
            assert following is not None, "a phase that is left for DONE ends the cycle"
            change.record(
                *entry_events(
                    state,
                    Entry(following, how),
                    workflow,
                    run=None,
                    allow_non_interactive=project.configuration.allow_non_interactive,
                    remembered=remember(
                        locked, workflow, following, known=state.memory.exit if how is How.NEXT else {}
                    ),
                )
            )
            return answer_entry(project, change.state, workflow, following)
        if phase.tests != "none":
            raise PhaseOrderError(
                f"{phase.name} has not exited ({what_is_missing(state)})", remedy=what_to_do(state, phase)
            )
        waiting = read_signal_file(store.signal_file, spent=state.spent_signal)
        reading = read_waiting(waiting, phase.name, project.task, state.iteration + 1)
        evaluation = evaluate_without_run(
            state,
            workflow,
            phase,
            reading,
            evidence=measured,
            tree=locked.tree.digest,
            at=change.at,
            root=str(project.root),
        )
        change.record(
            *judgement_events(
                evaluation,
                phase,
                at=change.at,
                remember_next=lambda: remembered(phase),
                state=state,
                workflow=workflow,
                look=look_for(locked),
            )
        )
    if reading.answer != "malformed":
        remove_signal_file(store.signal_file)
    return answer_with(evaluation, is_stuck=change.state.is_stuck)


def begin_pipeline(task: Task) -> Answer | None:
    """Begin a cycle of a workflow whose first phase needs no run; None where that is not so."""
    workflow = task.project.workflow()
    if workflow.pipeline is None or workflow.first.tests != "none":
        return None
    from phase_gate.pipeline.begin import begin_cycle, pipeline_of

    state = begin_cycle(task, workflow)
    recorded = ", ".join(pipeline_of(state).constitution)
    said = f"  constitution  {recorded}: recorded, it may not change until the pipeline is done"
    return answer_entry(task.project, state, workflow, workflow.first, more=(said,) if recorded else ())


def answer_entry(
    project: Project, state: State, workflow: Workflow, phase: Phase, *, more: tuple[str, ...] = ()
) -> Answer:
    """Return what is said where a phase begins: what it is for, what it asks for, what to type.

    :param more: rows below what it asks for.
    """
    step = way_to(phase, project.task)
    title = phase.name
    rows: list[str] = []
    document: dict[str, Any] = {"phase": phase.name, "entered": True}
    pipeline = find_pipeline(state)
    if pipeline is not None:
        from phase_gate.pipeline.show import needs_of
        from phase_gate.workflow.model import requires_of

        needs = needs_of(workflow, phase, pipeline)
        attempt = pipeline.attempts.get(phase.name, 1)
        document |= {"attempt": attempt, "needs": [list(row) for row in needs]}
        title += f" (attempt {attempt})" if attempt > 1 else ""
        rows = [f"  {name:13} {text}" for name, text in needs]
        if phase.tests == "none" and requires_of(phase).artifacts:
            step = f"write what is asked for, then {step}"
    return Answer(
        text=show_rows([f"{title} begins: {phase.purpose}".rstrip(": "), *rows, *more, f"  next: {step}"]),
        document=document,
    )
