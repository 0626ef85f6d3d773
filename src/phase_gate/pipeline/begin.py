"""What the commands of a pipeline share: its begin, its state, its rules."""

from __future__ import annotations

from phase_gate.errors import NotAllowedError
from phase_gate.evidence.gathering import remember
from phase_gate.gate.order import Entry, How, entry_events
from phase_gate.gate.overrides import Kind, override_record
from phase_gate.gate.state import Event, State
from phase_gate.pipeline.model import Pipeline, find_pipeline
from phase_gate.pipeline.order import rules_of
from phase_gate.storage.store import Transaction
from phase_gate.task import Task
from phase_gate.workflow.model import Workflow


def begin_cycle(task: Task, workflow: Workflow) -> State:
    """Enter the first phase of a new cycle, with the constitution on record. Returns the state after it."""
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        if change.state.phase is not None and not change.state.is_done:
            raise NotAllowedError(f"{change.state.phase} has begun meanwhile", remedy="phase-gate status")
        enter_first(task, workflow, change)
    return change.state


def enter_first(task: Task, workflow: Workflow, change: Transaction) -> None:
    """Record a new cycle. Refuses one whose constitution is not there: no gate of it could ever open."""
    project, rules = task.project, rules_of(workflow)
    missing = [path for path in rules.constitution if not (project.root / path).is_file()]
    if missing:
        raise NotAllowedError(
            f"the pipeline's constitution is missing: {', '.join(missing)}",
            remedy=f"write {missing[0]}: the rules that nobody may change on the way; "
            "or name others as constitution: [...] in phase-gate.yaml",
        )
    state = change.state
    how = How.BEGIN if state.phase is None else How.NEW_CYCLE
    change.record(
        *entry_events(
            state,
            Entry(workflow.first, how),
            workflow,
            run=None,
            allow_non_interactive=project.configuration.allow_non_interactive,
            remembered=remember(task.after(change), workflow, workflow.first, begins_cycle=True),
        )
    )


def pipeline_of(state: State) -> Pipeline:
    """Return the pipeline of the present cycle. Raises NotAllowedError where there is none."""
    pipeline = find_pipeline(state)
    if pipeline is None:
        raise NotAllowedError(
            f"this cycle runs through {state.workflow or 'no workflow yet'}, which is no pipeline",
            remedy="begin one: workflow: pipeline in phase-gate.yaml, then phase-gate advance",
        )
    return pipeline


def require_pipeline(task: Task) -> Pipeline:
    """Return the pipeline of the present cycle. Refuses before anything is locked or made."""
    if task.state.phase is None:
        raise NotAllowedError(f"task {task.project.task} has not begun", remedy=task.project.begin_command)
    return pipeline_of(task.state)


def override(kind: Kind, state: State, *, reason: str, by: str, at: str) -> Event:
    """Return what is recorded where a person decides against the evidence."""
    return Event(kind="overridden", data=override_record(kind, state, reason=reason, by=by, at=at))
