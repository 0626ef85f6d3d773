"""`phase-gate advance`: enter the next phase, or evaluate one that needs no tests."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._entry import answer_entry
from phase_gate.cli._streams import say_aside
from phase_gate.cli._verdict import answer_with
from phase_gate.decisions.advancing import JudgedPhase, advance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--template",
        action="store_true",
        help="in a pipeline: write a file to fill in for each that the phase asks for and that is missing",
    )


def run(call: Call) -> Answer:
    done = advance(call.task(), template=call.arguments.template, show=say_aside)
    if isinstance(done, JudgedPhase):
        return answer_with(call, done.evaluation, is_stuck=done.is_stuck)
    return answer_entry(done)
