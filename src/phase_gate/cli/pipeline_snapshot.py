"""`phase-gate pipeline snapshot`: write down which tree a phase of a pipeline speaks of."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.tasks.pipeline_steps import write_snapshot
from phase_gate.visible import count, show_rows
from phase_gate.workflow.names import look_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", metavar="FILE", help="where to write it, if the workflow's path is a pattern")


def run(call: Call) -> Answer:
    task = call.task()
    done = write_snapshot(task, call.arguments.output)
    said = f"{done.path}: {count(done.document['files'], 'file')}, as they are now"
    rows = (said, f"  next: {look_command(task.state.task)}")
    return Answer(text=show_rows(rows), document={"file": done.path, **done.document})
