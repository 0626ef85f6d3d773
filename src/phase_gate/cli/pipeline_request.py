"""`phase-gate pipeline request`: change requests of a pipeline: make one, list them, decide on one."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.evidence.gathering import remember
from phase_gate.gate.order import Entry, How, shorten
from phase_gate.gate.state import Event, State
from phase_gate.pipeline.begin import pipeline_of, require_pipeline
from phase_gate.pipeline.model import Pipeline, Request, files_in
from phase_gate.pipeline.order import entry_data, main_line, rules_of
from phase_gate.pipeline.verdict import decided, enter_command, made
from phase_gate.storage.store import Transaction
from phase_gate.task import Task
from phase_gate.values import as_dict
from phase_gate.visible import show_rows
from phase_gate.workflow.model import CHANGE_TYPES, Phase, Workflow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("new", "list", "approve", "reject"), help="what to do")
    parser.add_argument("id", nargs="?", metavar="ID", help="which one to decide on, like CR-1")
    parser.add_argument("--type", choices=CHANGE_TYPES, help="what has to change: it says where the request leads")
    parser.add_argument("--title", metavar="TEXT", help="what has to change, in a sentence")
    parser.add_argument("--blocking", action="store_true", help="close every gate until somebody decides")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why it is decided so")
    parser.add_argument("--by", metavar="NAME", help="who says so; the user's name by default")


def run(call: Call) -> Answer:
    task = call.task()
    pipeline = require_pipeline(task)
    if call.arguments.action == "list":
        return _list(pipeline)
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        _refuse_ended(change.state)
        workflow = task.after(change).rules
        if call.arguments.action == "new":
            return _new(call, change, workflow)
        return _decide(call, task, change, workflow)


def _refuse_ended(state: State) -> None:
    if state.is_done or state.is_stuck:
        raise NotAllowedError(
            f"the pipeline is {state.phase}: nothing can be changed on the way any more", remedy="phase-gate status"
        )


def _list(pipeline: Pipeline) -> Answer:
    rows = []
    for each in pipeline.requests:
        blocks = " BLOCKING" if each.blocking and each.status == "proposed" else ""
        rows.append(f"{each.id:6} {each.status:9} {each.type:13} to {each.target}: {each.title} ({each.by}){blocks}")
        if each.decided_by:
            rows.append(f"       {each.status} by {each.decided_by}: {each.reason}")
    return Answer(
        text=show_rows(rows)
        or 'no change request\n  make one: phase-gate pipeline request new --type scope --title "..."',
        document={"requests": [as_dict(each) for each in pipeline.requests]},
    )


def _new(call: Call, change: Transaction, workflow: Workflow) -> Answer:
    given = call.arguments
    if given.type is None or not (given.title or "").strip():
        raise UsageError(
            "a change request needs a type and a title", remedy=f'--type {"|".join(CHANGE_TYPES)} --title "..."'
        )
    rules, pipeline = rules_of(workflow), pipeline_of(change.state)
    if given.type not in rules.routes:
        known = ", ".join(rules.routes) or "none"
        raise NotAllowedError(
            f"workflow {workflow.name} does not say where {given.type} requests lead", remedy=f"types: {known}"
        )
    title = " ".join(given.title.split())
    same = [each for each in pipeline.pending if (each.type, each.title) == (given.type, title)]
    if same:
        raise NotAllowedError(f"{same[0].id} asks for the same, and waits", remedy="phase-gate pipeline request list")
    request = Request(
        id=f"CR-{len(pipeline.requests) + 1}",
        type=given.type,
        title=title,
        target=rules.routes[given.type],
        by=call.by(),
        blocking=given.blocking,
    )
    change.record(made(request, at=change.at))
    routing = [phase.name for phase in workflow.phases if phase.routes]
    waits = f"it leads to {request.target} when {' or '.join(routing)} exits" if routing else "it waits for a decision"
    held = "; until then every gate is closed" if request.blocking else ""
    return Answer(
        text=show_rows(
            (
                f"{request.id} is proposed: {waits}{held}",
                f"  or decide now: phase-gate pipeline request approve {request.id} (or reject, with --reason)",
            )
        ),
        document=as_dict(request),
    )


def _decide(call: Call, task: Task, change: Transaction, workflow: Workflow) -> Answer:
    given, state = call.arguments, change.state
    pipeline = pipeline_of(state)
    if given.id is None:
        raise UsageError("which request is decided on is missing", remedy="phase-gate pipeline request list names them")
    request = pipeline.request(given.id)
    if request is None:
        known = ", ".join(each.id for each in pipeline.requests) or "there is none"
        raise UsageError(f"there is no request {shorten(given.id)}", remedy=f"known: {known}")
    if request.status != "proposed":
        raise NotAllowedError(f"{request.id} is {request.status} already", remedy="phase-gate pipeline request list")
    if given.action == "reject":
        if not given.reason.strip():
            raise UsageError("a rejection needs a reason", remedy='add --reason "..."')
        if request.fingerprint or request.blocking:
            # What a phase has found, or what stops everybody, is no one's to wave away who only wants to go on.
            what = "the rejection of what blocks" if request.blocking else f"the rejection of what {request.by} found"
            call.require_person(task.project, change.opened, what)
        change.record(decided(request, "rejected", by=call.by(), reason=given.reason))
        return _answer(change.state, request, f"{request.id} is rejected", "phase-gate status")
    current = workflow.phase(state.phase or "")
    target = workflow.phase(request.target)
    assert current is not None, "the pipeline has not ended"
    assert target is not None, "the file was checked"
    if current.recovers:
        raise NotAllowedError(
            f"{current.name} has to end first: {request.id} would lead out of it", remedy="phase-gate pipeline recover"
        )
    change.record(decided(request, "approved", by=call.by(), reason=given.reason or "decided on purpose"))
    if main_line(workflow).index(target.name) > main_line(workflow).index(current.name):
        said = f"{request.id} is approved: {target.name}, where it leads, is still to come"
        return _answer(change.state, request, said, "phase-gate status")
    _enter(task, change, workflow, Entry(target, How.REQUEST))
    step = enter_command(workflow, target.name, state.task)
    return _answer(change.state, request, f"{request.id} is approved: back in {target.name}", step)


def _enter(task: Task, change: Transaction, workflow: Workflow, entry: Entry) -> None:
    phase: Phase = entry.phase
    now = remember(task.after(change), workflow, phase)
    current = workflow.phase(change.state.phase or "")
    said = entry_data(pipeline_of(change.state), workflow, current, phase, entry.how, files_in(now))
    data = {"phase": phase.name, "how": entry.how, "remembered": dict(now.phase), "run": None, **said}
    change.record(Event(kind="phase-entered", data=data))


def _answer(state: State, request: Request, said: str, step: str) -> Answer:
    after = pipeline_of(state).request(request.id)
    return Answer(text=show_rows((said, f"  next: {step}")), document=as_dict(after or request))
