"""`phase-gate withdraw`: take back a waiting signal, or a declared fact."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.decisions.withdrawing import withdraw_fact, withdraw_signal
from phase_gate.visible import show_rows
from phase_gate.workflow.names import of_task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("fact", nargs="?", metavar="FACT", help="a declared fact; without it, the waiting signal")


def run(call: Call) -> Answer:
    task = call.task()
    name = call.arguments.fact
    if name is not None:
        withdraw_fact(task, name, by=call.by())
        return Answer(text=f"{name} is taken back", document={"withdrawn": name})
    answer = withdraw_signal(task, by=call.by())
    following = of_task("phase-gate status", task.project.task)
    return Answer(
        text=show_rows((f"signal {answer} is taken back", f"  next: {following}")),
        document={"withdrawn": "signal", "answer": answer},
    )
