"""`phase-gate pipeline vote`, `request`, `recover`: commands that only pipelines need."""

from __future__ import annotations

from phase_gate import exit_codes
from phase_gate.cli._call import Call, Done
from phase_gate.cli._streams import read_given, render_json
from phase_gate.cli.steps import answer_entry
from phase_gate.decisions.advancing import describe_entry
from phase_gate.gate.state import State
from phase_gate.report.text import render_sections
from phase_gate.task import Task
from phase_gate.tasks import pipeline_show, pipeline_steps
from phase_gate.tasks.evidence import read_root_cause_of, record_name
from phase_gate.tasks.handins import Ballot, parse_vote
from phase_gate.tasks.routing import budget, enter_command, main_line, rules_of
from phase_gate.tasks.work import Pipeline, Request, pipeline_of
from phase_gate.values import as_dict
from phase_gate.visible import author_of, show_line, show_rows
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import look_command, of_task, status_command

# --- votes in a consensus phase, and their status


def vote(call: Call) -> Done:
    task = call.task()
    pipeline_steps.require_pipeline(task)
    files = call.arguments.files
    reports = tuple(path for name in files for path in call.handed(task.project.root, name))
    ballots = [_read_ballot(call, name) for name in files]
    votes = pipeline_steps.cast_votes(task, *ballots, reports=reports) if ballots else pipeline_steps.show_votes(task)
    return Done(
        text=show_rows(pipeline_show.vote_rows(votes, task.state.phase or "", task.state.task)),
        document=pipeline_show.votes_to_json(votes, task.state.phase or ""),
        code=exit_codes.OPEN if votes.is_reached else exit_codes.GATE_CLOSED,
    )


def _read_ballot(call: Call, name: str) -> Ballot:
    """Read the vote in a file."""
    text = read_given(call.start, name)
    name = "vote" if name == "-" else name
    ballot = parse_vote(text, name)
    author_of(name, signed=ballot.by, given=call.arguments.by)
    return ballot


# --- change requests: make one, list them, decide on one


def request(call: Call) -> Done:
    given, task = call.arguments, call.task()
    pipeline = pipeline_steps.require_pipeline(task)
    match given.action:
        case "new":
            made = pipeline_steps.make_request(
                task, kind=given.type, title=given.title or "", by=call.by(), blocking=given.blocking
            )
            return _answer(made, *_describe_proposed(made, task))
        case "approve":
            made, is_entered = pipeline_steps.approve_request(task, given.id, by=call.by(), reason=given.reason)
            where = f"back in {made.target}" if is_entered else f"{made.target}, where it leads, is still to come"
            step = (
                enter_command(task.rules, made.target, task.state.task)
                if is_entered
                else status_command(task.state.task)
            )
            return _answer(made, f"{made.id} is approved: {where}", following=step)
        case "reject":
            made = pipeline_steps.reject_request(task, given.id, call.person(), by=call.by())
            return _answer(made, f"{made.id} is rejected", following=status_command(task.state.task))
    return _list(pipeline, task.project.task)


def _answer(made: Request, *rows: str, following: str = "") -> Done:
    return Done(text=show_rows(rows), document=as_dict(made), next_command=following)


def _describe_proposed(made: Request, task: Task) -> tuple[str, str]:
    routing = " or ".join(phase.name for phase in task.rules.phases if phase.routes)
    waits = f"it leads to {made.target} when {routing} exits" if routing else "it waits for a decision"
    held = "; until then every gate is closed" if made.blocking else ""
    decide = of_task(f"phase-gate pipeline request approve {made.id}", task.project.task)
    return f"{made.id} is proposed: {waits}{held}", f"  or decide now: {decide} (or reject, with --reason)"


def _list(pipeline: Pipeline, task: str) -> Done:
    rows = []
    for each in pipeline.requests:
        blocks = " BLOCKING" if each.blocking and each.status == "proposed" else ""
        rows.append(f"{each.id:6} {each.status:9} {each.type:13} to {each.target}: {each.title} ({each.by}){blocks}")
        if each.decided_by:
            rows.append(f"       {each.status} by {each.decided_by}: {each.reason}")
    new = of_task('phase-gate pipeline request new --type scope --title "..."', task)
    none = f"no change request\n  make one: {new}"
    return Done(text=show_rows(rows) or none, document={"requests": [as_dict(each) for each in pipeline.requests]})


