"""`phase-gate pipeline request`: change requests of a pipeline: make one, list them, decide on one."""

from __future__ import annotations

from phase_gate.cli._answer import Call, Done
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


def run(call: Call) -> Done:
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
            return Done(text=show_rows(rows), document=as_dict(request))
    return _list(pipeline)


def _list(pipeline: Pipeline) -> Done:
    rows = []
    for each in pipeline.requests:
        blocks = " BLOCKING" if each.blocking and each.status == "proposed" else ""
        rows.append(f"{each.id:6} {each.status:9} {each.type:13} to {each.target}: {each.title} ({each.by}){blocks}")
        if each.decided_by:
            rows.append(f"       {each.status} by {each.decided_by}: {each.reason}")
    return Done(
        text=show_rows(rows)
        or 'no change request\n  make one: phase-gate pipeline request new --type scope --title "..."',
        document={"requests": [as_dict(each) for each in pipeline.requests]},
    )


def _answer_made(made: MadeRequest) -> Done:
    request, routing = made.request, " or ".join(made.routing)
    waits = f"it leads to {request.target} when {routing} exits" if routing else "it waits for a decision"
    held = "; until then every gate is closed" if request.blocking else ""
    rows = (
        f"{request.id} is proposed: {waits}{held}",
        f"  or decide now: phase-gate pipeline request approve {request.id} (or reject, with --reason)",
    )
    return Done(text=show_rows(rows), document=as_dict(request))


def _answer_approved(approved: ApprovedRequest) -> Done:
    request = approved.request
    where = (
        f"back in {request.target}" if approved.is_entered else f"{request.target}, where it leads, is still to come"
    )
    rows = (f"{request.id} is approved: {where}", f"  next: {approved.next_command}")
    return Done(text=show_rows(rows), document=as_dict(request))
