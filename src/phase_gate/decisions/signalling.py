"""Give the signal of Gate 2: evaluate the last complete run with it, or leave it for the next evaluation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from phase_gate.decisions.fresh_evidence import case_of, measure_now, record_verdict, remember_next
from phase_gate.errors import NotAllowedError, StaleSignalError
from phase_gate.gate.freshness import hint_at_outputs
from phase_gate.gate.judging import evaluate_again, evaluate_call, evaluate_without_run
from phase_gate.gate.order import stuck_error
from phase_gate.gate.state import DRIVE, Measurement, State
from phase_gate.gate.verdict import ABSENT, Evaluation, Signal, phase_command, show_next, start_command, strictest
from phase_gate.proof.task_proof import prove_before_exit
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.signal_file import read_signal_file, remove_signal_file, write_signal_file
from phase_gate.storage.store import now
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.visible import name_first
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import of_task


@again_if_moved
def give_signal(
    task: Task, signal: Signal, *, show: Callable[[str], None], show_progress: Callable[[str], None]
) -> tuple[Evaluation, Task]:
    """Evaluate the last iteration with this signal, record it, and return the verdict and the task.

    :param show: reports progress while a command of the project runs.
    :param show_progress: reports the progress of a proof.
    """
    task.require_begun()
    if signal.answer == "done":
        task.store.refuse_while_driven(task.state)
    measured_now = measure_now(task, show=show)
    remembered = remember_next(task, may_end=signal.answer == "done" and not _is_stale(task))
    proved = prove_before_exit(task, signal, at=now(), show=show_progress)
    project, store = task.project, task.store
    with task.transaction() as change:
        state = change.state
        assert state.phase is not None, "a task that exists is in a phase"
        store.refuse_while_running(change.opened.state)
        locked = task.after(change)
        workflow = locked.rules
        phase = workflow.phase(state.phase)
        if phase is not None and phase.tests == "none":
            store.close_lost(change)  # no run is needed here, so no later run would do it
            state = change.state
        waiting = read_signal_file(store.signal_file, spent=state.spent_signal)
        phase = _require_phase(state, workflow, signal, waiting)
        needs_no_run = phase.tests == "none" and _is_past(state)
        stale = "" if needs_no_run else _why_stale(state, phase, locked)
        if signal.calls_person and (stale or state.exited):
            # It opens no gate, so it needs no fresh run: an agent may always report that it is blocked.
            reading = _both(read_waiting(waiting, phase.name, project.task, state.iteration), signal)
            if not reading.calls_person:
                reading = replace(signal, file="" if reading.answer == "malformed" else reading.file)
            case = case_of(change, locked, phase, reading)
            evaluation = evaluate_call(case, why=stale)
        elif needs_no_run:
            reading = _both(read_waiting(waiting, phase.name, project.task, state.iteration + 1), signal)
            case = case_of(change, locked, phase, reading)
            evaluation = evaluate_without_run(case, measured_now, tree=locked.tree.digest)
        else:
            measured = _require_fresh(state, phase, stale, hint=hint_at_outputs(locked.changed_files))
            if proved is not None and proved.data["proof"]["tree"] == measured.tree:
                change.record(proved)
            # A veto in the file counts here, as it would at the end of a run.
            reading = _both(read_waiting(waiting, phase.name, project.task, measured.iteration), signal)
            # Documents are not part of the tree, so a phase without tests measures them again.
            case = case_of(change, locked, phase, reading)
            evaluation = evaluate_again(case, measured_now)
        record_verdict(change, locked, evaluation, case, remembered)
    if waiting is None or waiting.answer != "malformed":
        remove_signal_file(store.signal_file, waiting, spent=state.spent_signal)
    return evaluation, task.after(change)


def _require_phase(state: State, workflow: Workflow, signal: Signal, waiting: Signal | None) -> Phase:
    """Return the phase that the signal is for. Raises NotAllowedError if none may be given now."""
    if state.is_stuck:
        raise stuck_error(state)
    phase = workflow.phase(state.phase or "")
    if phase is None:
        remedy = start_command(workflow, state.task)
        raise NotAllowedError("the cycle is done: there is nothing to signal", remedy=remedy)
    if state.exited and signal.answer == "done":
        raise NotAllowedError(f"{phase.name} has exited already", remedy=_what_follows(state, workflow, phase))
    if waiting is not None and waiting.answer == "malformed" and signal.answer == "done":
        # It may be a misspelled veto, so it blocks every other signal.
        raise NotAllowedError(
            f"another signal waits, and it is malformed: {waiting.problem}",
            remedy=show_next(of_task("phase-gate withdraw", state.task), "takes it back, then signal again"),
        )
    return phase


def _is_stale(task: Task) -> bool:
    """Return whether a signal can't refer to the last run. Cheap, for use before anything is measured."""
    phase = task.rules.phase(task.state.phase or "")
    return phase is None or (phase.tests != "none" and bool(_why_stale(task.state, phase, task)))


