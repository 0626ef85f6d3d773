"""`phase-gate agent prompt`: the rules of a phase in plain words, for an agent's instructions. Only looks."""

from __future__ import annotations

from phase_gate.cli._answer import Call, Done
from phase_gate.errors import UsageError
from phase_gate.report.prompt import render_prompt


def run(call: Call) -> Done:
    task = call.task()
    project, workflow = task.project, task.rules
    wanted = call.arguments.phase
    phase = workflow.phase(wanted or task.state.phase or "") or (None if wanted else workflow.first)
    if phase is None:
        names = ", ".join(each.name for each in workflow.phases)
        raise UsageError(f"workflow {workflow.name} has no phase {wanted!r}", remedy=f"use one of: {names}")
    text = render_prompt(workflow, phase, call.arguments.style, task=project.task)
    return Done(
        text=text,
        document={"task": project.task, "phase": phase.name, "style": call.arguments.style, "prompt": text},
    )
