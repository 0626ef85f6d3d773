"""`phase-gate ci badge`: the document that a shields.io endpoint badge is drawn from. Only looks."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import render_json, write_output
from phase_gate.gate.standing import assess
from phase_gate.project import next_commands
from phase_gate.report.badge import render_badge
from phase_gate.storage.store import now


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="write it there")
    parser.add_argument("--label", default="phase gate", help="what stands on the left (default: %(default)s)")
    parser.add_argument("--gate1", action="store_true", help="leave Gate 2 out: the metrics alone")


def run(call: Call) -> Answer:
    project = call.project()
    store = call.store(project)
    opened = store.look()
    standing = assess(
        opened.state,
        tree=project.take_standing_tree(opened.state) if opened.exists else "",
        at=now(),
        lost=store.lost_runs(opened.state),
        gate_1_only=call.arguments.gate1,
        **next_commands(project, store, opened.state),
    )
    document = render_badge(opened.state, standing, label=call.arguments.label)
    text = render_json(document, indent=2)
    if call.arguments.output is None:
        return Answer(text=text, document=document)
    write_output(call.start / call.arguments.output, f"{text}\n")
    return Answer(text=f"wrote {call.arguments.output}: {document['message']}", document=document)
