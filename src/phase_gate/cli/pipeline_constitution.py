"""`phase-gate pipeline constitution`: whether its files are what they were; or a person accepts them as they are."""

from __future__ import annotations

import argparse

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.errors import NotAllowedError
from phase_gate.gate.overrides import refuse_excuse
from phase_gate.gate.state import Event
from phase_gate.pipeline.artifacts import digest_file
from phase_gate.pipeline.begin import override, pipeline_of, require_pipeline
from phase_gate.pipeline.model import Pipeline
from phase_gate.pipeline.order import rules_of
from phase_gate.task import Task
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
    rows = compare(task, pipeline)
    is_intact = all(word == "as recorded" for _, word in rows)
    text = show_rows(f"{path:30} {word}" for path, word in rows) or "this pipeline has no constitution"
    if not is_intact:
        text += (
            '\n  put it back, or a person accepts it: phase-gate pipeline constitution accept --reason "..." --by NAME'
        )
    return Answer(
        text=text,
        document={"intact": is_intact, "files": dict(rows)},
        exit_code=exit_codes.OPEN if is_intact else exit_codes.GATE_CLOSED,
    )


def compare(task: Task, pipeline: Pipeline) -> list[tuple[str, str]]:
    """Return each file of the constitution with what became of it."""
    rules = rules_of(task.rules)
    rows = []
    for path in rules.constitution:
        recorded, now = pipeline.constitution.get(path, ""), digest_file(task.project.root / path)
        word = "as recorded" if recorded == now else "changed"
        rows.append((path, "never recorded" if not recorded else "missing" if not now else word))
    return rows


def _accept(call: Call, task: Task) -> Answer:
    project = task.project
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        pipeline = pipeline_of(change.state)
        rows = compare(task.after(change), pipeline)
        changed = [path for path, word in rows if word != "as recorded"]
        if not changed:
            raise NotAllowedError("the constitution is as recorded", remedy="there is nothing to accept")
        now = {path: digest_file(project.root / path) for path, _ in rows}
        missing = [path for path, digest in now.items() if not digest]
        if missing:
            raise NotAllowedError(f"{missing[0]} is not there: nobody can accept it", remedy="put it back first")
        call.require_person(project, change.opened, "a change of the constitution")
        refuse_excuse(call.arguments.reason)
        given = call.arguments
        change.record(
            override("constitution-accept", change.state, reason=given.reason, by=given.by, at=change.at),
            Event(kind="constitution-accepted", data={"constitution": now, "reason": given.reason, "by": given.by}),
        )
    return Answer(
        text=show_rows(
            (
                f"{', '.join(changed)}: accepted by {given.by}, and shown in every later verdict of this pipeline",
                "  next: phase-gate advance",
            )
        ),
        document={"accepted": changed, "constitution": now},
    )
