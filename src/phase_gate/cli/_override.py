"""What the commands share that override what was measured: the word that they ask for, and their answer."""

from __future__ import annotations

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import say
from phase_gate.decisions.forcing import EndedPhase
from phase_gate.errors import NotAllowedError
from phase_gate.gate.evaluation import evaluation_to_json
from phase_gate.gate.overrides import WORD
from phase_gate.visible import show_rows


def ask_for_word(call: Call, warning: str, what: str = "a forced exit", *, expected: str = WORD) -> None:
    """Refuse what a person has to mean, unless the word is given. Raises NotAllowedError."""
    word = call.arguments.word
    if word is None and call.interactive:
        say(warning, flush=True)
        try:
            word = input(f"Type {expected} to go on: ")
        except (EOFError, OSError, RuntimeError, ValueError):  # the terminal that we ask on was closed
            word = ""
    if word != expected:
        raise NotAllowedError(
            f"{what} needs the word {expected}, and nothing was changed",
            remedy=f"type it when asked, or give --word={expected}",
        )


def answer_ended(ended: EndedPhase) -> Answer:
    """Return the answer of a command that ended a phase by a person's word."""
    verdict = ended.evaluation
    return Answer(
        text=show_rows((verdict.verdict, f"  next: {verdict.next_step}")),
        document={"override": ended.record, "evaluation": evaluation_to_json(verdict)},
    )
