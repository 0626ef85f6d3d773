"""`phase-gate force`: a person ends a phase against everything that was measured, on the record."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._override import answer_ended, ask_for_word
from phase_gate.decisions.forcing import force_exit
from phase_gate.gate.overrides import WORD


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who answers for it")
    parser.add_argument("--word", metavar=WORD, help="the word itself, where there is no terminal to ask for it")


def run(call: Call) -> Answer:
    def confirm(phase: str) -> None:
        ask_for_word(call, f"This ends {phase} whatever the gates say, and every later report of the cycle shows it.")

    return answer_ended(force_exit(call.task(), call.person(), confirm=confirm))
