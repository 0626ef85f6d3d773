"""`phase-gate behaviour`: compare functions as they were with functions as they are, for fresh inputs."""

from __future__ import annotations

import argparse

from phase_gate import exit_codes
from phase_gate.behaviour.show import comparison_text
from phase_gate.behaviour.task import Wish, compare_task
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import say_progress
from phase_gate.codec import spell_out
from phase_gate.storage.store import now


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "functions", metavar="FUNCTION", nargs="*", help="as package.module:function; all that changed unless given"
    )
    parser.add_argument("--base", metavar="REV", help="compare with this git revision; needs no phases")
    parser.add_argument("--seconds", metavar="N", type=float, help="how long it may take; 60 unless set")
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="another number makes other inputs; 0 unless set"
    )


def run(call: Call) -> Answer:
    given = call.arguments
    wish = Wish(base=given.base or "", names=tuple(given.functions), seed=given.seed, seconds=given.seconds)
    comparison = compare_task(call.task(), wish, at=now(), show=say_progress)
    return Answer(
        text=comparison_text(comparison),
        document=spell_out(comparison),
        exit_code=exit_codes.GATE_CLOSED if comparison.differing else exit_codes.OPEN,
    )
