"""`phase-gate force`: a person ends a phase against everything that was measured, on the record."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._forcing import end_phase
from phase_gate.cli._output import say
from phase_gate.errors import NotAllowedError
from phase_gate.gate.overrides import WORD
from phase_gate.gate.state import State


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who answers for it")
    parser.add_argument("--word", metavar=WORD, help="the word itself, where nobody can be asked for it")


def run(call: Call) -> Answer:
    return end_phase(call, "force", what="a forced exit", check=_check)


def _check(call: Call, state: State, at: str) -> None:
    ask_for_word(call, f"This ends {state.phase} whatever the gates say, and every later report of the cycle shows it.")


def ask_for_word(call: Call, warning: str, what: str = "a forced exit") -> None:
    """Refuse what overrides everything, unless the word is given. Raises NotAllowedError."""
    word = call.arguments.word
    if word is None and call.interactive:
        say(warning, flush=True)
        try:
            word = input(f"Type {WORD} to go on: ")
        except (EOFError, OSError, RuntimeError, ValueError):  # somebody closed what we ask on
            word = ""
    if word != WORD:
        raise NotAllowedError(
            f"{what} needs the word {WORD}, and nothing was changed",
            remedy=f"type it when asked, or give --word={WORD}",
        )