# --- what the recovery requires; begin one, or continue a stuck one


def recover(call: Call) -> Done:
    task = call.task()
    pipeline = pipeline_steps.require_pipeline(task)
    if call.arguments.action == "start":
        return _start(call, task)
    if call.arguments.action == "resume":
        return _resume(call, task)
    state, workflow = task.state, task.rules
    if state.is_stuck:
        report = pipeline_show.stuck_to_json(state, workflow, read_root_cause_of(task))
        text = render_sections(f"Stuck: {state.stuck}", pipeline_show.stuck_sections(report))
        return Done(text=text, document={"stuck": report}, code=exit_codes.CIRCUIT_OPEN)
    phase = workflow.phase(state.phase or "")
    if phase is None or not phase.recovers:
        return _none_going_on(state, pipeline, workflow)
    return _going_on(task, pipeline, phase)


def _none_going_on(state: State, pipeline: Pipeline, workflow: Workflow) -> Done:
    rows = [f"{state.phase}: no recovery is in progress, {pipeline.recoveries} of {budget(workflow)} are used up"]
    rows += [f"  {each.at} {each.phase} failed: {each.error}" for each in pipeline.failures]
    return Done(text=show_rows(rows), document=_recoveries(pipeline, workflow))


def _recoveries(pipeline: Pipeline, workflow: Workflow) -> dict[str, object]:
    return {
        "recoveries": pipeline.recoveries,
        "max_recoveries": budget(workflow),
        "failed_phase": pipeline.failed_phase or None,
        "failures": [pipeline_show.failure_to_json(each) for each in pipeline.failures],
        "stuck": None,
    }


def _going_on(task: Task, pipeline: Pipeline, phase: Phase) -> Done:
    state, workflow = task.state, task.rules
    rules = rules_of(workflow)
    failed = [each for each in pipeline.failures if each.phase == pipeline.failed_phase]
    rows = [f"{phase.name}: recovery {pipeline.recoveries} of {budget(workflow)}"]
    rows.append(f"  failed        {pipeline.failed_phase}" + (f": {failed[-1].error}" if failed else ""))
    rows += [f"  {name:13} {text}" for name, text in pipeline_show.needs_in(task, phase)]
    line = main_line(workflow)
    allowed = line[: line.index(pipeline.failed_phase) + 1]
    rows.append(f"  rewind        null (back to {pipeline.failed_phase}), or one of: {', '.join(allowed)}")
    record = pipeline_show.root_cause_record(pipeline.failed_phase)
    rows.append(f"{rules.artifacts[record_name(workflow, phase)].path} looks like this:")
    rows += [f"  {row}" for row in render_json(record, indent=2).splitlines()]
    rows.append(f"  next: {look_command(state.task)}  # once they are written and agreed on")
    document = {**_recoveries(pipeline, workflow), "rewinds": allowed, "record": record}
    return Done(text=show_rows(rows), document=document, code=exit_codes.GATE_CLOSED)


def _start(call: Call, task: Task) -> Done:
    state = pipeline_steps.start_recovery(task, reason=call.arguments.reason, by=call.by())
    pipeline, workflow = pipeline_of(state), task.rules
    return Done(
        text=show_line(f"{state.phase} begins: recovery {pipeline.recoveries} of {budget(workflow)}"),
        document={"phase": state.phase, **_recoveries(pipeline, workflow)},
        next_command=of_task("phase-gate pipeline recover", task.project.task),
    )


def _resume(call: Call, task: Task) -> Done:
    resumed = pipeline_steps.resume_with_guidance(task, call.person())
    phase = resumed.rules.phase(resumed.state.phase or "")
    assert phase is not None, "it was entered just now"
    return answer_entry(describe_entry(resumed, phase))
