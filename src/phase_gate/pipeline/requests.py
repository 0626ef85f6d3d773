"""Change requests of a pipeline: make one, approve it, reject it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.evidence.gathering import remember
from phase_gate.gate.order import How, shorten
from phase_gate.gate.overrides import Person
from phase_gate.gate.state import Event
from phase_gate.pipeline.begin import pipeline_of
from phase_gate.pipeline.model import Request, files_in
from phase_gate.pipeline.order import entry_data, main_line, rules_of
from phase_gate.pipeline.verdict import decided, enter_command, made
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.store import Transaction
from phase_gate.task import Task
from phase_gate.values import Value
from phase_gate.workflow.model import CHANGE_TYPES, Phase, Workflow


class MadeRequest(Value):
    request: Request
    #: The phases whose exit leads to where the request leads.
    routing: tuple[str, ...]


class ApprovedRequest(Value):
    request: Request
    #: Whether its phase has begun; else it is still to come.
    is_entered: bool
    #: What to type then.
    next_command: str


@again_if_moved
def make_request(task: Task, *, kind: str | None, title: str, by: str, blocking: bool) -> MadeRequest:
    """Record a change request."""
    title = " ".join(title.split())
    with _changing(task) as (change, workflow):
        if kind is None or not title:
            raise UsageError(
                "a change request needs a type and a title", remedy=f'--type {"|".join(CHANGE_TYPES)} --title "..."'
            )
        rules, pipeline = rules_of(workflow), pipeline_of(change.state)
        if kind not in rules.routes:
            known = ", ".join(rules.routes) or "none"
            raise NotAllowedError(
                f"workflow {workflow.name} does not say where {kind} requests lead", remedy=f"types: {known}"
            )
        same = [each for each in pipeline.pending if (each.type, each.title) == (kind, title)]
        if same:
            remedy = "phase-gate pipeline request list"
            raise NotAllowedError(f"{same[0].id} asks for the same, and waits", remedy=remedy)
        request = Request(
            id=f"CR-{len(pipeline.requests) + 1}",
            type=kind,
            title=title,
            target=rules.routes[kind],
            by=by,
            blocking=blocking,
        )
        change.record(made(request, at=change.at))
    return MadeRequest(request=request, routing=tuple(phase.name for phase in workflow.phases if phase.routes))


@again_if_moved
def reject_request(task: Task, name: str | None, person: Person, *, by: str) -> Request:
    """Record that a request is rejected, and return it."""
    with _changing(task) as (change, _):
        request = _find(change, name)
        if not person.reason.strip():
            raise UsageError("a rejection needs a reason", remedy='add --reason "..."')
        if request.fingerprint or request.blocking:
            # Only a person rejects what a phase has found, or what blocks: an agent would do it to go on.
            what = "the rejection of what blocks" if request.blocking else f"the rejection of what {request.by} found"
            person.require(change.opened.state, what)
        change.record(decided(request, "rejected", by=by, reason=person.reason))
    return _after(change, request)


@again_if_moved
def approve_request(task: Task, name: str | None, *, by: str, reason: str) -> ApprovedRequest:
    """Record that a request is approved, and enter the phase that it leads to, unless that is still to come."""
    with _changing(task) as (change, workflow):
        request = _find(change, name)
        current, target = workflow.phase(change.state.phase or ""), workflow.phase(request.target)
        assert current is not None, "the pipeline has not ended"
        assert target is not None, "the file was checked"
        if current.recovers:
            raise NotAllowedError(
                f"{current.name} has to end first: {request.id} would lead out of it",
                remedy="phase-gate pipeline recover",
            )
        change.record(decided(request, "approved", by=by, reason=reason or "decided on purpose"))
        line = main_line(workflow)
        is_entered = line.index(target.name) <= line.index(current.name)
        if is_entered:
            _enter(task, change, workflow, target)
    step = enter_command(workflow, target.name, change.state.task) if is_entered else "phase-gate status"
    return ApprovedRequest(request=_after(change, request), is_entered=is_entered, next_command=step)


@contextmanager
def _changing(task: Task) -> Iterator[tuple[Transaction, Workflow]]:
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        state = change.state
        if state.is_done or state.is_stuck:
            raise NotAllowedError(
                f"the pipeline is {state.phase}: nothing can be changed on the way any more", remedy="phase-gate status"
            )
        yield change, task.after(change).rules


def _find(change: Transaction, name: str | None) -> Request:
    pipeline = pipeline_of(change.state)
    if name is None:
        raise UsageError("which request is decided on is missing", remedy="phase-gate pipeline request list names them")
    request = pipeline.request(name)
    if request is None:
        known = ", ".join(each.id for each in pipeline.requests) or "there is none"
        raise UsageError(f"there is no request {shorten(name)}", remedy=f"known: {known}")
    if request.status != "proposed":
        raise NotAllowedError(f"{request.id} is {request.status} already", remedy="phase-gate pipeline request list")
    return request


def _after(change: Transaction, request: Request) -> Request:
    return pipeline_of(change.state).request(request.id) or request


def _enter(task: Task, change: Transaction, workflow: Workflow, phase: Phase) -> None:
    now = remember(task.after(change), workflow, phase)
    current = workflow.phase(change.state.phase or "")
    said = entry_data(pipeline_of(change.state), workflow, current, phase, How.REQUEST, files_in(now))
    data = {"phase": phase.name, "how": How.REQUEST, "remembered": dict(now.phase), "run": None, **said}
    change.record(Event(kind="phase-entered", data=data))
