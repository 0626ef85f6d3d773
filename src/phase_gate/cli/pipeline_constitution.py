"""`phase-gate pipeline constitution`: whether its files are what they were; or a person accepts them as they are."""

from __future__ import annotations

import argparse

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.task import Task
from phase_gate.tasks.pipeline import Pipeline
from phase_gate.tasks.pipeline_steps import AS_RECORDED, accept_constitution, compare_constitution, require_pipeline
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("status", "accept"), default="status", help="look, or accept")
    parser.add_argument("--reason", metavar="TEXT", help="why the change is right, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who answers for it")


def run(call: Call) -> Answer:
    task = call.task()
    pipeline = require_pipeline(task)
    return _accept(call, task) if call.arguments.action == "accept" else _status(task, pipeline)


def _status(task: Task, pipeline: Pipeline) -> Answer:
    compared = compare_constitution(task, pipeline)
    is_intact = all(word == AS_RECORDED for word in compared.values())
    text = show_rows(f"{path:30} {word}" for path, word in compared.items()) or "this pipeline has no constitution"
    if not is_intact:
        text += (
            '\n  put it back, or a person accepts it: phase-gate pipeline constitution accept --reason "..." --by NAME'
        )
    return Answer(
        text=text,
        document={"intact": is_intact, "files": compared},
        exit_code=exit_codes.OPEN if is_intact else exit_codes.GATE_CLOSED,
    )


def _accept(call: Call, task: Task) -> Answer:
    accepted = accept_constitution(task, call.person())
    by = f"accepted by {call.arguments.by}, and shown in every later verdict of this pipeline"
    return Answer(
        text=show_rows((f"{', '.join(accepted.changed)}: {by}", "  next: phase-gate advance")),
        document={"accepted": list(accepted.changed), "constitution": accepted.constitution},
    )
