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
from phase_gate.gate.ways import way_to
from phase_gate.pipeline.model import find_pipeline
from phase_gate.storage.signal_file import read_signal_file, remove_signal_file
from phase_gate.task import Task
from phase_gate.visible import show_rows
from phase_gate.workflow.model import Phase
from phase_gate.workflow.names import DONE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--template",
        action="store_true",
        help="in a pipeline: write a file to fill in for each that the phase asks for and that is missing",
    )


def run(call: Call) -> Answer:
    task = call.task()
    project, store = task.project, task.store
    if task.state.phase in (None, DONE):
        begun = begin_pipeline(task, template=call.arguments.template)
        if begun is not None:
            return begun
    if call.arguments.template and find_pipeline(task.state) is None:
        raise NotAllowedError(
            "only a pipeline has files to fill in", remedy="write workflow: pipeline in phase-gate.yaml, then try again"
        )
    task.require_begun()
    if call.arguments.template and not task.state.exited:
        return answer_template(task)
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
            return answer_entry(task.after(change), following, template=call.arguments.template)
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


def begin_pipeline(task: Task, *, template: bool) -> Answer | None:
    """Begin a cycle of a workflow whose first phase needs no run; None where that is not so."""
    workflow = task.project.workflow()
    if workflow.pipeline is None or workflow.first.tests != "none":
        return None
    from phase_gate.pipeline.begin import begin_cycle, pipeline_of

    begun = begin_cycle(task, workflow)
    recorded = ", ".join(pipeline_of(begun.state).constitution)
    said = f"  constitution  {recorded}: recorded, it may not change until the pipeline is done"
    return answer_entry(begun, workflow.first, more=(said,) if recorded else (), template=template)


def answer_template(task: Task) -> Answer:
    """Write what the present phase asks for and is not written yet, as files to fill in."""
    phase = task.rules.phase(task.state.phase or "")
    if phase is None:
        raise stuck_error(task.state)
    return answer_entry(task, phase, template=True, verb="asks for these")


def answer_entry(
    task: Task, phase: Phase, *, more: tuple[str, ...] = (), template: bool = False, verb: str = "begins"
) -> Answer:
    """Return what is said where a phase begins: what it is for, what it asks for, what to type.

    :param more: rows below what it asks for.
    :param template: also write the files that are missing.
    """
    project = task.project
    step = way_to(phase, project.task)
    title = phase.name
    rows: list[str] = []
    document: dict[str, Any] = {"phase": phase.name, "entered": verb == "begins"}
    pipeline = find_pipeline(task.state)
    if pipeline is not None:
        from phase_gate.pipeline.asking import needs_in, write_skeletons
        from phase_gate.workflow.model import requires_of

        needs = needs_in(task, phase)
        attempt = pipeline.attempts.get(phase.name, 1)
        document |= {"attempt": attempt, "needs": [list(row) for row in needs]}
        title += f" (attempt {attempt})" if attempt > 1 else ""
        written: list[str] = []
        if template:
            written, kept = write_skeletons(task, phase)
            document |= {"written": written, "kept": kept}
            needs = [*needs, *(("written", path) for path in written), *(("kept", path) for path in kept)]
        rows = [f"  {name:13} {text}" for name, text in needs]
        if written:
            step = f"fill in what was written, then {step}"
        elif phase.tests == "none" and requires_of(phase).artifacts:
            step = f"write what is asked for ({step} --template begins each file), then {step}"
    return Answer(
        text=show_rows([f"{title} {verb}: {phase.purpose}".rstrip(": "), *rows, *more, f"  next: {step}"]),
        document=document,
    )
