"""`phase-gate check`: may the phase end? Only looks."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gate1", action="store_true", help="leave Gate 2 out: the metrics alone")


def run(call: Call) -> Answer:
    task = call.task()
    state, standing = task.state, task.standing(gate_1_only=call.arguments.gate1)
    document = {
        "task": task.project.task,
        "root": str(task.project.root),
        "phase": state.phase,
        "open": standing.is_open,
        **standing.document,
        "forced_exit": state.forced,
    }
    phase = state.phase or "no phase"
    forced = " (forced)" if state.forced else ""
    word = "open" if standing.is_open else "closed"
    text = show_rows((f"{phase}: {word}{forced}: {standing.verdict}", f"  next: {standing.next_step}"))
    return Answer(text=text, document=document, exit_code=standing.exit_code)
