"""`phase-gate ci badge`: the document that a shields.io endpoint badge is drawn from. Only looks."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import render_json, write_output
from phase_gate.report.badge import render_badge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="write it there")
    parser.add_argument("--label", default="phase gate", help="what stands on the left (default: %(default)s)")
    parser.add_argument("--gate1", action="store_true", help="leave Gate 2 out: the metrics alone")


def run(call: Call) -> Answer:
    task = call.task()
    standing = task.standing(gate_1_only=call.arguments.gate1)
    document = render_badge(task.state, standing, label=call.arguments.label)
    text = render_json(document, indent=2)
    if call.arguments.output is None:
        return Answer(text=text, document=document)
    write_output(call.start / call.arguments.output, f"{text}\n")
    return Answer(text=f"wrote {call.arguments.output}: {document['message']}", document=document)
