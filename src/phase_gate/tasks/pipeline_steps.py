"""The steps of a pipeline, each one transaction: its cycles and recoveries, change requests, votes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from phase_gate.codec import to_json
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.evidence.gathering import remember
from phase_gate.gate.order import Entry, How, entry_events
from phase_gate.gate.overrides import Person, override_record
from phase_gate.gate.state import WORK, Event, State
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.store import Transaction
from phase_gate.task import Task
from phase_gate.tasks.artifacts import Artifacts
from phase_gate.tasks.handins import Ballot
from phase_gate.tasks.pipeline_show import Votes, missing_commands, votes_on
from phase_gate.tasks.routing import Plan, budget, decided, failure_events, made, main_line, rules_of
from phase_gate.tasks.work import Failure, Pipeline, Request, Word, pipeline_of
from phase_gate.values import replace
from phase_gate.workflow.model import CHANGE_TYPES, Workflow, requires_of
from phase_gate.workflow.names import look_command, of_task, status_command


@contextmanager
def _changing(task: Task) -> Iterator[tuple[Transaction, Task]]:
    """Lock the task while it has no active run; yield the transaction, and the task within it."""
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        yield change, task.after(change)


def _entry(task: Task, change: Transaction, workflow: Workflow, entry: Entry) -> list[Event]:
    """Return the events of entering a phase, with the current state of the project."""
    now = remember(task.after(change), workflow, entry.phase, begins_cycle=entry.begins_cycle)
    allowed = task.project.configuration.overrides.allow_non_interactive
    return entry_events(change.state, entry, workflow, run=None, allow_non_interactive=allowed, remembered=now)


# --- cycles


@again_if_moved
def begin_cycle(task: Task, workflow: Workflow) -> Task:
    """Enter the first phase of a new cycle, and record the constitution. Returns the task after it."""
    missing = [path for path in rules_of(workflow).constitution if not (task.project.root / path).is_file()]
    if missing:
        # No gate could ever open.
        raise NotAllowedError(
            f"the pipeline's constitution is missing: {', '.join(missing)}",
            remedy=f"write {missing[0]}: the rules that must not change during the cycle; "
            "or name others as constitution: [...] in the settings",
        )
    if unset := missing_commands(task, workflow):
        remedy = "add each to the settings, as in evidence: {commands: {build: {run: make}}}"
        raise NotAllowedError(unset, remedy=remedy)
    with _changing(task) as (change, _):
        if change.state.phase is not None and not change.state.is_done:
            raise NotAllowedError(f"{change.state.phase} has begun meanwhile", remedy=status_command(task.project.task))
        how: How = "begin" if change.state.phase is None else "new-cycle"
        change.record(*_entry(task, change, workflow, Entry(workflow.first, how)))
        return task.after(change)


@again_if_moved
def resume_with_guidance(task: Task, person: Person) -> Task:
    """Enter the failed phase of a stuck pipeline again, with a person's guidance. Returns the task after it."""
    with _changing(task) as (change, stuck):
        if not change.state.is_stuck:
            look = status_command(task.project.task)
            raise NotAllowedError("the pipeline is not stuck: it can continue without guidance", look)
        person.require(change.opened.state, "guidance")
        record = override_record("guidance", change.state, reason=person.reason, by=person.by, at=change.at)
        failed = stuck.rules.phase(pipeline_of(change.state).failed_phase)
        assert failed is not None, "a gate of the pipeline failed"
        (entered,) = _entry(task, change, stuck.rules, Entry(failed, "guided"))
        words = f"{person.by}: {' '.join(person.reason.split())}"
        data = {**entered.data, WORK: {**entered.data[WORK], "guidance": words}}
        change.record(Event(kind="overridden", data=record), replace(entered, data=data))
        return task.after(change)


@again_if_moved
def start_recovery(task: Task, *, reason: str, by: str) -> State:
    """Enter the recovery on purpose. Returns the state after it."""
    reason = " ".join(reason.split())
    if not reason:
        raise UsageError("a recovery needs a reason", remedy='add --reason "..."')
    with _changing(task) as (change, locked):
        pipeline, workflow = pipeline_of(change.state), locked.rules
        phase = workflow.phase(change.state.phase or "")
        if phase is None or phase.recovers or not phase.on_failure:
            raise NotAllowedError(
                f"{change.state.phase} leads to no recovery", remedy=status_command(task.project.task)
            )
        if pipeline.recoveries >= budget(workflow):
            raise NotAllowedError(
                f"all {budget(workflow)} recoveries are used up: the next gate that fails ends the pipeline",
                remedy=f"see that Gate 1 is open before you signal: {look_command(task.project.task)}",
            )
        plan = Plan(failure=Failure(phase=phase.name, error=f"{reason} (begun on purpose by {by})"))
        look = functools.partial(remember, locked, workflow)
        change.record(*failure_events(pipeline, workflow, phase, plan, at=change.at, look=look))
    return change.state


def require_pipeline(task: Task) -> Pipeline:
    """Return the pipeline of the current cycle. Refuses before anything is locked or created."""
    if task.state.phase is None:
        raise NotAllowedError(f"task {task.project.task} has not begun", remedy=task.project.begin_command)
    return pipeline_of(task.state)


# --- change requests: make one, approve it, reject it


