"""`phase-gate pipeline request`: change requests of a pipeline: make one, list them, decide on one."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.tasks.pipeline import Pipeline
from phase_gate.tasks.pipeline_steps import (
    ApprovedRequest,
    MadeRequest,
    approve_request,
    make_request,
    reject_request,
    require_pipeline,
)
from phase_gate.values import as_dict
from phase_gate.visible import show_rows
from phase_gate.workflow.model import CHANGE_TYPES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("new", "list", "approve", "reject"), help="what to do")
    parser.add_argument("id", nargs="?", metavar="ID", help="which one to decide on, like CR-1")
    parser.add_argument("--type", choices=CHANGE_TYPES, help="what has to change: it says where the request leads")
    parser.add_argument("--title", metavar="TEXT", help="what has to change, in a sentence")
    parser.add_argument("--blocking", action="store_true", help="close every gate until a person decides")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why it is decided so")
    parser.add_argument("--by", metavar="NAME", help="who says so; the user's name by default")


def run(call: Call) -> Answer:
    given, task = call.arguments, call.task()
    pipeline = require_pipeline(task)
    match given.action:
        case "new":
            return _answer_made(
                make_request(task, kind=given.type, title=given.title or "", by=call.by(), blocking=given.blocking)
            )
        case "approve":
            return _answer_approved(approve_request(task, given.id, by=call.by(), reason=given.reason))
        case "reject":
            request = reject_request(task, given.id, call.person(), by=call.by())
            rows = (f"{request.id} is rejected", "  next: phase-gate status")
            return Answer(text=show_rows(rows), document=as_dict(request))
    return _list(pipeline)


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


def _answer_made(made: MadeRequest) -> Answer:
    request, routing = made.request, " or ".join(made.routing)
    waits = f"it leads to {request.target} when {routing} exits" if routing else "it waits for a decision"
    held = "; until then every gate is closed" if request.blocking else ""
    rows = (
        f"{request.id} is proposed: {waits}{held}",
        f"  or decide now: phase-gate pipeline request approve {request.id} (or reject, with --reason)",
    )
    return Answer(text=show_rows(rows), document=as_dict(request))


def _answer_approved(approved: ApprovedRequest) -> Answer:
    request = approved.request
    where = (
        f"back in {request.target}" if approved.is_entered else f"{request.target}, where it leads, is still to come"
    )
    rows = (f"{request.id} is approved: {where}", f"  next: {approved.next_command}")
    return Answer(text=show_rows(rows), document=as_dict(request))
