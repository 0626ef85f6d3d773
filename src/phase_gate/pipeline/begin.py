"""Begin a cycle of a pipeline, a recovery of it, or all anew; and what its other commands share."""

from __future__ import annotations

from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.evidence.gathering import remember
from phase_gate.gate.order import Entry, How, entry_events
from phase_gate.gate.overrides import Kind, Person, override_record, refuse_excuse
from phase_gate.gate.parts import PIPELINE
from phase_gate.gate.state import Event, State
from phase_gate.pipeline.model import Failure, Pipeline, find_pipeline
from phase_gate.pipeline.order import budget, rules_of
from phase_gate.pipeline.verdict import Plan, failure_events
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.store import Transaction
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.workflow.model import Workflow


@again_if_moved
def begin_cycle(task: Task, workflow: Workflow) -> Task:
    """Enter the first phase of a new cycle, with the constitution on record. Returns the task after it."""
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        if change.state.phase is not None and not change.state.is_done:
            raise NotAllowedError(f"{change.state.phase} has begun meanwhile", remedy="phase-gate status")
        enter_first(task, workflow, change)
        return task.after(change)


@again_if_moved
def restart_cycle(task: Task, person: Person) -> State:
    """Begin a new cycle where the pipeline is stuck: a person answers for it. Returns the state after it."""
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        if not change.state.is_stuck:
            raise NotAllowedError("the pipeline is not stuck: there is nothing to begin anew", "phase-gate status")
        person.require(change.opened.state, "beginning anew")
        refuse_excuse(person.reason)
        workflow = task.project.workflow()
        if workflow.pipeline is None:
            raise NotAllowedError(f"workflow {workflow.name} is no pipeline", remedy="name one in phase-gate.yaml")
        said = override("restart", change.state, person, at=change.at)
        enter_first(task, workflow, change)
        # After the cycle began, which forgets what was decided in the one before.
        change.record(said)
    return change.state


@again_if_moved
def resume_with_guidance(task: Task, person: Person) -> Task:
    """Enter the failed phase anew where the pipeline is stuck, as a person says. Returns the task after it."""
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        if not change.state.is_stuck:
            raise NotAllowedError("the pipeline is not stuck: it goes on without guidance", "phase-gate status")
        person.require(change.opened.state, "guidance")
        refuse_excuse(person.reason)
        stuck, workflow = task.after(change), task.after(change).rules
        failed = workflow.phase(pipeline_of(change.state).failed_phase)
        assert failed is not None, "a gate of the pipeline failed"
        said = override("guidance", change.state, person, at=change.at)
        (entered,) = entry_events(
            change.state,
            Entry(failed, How.GUIDED),
            workflow,
            run=None,
            allow_non_interactive=task.project.configuration.allow_non_interactive,
            remembered=remember(stuck, workflow, failed),
        )
        words = f"{person.by}: {' '.join(person.reason.split())}"
        data = {**entered.data, PIPELINE: {**entered.data[PIPELINE], "guidance": words}}
        change.record(said, replace(entered, data=data))
        return task.after(change)


@again_if_moved
def start_recovery(task: Task, *, reason: str, by: str) -> State:
    """Enter the recovery on purpose. Returns the state after it."""
    reason = " ".join(reason.split())
    if not reason:
        raise UsageError("a recovery needs a reason", remedy='add --reason "..."')
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        pipeline, workflow = pipeline_of(change.state), task.after(change).rules
        phase = workflow.phase(change.state.phase or "")
        if phase is None or phase.recovers or not phase.on_failure:
            raise NotAllowedError(f"{change.state.phase} leads to no recovery", remedy="phase-gate status")
        if pipeline.recoveries >= budget(workflow):
            raise NotAllowedError(
                f"all {budget(workflow)} recoveries are used up: the next gate that fails ends the pipeline",
                remedy="see that Gate 1 is open before you signal: phase-gate advance",
            )
        entered = workflow.phase(phase.on_failure)
        assert entered is not None, "the file was checked"
        now = remember(task.after(change), workflow, entered)
        plan = Plan(failure=Failure(phase=phase.name, reason=f"{reason} (begun on purpose by {by})"))
        change.record(*failure_events(pipeline, workflow, phase, plan, now, at=change.at))
    return change.state


def enter_first(task: Task, workflow: Workflow, change: Transaction) -> None:
    """Record a new cycle. Refuses one whose constitution is not there: no gate of it could ever open."""
    project, rules = task.project, rules_of(workflow)
    missing = [path for path in rules.constitution if not (project.root / path).is_file()]
    if missing:
        raise NotAllowedError(
            f"the pipeline's constitution is missing: {', '.join(missing)}",
            remedy=f"write {missing[0]}: the rules that must not change on the way; "
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


def override(kind: Kind, state: State, person: Person, *, at: str) -> Event:
    """Return what is recorded where a person decides against the evidence."""
    return Event(kind="overridden", data=override_record(kind, state, reason=person.reason, by=person.by, at=at))