@again_if_moved
def make_request(task: Task, *, kind: str | None, title: str, by: str, blocking: bool) -> Request:
    """Record a change request, and return it."""
    title = " ".join(title.split())
    with _changing(task) as (change, locked):
        _refuse_ended(change.state)
        if kind is None or not title:
            raise UsageError(
                "a change request needs a type and a title", remedy=f'--type {"|".join(CHANGE_TYPES)} --title "..."'
            )
        routes, pipeline = rules_of(locked.rules).routes, pipeline_of(change.state)
        if kind not in routes:
            known = ", ".join(routes) or "none"
            raise NotAllowedError(
                f"workflow {locked.rules.name} has no route for {kind} requests", remedy=f"types: {known}"
            )
        same = [each for each in pipeline.pending if (each.type, each.title) == (kind, title)]
        if same:
            remedy = _list_command(task.project.task)
            raise NotAllowedError(f"{same[0].id} requests the same, and is pending", remedy=remedy)
        name = f"CR-{len(pipeline.requests) + 1}"
        request = Request(id=name, type=kind, title=title, target=routes[kind], by=by, blocking=blocking)
        change.record(made(request, at=change.at))
    return request


@again_if_moved
def reject_request(task: Task, name: str | None, person: Person, *, by: str) -> Request:
    """Record that a request is rejected, and return it."""
    with _changing(task) as (change, _):
        request = _find(change.state, name)
        if not person.reason.strip():
            raise UsageError("a rejection needs a reason", remedy='add --reason "..."')
        if request.fingerprint or request.blocking:
            # Only a person may reject a phase's finding or a blocking request: an agent would do it to continue.
            what = "the rejection of what blocks" if request.blocking else f"the rejection of what {request.by} found"
            person.require(change.opened.state, what)
        change.record(decided(request, "rejected", by=by, reason=person.reason))
        return _request(change.state, request.id)


@again_if_moved
def approve_request(task: Task, name: str | None, *, by: str, reason: str) -> tuple[Request, bool]:
    """Record that a request is approved, and enter the phase that it leads to, unless that is still to come.

    Return the request, and whether its phase has begun.
    """
    with _changing(task) as (change, locked):
        request, workflow = _find(change.state, name), locked.rules
        current, target = workflow.phase(change.state.phase or ""), workflow.phase(request.target)
        assert current is not None, "the pipeline has not ended"
        assert target is not None, "the file was checked"
        if current.recovers:
            raise NotAllowedError(
                f"{current.name} has to end first: {request.id} would lead out of it",
                remedy=of_task("phase-gate pipeline recover", task.project.task),
            )
        change.record(decided(request, "approved", by=by, reason=reason or "decided on purpose"))
        line = main_line(workflow)
        is_entered = line.index(target.name) <= line.index(current.name)
        if is_entered:
            # Only the last event: other requests that lead back from here are not decided with this one.
            change.record(_entry(task, change, workflow, Entry(target, "request"))[-1])
        return _request(change.state, request.id), is_entered


def _refuse_ended(state: State) -> None:
    if state.is_done or state.is_stuck:
        raise NotAllowedError(
            f"the pipeline is {state.phase}: requests are not possible any more",
            remedy=status_command(state.task),
        )


def _find(state: State, name: str | None) -> Request:
    """Return the request without a decision that a command names."""
    _refuse_ended(state)
    listed = _list_command(state.task)
    if name is None:
        raise UsageError("the request is missing", remedy=f"name one of: {listed}")
    request = _request(state, name)
    if request.status != "proposed":
        raise NotAllowedError(f"{request.id} is {request.status} already", remedy=listed)
    return request


def _list_command(task: str) -> str:
    return of_task("phase-gate pipeline request list", task)


def _request(state: State, name: str) -> Request:
    for each in pipeline_of(state).requests:
        if each.id.upper() == name.upper():
            return each
    raise UsageError(f"there is no request {name!r}", remedy=_list_command(state.task))


# --- votes of reviewers in a consensus phase


def show_votes(task: Task) -> Votes:
    """Return the state of the votes. Raises NotAllowedError if there is nothing to vote on."""
    state, workflow = task.state, task.rules
    phase = workflow.phase(state.phase or "")
    consensus = None if phase is None else requires_of(phase).consensus
    if consensus is None or state.exited:
        asking = [each.name for each in workflow.phases if requires_of(each).consensus is not None]
        where = f"vote in one of: {', '.join(asking)}; " if asking else ""
        raise NotAllowedError(
            f"{state.phase} asks for no vote{' any more' if consensus is not None else ''}",
            remedy=f"{where}phase-gate status shows the next step",
        )
    look = Artifacts(task, workflow, pipeline_of(state))
    for name in consensus.on:
        path = look.rules.artifacts[name].path
        if fault := look.fault(name):
            problem = f"there is nothing to vote on: {name} ({path}) {fault}"
            raise NotAllowedError(problem, remedy=f"write it first: {path}")
    return votes_on(look, workflow, consensus)


@again_if_moved
def cast_votes(task: Task, *ballots: Ballot, reports: tuple[str, ...] = ()) -> Votes:
    """Record votes, all of them or none; return the state of the votes after that.

    :param reports: the files with the votes, relative to the root: they are not part of the artifacts.
    """
    with _changing(task) as (change, locked):
        votes, phase = show_votes(locked), locked.state.phase
        for ballot in ballots:
            if ballot.phase not in ("", phase):
                problem = f"the vote is for {ballot.phase}, but the task is in {phase}"
                raise NotAllowedError(problem, remedy="vote in the current phase")
            if ballot.version not in ("", votes.version):
                problem = f"the vote is for version {ballot.version}, but this is {votes.version}"
                raise NotAllowedError(problem, remedy="read the current version, then vote again")
            by, sure, on = ballot.by, ballot.confidence, votes.on
            word = Word(by=by, answer=ballot.vote, confidence=sure, about=on, reason=ballot.reason)
            change.record(Event(kind="reviewed", data={"word": to_json(word), "reports": list(reports)}))
        return show_votes(task.after(change))