def _is_past(state: State) -> bool:
    """Return whether the last evaluation was not of a run."""
    return state.measurement is None or state.measurement.iteration < state.iteration


def _both(waiting: Signal, given: Signal) -> Signal:
    # The file is used up in either case.
    return replace(strictest(waiting, given), file=waiting.file)


def leave_signal(task: Task, signal: Signal) -> None:
    """Leave the signal for the next evaluation."""
    store = task.store
    if signal.answer == "done":
        store.refuse_while_driven(task.state)
    store.refuse_while_running(task.state)
    store.make_folder()
    write_signal_file(store.signal_file, signal)


def leave_answer(task: Task, signal: Signal, file: Path) -> None:
    """Leave the answer of a driven agent for its drive, which runs the tests first."""
    drive = task.state.parts.get(DRIVE)
    if drive is None or not drive.holds_signal:
        raise NotAllowedError("no drive is working on this task", remedy="answer for your own task")
    if signal.answer == "done" and drive.settings.signal == "ask":
        raise NotAllowedError("a person gives the signal in this drive", remedy="stop here: the drive asks a person")
    write_signal_file(file, signal)


def read_waiting(waiting: Signal | None, phase: str, task: str, iteration: int) -> Signal:
    """Return how a waiting signal file applies to this evaluation."""
    return ABSENT if waiting is None else waiting.for_iteration(phase=phase, task=task, iteration=iteration)


def _why_stale(state: State, phase: Phase, task: Task) -> str:
    """Return why a signal can't refer to the last iteration; empty if it can."""
    measured, last = state.measurement, state.last_run
    lost = [run.id for run in state.open_runs if not run.nested]
    if measured is None:
        return f"{phase.name} has no complete run for a signal"
    if lost:
        return f"run {lost[0][:8]} began after it and never ended"
    if last is not None and last.id != measured.run:
        return f"a run came after iteration {measured.iteration} ({last.kind})"
    if task.tree.digest != measured.tree:
        names = name_first(task.changed_files)
        changed = f"files have changed since iteration {measured.iteration}: no run has tested them"
        return f"{changed} ({names})" if names else changed
    return ""


def _require_fresh(state: State, phase: Phase, stale: str, *, hint: str) -> Measurement:
    """Return the iteration that a signal refers to. Raises StaleSignalError if it is out of date."""
    if stale:
        then = "; ".join(filter(None, ("then signal again", hint)))
        raise StaleSignalError(stale, remedy=show_next(phase_command(phase, state.task), then))
    assert state.measurement is not None, "otherwise it is stale"
    return state.measurement


def _what_follows(state: State, workflow: Workflow, phase: Phase) -> str:
    verdict, following = state.evaluation, workflow.phase(phase.next)
    if verdict is None:
        return start_command(workflow, state.task) if following is None else phase_command(following, state.task)
    return verdict.next_step
