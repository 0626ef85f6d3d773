"""`phase-gate skip`: a person gives a phase up whose circuit is open, on the record."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli.force import end_phase
from phase_gate.errors import NotAllowedError
from phase_gate.gate.breaker import at_time
from phase_gate.gate.state import State


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who answers for it")


def run(call: Call) -> Answer:
    return end_phase(call, "skip", what="a skip", check=_check)


def _check(call: Call, state: State, at: str) -> None:
    breaker = at_time(state.breaker, at)
    if not breaker.is_open:
        raise NotAllowedError(
            f"{state.phase} may be skipped only while its circuit is open, and it is {breaker.status}",
            remedy="phase-gate breaker status says how far it is; phase-gate status says what to do",
        )
