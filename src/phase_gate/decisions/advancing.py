"""Enter the next phase, or evaluate one that needs no tests."""

from __future__ import annotations

from collections.abc import Callable

from phase_gate.decisions.fresh_evidence import case_of, measure_now, record_verdict, remember_next
from phase_gate.decisions.signalling import read_waiting
from phase_gate.errors import NotAllowedError
from phase_gate.evidence.gathering import remember
from phase_gate.gate.judging import evaluate_without_run
from phase_gate.gate.order import Entry, entry_events, next_phase, not_exited, stuck_error
from phase_gate.gate.verdict import Evaluation
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.signal_file import read_signal_file, remove_signal_file
from phase_gate.task import Task
from phase_gate.tasks.work import pipeline_of
from phase_gate.values import Value, replace
from phase_gate.workflow.model import Phase
from phase_gate.workflow.names import DONE


class EnteredPhase(Value):
    """A phase that was entered."""

    task: Task
    phase: Phase
    #: The requirements of a pipeline phase, by name.
    needs: tuple[tuple[str, str], ...] = ()
    #: The files of a pipeline's constitution, if a cycle began.
    constitution: tuple[str, ...] = ()


class JudgedPhase(Value):
    evaluation: Evaluation
    is_stuck: bool


@again_if_moved
def advance(task: Task, *, show: Callable[[str], None]) -> EnteredPhase | JudgedPhase:
    """Enter the next phase, or evaluate the current one.

    :param show: reports progress while a command of the project runs.
    """
    project, store = task.project, task.store
    if task.state.phase in (None, DONE):
        begun = _begin_pipeline(task)
        if begun is not None:
            return begun
    task.require_begun()
    if task.state.is_pipeline:
        from phase_gate.tasks.artifacts import write_snapshot

        write_snapshot(task)
    measured = measure_now(task, show=show)
    # A phase that needs a run ends elsewhere: a refusal here must store nothing.
    remembered = remember_next(task, may_end=not task.takes_run)
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
            name, how = next_phase(state, workflow, phase)
            following = workflow.phase(name)
            assert following is not None, "a phase that is left for DONE ends the cycle"
            change.record(
                *entry_events(
                    state,
                    Entry(following, how),
                    workflow,
                    run=None,
                    allow_non_interactive=project.configuration.overrides.allow_non_interactive,
                    remembered=remember(locked, workflow, following, known=state.memory.exit if how == "next" else {}),
                )
            )
            return describe_entry(task.after(change), following)
        if phase.tests != "none":
            raise not_exited(state, phase)
        waiting = read_signal_file(store.signal_file, spent=state.spent_signal)
        reading = read_waiting(waiting, phase.name, project.task, state.iteration + 1)
        case = case_of(change, locked, phase, reading)
        evaluation = evaluate_without_run(case, measured, tree=locked.tree.digest)
        record_verdict(change, locked, evaluation, case, remembered)
    if reading.answer != "malformed":
        remove_signal_file(store.signal_file, waiting, spent=state.spent_signal)
    return JudgedPhase(evaluation=evaluation, is_stuck=change.state.is_stuck)


def _begin_pipeline(task: Task) -> EnteredPhase | None:
    """Begin a cycle of a pipeline whose first phase needs no run; None for other workflows."""
    workflow = task.project.workflow()
    if workflow.pipeline is None or workflow.first.tests != "none":
        return None
    from phase_gate.tasks.pipeline_steps import begin_cycle

    begun = begin_cycle(task, workflow)
    recorded = tuple(pipeline_of(begun.state).constitution)
    return replace(describe_entry(begun, workflow.first), constitution=recorded)


def describe_entry(task: Task, phase: Phase) -> EnteredPhase:
    """Describe the phase that the task is in."""
    entered = EnteredPhase(task=task, phase=phase)
    if not task.state.is_pipeline:
        return entered
    from phase_gate.tasks.pipeline_show import needs_in

    return replace(entered, needs=tuple(needs_in(task, phase)))
