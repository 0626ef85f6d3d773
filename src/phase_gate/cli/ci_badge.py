"""`phase-gate ci badge`: the document that a shields.io endpoint badge is drawn from. Only looks."""

from __future__ import annotations

import argparse
from typing import Any

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import render_json, write_output
from phase_gate.gate.standing import Standing
from phase_gate.gate.state import State


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


# --- where a task stands, as the document that a shields.io endpoint badge is drawn from. No network


def render_badge(state: State, standing: Standing, *, label: str) -> dict[str, Any]:
    message, color = _say(state, standing)
    return {"schemaVersion": 1, "label": label, "message": message, "color": color, "isError": standing.is_halted}


def _say(state: State, standing: Standing) -> tuple[str, str]:
    if state.phase is None:
        return "no run yet", "lightgrey"
    if standing.is_halted:
        return f"{state.phase} stuck", "critical"
    if not standing.is_open:
        return f"{state.phase} closed", "orange"
    # What a person decided against the evidence is never shown as plain success.
    return (f"{state.phase} forced", "yellow") if state.forced else (f"{state.phase} open", "brightgreen")
