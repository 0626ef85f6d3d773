"""`phase-gate pipeline snapshot`: write down which tree a phase of a pipeline speaks of."""

from __future__ import annotations

from phase_gate.cli._answer import Call, Done
from phase_gate.tasks.pipeline_steps import write_snapshot
from phase_gate.visible import count, show_rows
from phase_gate.workflow.names import look_command


def run(call: Call) -> Done:
    task = call.task()
    done = write_snapshot(task, call.arguments.output)
    said = f"{done.path}: {count(done.document['files'], 'file')}, as they are now"
    rows = (said, f"  next: {look_command(task.state.task)}")
    return Done(text=show_rows(rows), document={"file": done.path, **done.document})
