"""`phase-gate check`: may the phase end? Only looks."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.gate.standing import assess
from phase_gate.project import next_commands
from phase_gate.storage.store import now
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gate1", action="store_true", help="leave Gate 2 out: the metrics alone")


def run(call: Call) -> Answer:
    project = call.project()
    store = call.store(project)
    opened = store.look()
    lost = store.lost_runs(opened.state)
    tree = project.take_standing_tree(opened.state) if opened.exists else ""
    standing = assess(
        opened.state,
        tree=tree,
        at=now(),
        lost=lost,
        gate_1_only=call.arguments.gate1,
        **next_commands(project, store, opened.state),
    )
    document = {
        "task": project.task,
        "root": str(project.root),
        "phase": opened.state.phase,
        "holds": standing.holds,
        **standing.document,
        "forced_exit": opened.state.forced,
    }
    phase = opened.state.phase or "no phase"
    forced = " (forced)" if opened.state.forced else ""
    word = "holds" if standing.holds else "closed"
    text = show_rows((f"{phase}: {word}{forced}: {standing.verdict}", f"  next: {standing.next_step}"))
    return Answer(text=text, document=document, exit_code=standing.exit_code)
