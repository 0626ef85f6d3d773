"""`phase-gate store push`: send what was measured while the store could not be asked, if the task is still there."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._store import require_chosen
from phase_gate.storage.unsent import push
from phase_gate.visible import count
from phase_gate.workflow.names import of_task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take no arguments of its own."""


def run(call: Call) -> Answer:
    project = call.project()
    chosen = require_chosen(project)
    sent = push(call.store(project))
    return Answer(
        text=f"sent to {chosen.address}: {count(sent, 'change')} of task {project.task}\n"
        f"  next: {of_task('phase-gate status', project.task)}",
        document={"store": str(chosen.address), "task": project.task, "sent": sent},
    )
