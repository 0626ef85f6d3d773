"""`phase-gate advance`: enter the next phase, or evaluate one that needs no tests."""

from __future__ import annotations

import argparse

from pytest_phase_gate.cli._answer import Answer, Call, refuse_while_running, require_task
from pytest_phase_gate.cli._evidence import measure_now, remember_next
from pytest_phase_gate.cli.signal import answer_with, read_waiting
from pytest_phase_gate.core.order import Entry, How, entry_events, what_is_missing, what_to_do
from pytest_phase_gate.core.verdicts import evaluate_without_run, judgement_events
from pytest_phase_gate.core.words import DONE, look_command, run_command
from pytest_phase_gate.core.workflow import Phase
from pytest_phase_gate.errors import NotAllowedError, PhaseOrderError
from pytest_phase_gate.project import rules_of
from pytest_phase_gate.storage.signal_file import read_signal_file, remove_signal_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(call: Call) -> Answer:
    project = call.project()
    store = call.store(project)
    require_task(project, store)
    measured = measure_now(project, store)
    remembered = remember_next(project, store)
    with store.transaction() as change:
        state = change.state
        assert state.phase is not None, "a task that exists is in a phase"
        refuse_while_running(store, change.opened)
        if state.phase == DONE:
            raise NotAllowedError("the cycle is done", remedy=f"{project.begin_command} starts the next one")
        workflow = rules_of(project, store, change.opened)
        phase = workflow.phase(state.phase)
        assert phase is not None, "a task is in a phase of its own rules"
        if state.exited:
            following = workflow.phase(phase.next)
            assert following is not None, "a phase that is left for DONE ends the cycle"
            change.record(
                *entry_events(
                    state,
                    Entry(following, How.NEXT),
                    workflow,
                    run=None,
                    allow_non_interactive=project.configuration.allow_non_interactive,
                    remembered=project.remember(
                        workflow, following, store, state, begins_cycle=False, known=state.exit_memory
                    ),
                )
            )
            return Answer(
                text=f"{following.name} begins: {following.purpose}\n  next: {_next_step(following, project.task)}",
                document={"phase": following.name, "entered": True},
            )
        if phase.tests != "none":
            raise PhaseOrderError(
                f"{phase.name} has not exited ({what_is_missing(state)})", remedy=what_to_do(state, phase)
            )
        waiting = read_signal_file(store.signal_file, spent=state.spent)
        reading = read_waiting(waiting, phase.name, project.task, state.iteration + 1)
        evaluation = evaluate_without_run(
            state,
            workflow,
            phase,
            reading,
            evidence=measured,
            tree=project.take_tree().digest,
            at=change.at,
            root=str(project.root),
        )
        change.record(*judgement_events(evaluation, phase, at=change.at, remember_next=lambda: remembered(phase)))
    if reading.answer != "malformed":
        remove_signal_file(store.signal_file)
    return answer_with(evaluation)


def _next_step(phase: Phase, task: str) -> str:
    return look_command(task) if phase.tests == "none" else run_command(phase.name, task)
