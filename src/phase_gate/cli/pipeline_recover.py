"""`phase-gate pipeline recover`: what the recovery loop asks for; begin one, or go on where it is stuck."""

from __future__ import annotations

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done
from phase_gate.cli._streams import render_json
from phase_gate.cli.steps import answer_entry
from phase_gate.decisions.advancing import describe_entry
from phase_gate.gate.state import State
from phase_gate.report.text import render_sections
from phase_gate.task import Task
from phase_gate.tasks.asking import needs_in, root_cause_record
from phase_gate.tasks.evidence import record_name
from phase_gate.tasks.pipeline import Pipeline, pipeline_of
from phase_gate.tasks.pipeline_steps import require_pipeline, restart_cycle, resume_with_guidance, start_recovery
from phase_gate.tasks.result import failure_to_json
from phase_gate.tasks.routing import budget, main_line, problem_of_rewind, rules_of
from phase_gate.tasks.show import stuck_sections, stuck_to_json
from phase_gate.visible import show_line, show_rows
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import look_command


def run(call: Call) -> Done:
    task = call.task()
    pipeline = require_pipeline(task)
    if call.arguments.action == "start":
        return _start(call, task)
    if call.arguments.action == "resume":
        return _resume(call, task)
    if call.arguments.action == "restart":
        return _restart(call, task)
    state, workflow = task.state, task.rules
    if state.is_stuck:
        return _stuck(call, state, pipeline, workflow)
    phase = workflow.phase(state.phase or "")
    if phase is None or not phase.recovers:
        return _none_going_on(state, pipeline, workflow)
    return _going_on(task, pipeline, phase)


def _stuck(call: Call, state: State, pipeline: Pipeline, workflow: Workflow) -> Done:
    report = stuck_to_json(state.stuck, pipeline, workflow)
    text = render_sections(f"Stuck: {state.stuck}", stuck_sections(report), markdown=call.arguments.markdown)
    return Done(text=text, document={"stuck": report}, code=exit_codes.CIRCUIT_OPEN)


def _none_going_on(state: State, pipeline: Pipeline, workflow: Workflow) -> Done:
    rows = [f"{state.phase}: no recovery is going on, {pipeline.recoveries} of {budget(workflow)} are used up"]
    rows += [f"  {each.at} {each.phase} failed: {each.error}" for each in pipeline.failures]
    return Done(text=show_rows(rows), document=_document(pipeline, workflow))


def _document(pipeline: Pipeline, workflow: Workflow) -> dict[str, object]:
    return {
        "recoveries": pipeline.recoveries,
        "max_recoveries": budget(workflow),
        "failed_phase": pipeline.failed_phase or None,
        "failures": [failure_to_json(each) for each in pipeline.failures],
        "stuck": None,
    }


def _going_on(task: Task, pipeline: Pipeline, phase: Phase) -> Done:
    state, workflow = task.state, task.rules
    rules = rules_of(workflow)
    failed = [each for each in pipeline.failures if each.phase == pipeline.failed_phase]
    rows = [f"{phase.name}: recovery {pipeline.recoveries} of {budget(workflow)}"]
    rows.append(f"  failed        {pipeline.failed_phase}" + (f": {failed[-1].error}" if failed else ""))
    rows += [f"  {name:13} {text}" for name, text in needs_in(task, phase)]
    line = main_line(workflow)
    behind = line[: line.index(pipeline.failed_phase) + 1]
    allowed = [name for name in behind if not problem_of_rewind(pipeline, workflow, name)]
    rows.append(f"  rewind        null (back to {pipeline.failed_phase}), or one of: {', '.join(allowed)}")
    tried = [name for name in behind if name not in allowed]
    if tried:
        rows.append(f"  not again     {', '.join(tried)}: tried for this very failure")
    record = root_cause_record(pipeline.failed_phase)
    rows.append(f"{rules.artifacts[record_name(workflow, phase)].path} looks like this:")
    rows += [f"  {row}" for row in render_json(record, indent=2).splitlines()]
    rows.append(f"  next: {look_command(state.task)}, once they are written and agreed on")
    document = {**_document(pipeline, workflow), "rewinds": allowed, "record": record}
    return Done(text=show_rows(rows), document=document, code=exit_codes.GATE_CLOSED)


def _start(call: Call, task: Task) -> Done:
    state = start_recovery(task, reason=call.arguments.reason, by=call.by())
    pipeline, workflow = pipeline_of(state), task.rules
    return Done(
        text=show_line(f"{state.phase} begins: recovery {pipeline.recoveries} of {budget(workflow)}")
        + "\n  next: phase-gate pipeline recover",
        document={"phase": state.phase, **_document(pipeline, workflow)},
    )


def _resume(call: Call, task: Task) -> Done:
    resumed = resume_with_guidance(task, call.person())
    phase = resumed.rules.phase(resumed.state.phase or "")
    assert phase is not None, "it was entered just now"
    return answer_entry(describe_entry(resumed, phase))


def _restart(call: Call, task: Task) -> Done:
    state = restart_cycle(task, call.person())
    rows = (f"cycle {state.cycle} begins in {state.phase}", f"  next: {look_command(state.task)}")
    return Done(text=show_rows(rows), document={"cycle": state.cycle, "phase": state.phase})
